# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The distribution's packages of a bundle, with everything they depend on, as a signed apt repository of its own.

apt itself works out what is needed, in a private root whose package database is empty: nothing counts as installed, so
nothing is left out because this host happens to have it. apt checks the distribution's signatures as on any node.
"""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path
from typing import Iterable, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._packages import apt_index, gnupg
from .fetch import fetch_all, local_entry
from .layout import DISTRIBUTION
from .manifest import Entry
from .plan import APT_KEY, BundleOptions, RemoteFile, safe_path
from .vendor import APT, wanted_names

OWNER = "gaudi3.scale bundle <gaudi3-scale@localhost>"
ORIGIN = "gaudi3.scale bundle"
# What every installed system has. A node with older point releases of these needs them at the bundle's level.
_BASE = ("?essential", "?priority(required)", "?priority(important)")
_URI = re.compile(r"^'([^']+)' (\S+) (\d+) SHA256:([0-9a-f]{64})$")


def build(options: BundleOptions, run: Run, known: dict[str, Entry], etc: str = "/etc") -> list[Entry]:
    """Resolve, fetch, index and sign. No entries where no package of the distribution was asked for."""
    if not options.os_packages:
        return []
    environment = _private_root(options, run, etc)
    files: dict[str, RemoteFile] = {}
    _apt(run, environment, ["update", "-o", "APT::Update::Error-Mode=any"], options)
    base = list(_BASE) if options.distribution_base else []
    for names in wanted_names(options):
        printed = _apt(run, environment, ["install", "--print-uris", *names, *base], options)
        files.update({file.path: file for file in remote_files(printed.splitlines(), options)})
    entries = fetch_all(options, list(files.values()), known)
    _remove_others(options, set(files))
    return [*entries, *_index(options, run)]


def pool(options: BundleOptions) -> str:
    """Where the packages of this suite lie below the bundle."""
    return f"{DISTRIBUTION}/pool/{safe_path(options.suite, 'suite')}"


def remote_files(lines: Iterable[str], options: BundleOptions) -> list[RemoteFile]:
    """apt's ``--print-uris`` as files to fetch, without those of the vendor, which the bundle has already."""
    files = []
    for line in lines:
        if not line.startswith("'"):
            continue
        match = _URI.match(line.strip())
        if match is None:
            raise GaudiError(f"apt prints a package without a SHA-256 ({line.strip()}); it cannot go into a bundle.")
        uri, _name, size, sha256 = match.groups()
        if urllib.parse.unquote(uri).startswith(f"file:{options.path.rstrip('/')}/{APT}/"):
            continue
        url = uri.replace("file:/", "file:///", 1) if re.match(r"^file:/[^/]", uri) else uri
        file = urllib.parse.unquote(uri.rpartition("/")[2])
        path = f"{pool(options)}/{safe_path(file, 'apt')}"
        files.append(RemoteFile(url, path, int(size), sha256, "the distribution's signed index, checked by apt"))
    return files


def _private_root(options: BundleOptions, run: Run, etc: str) -> dict[str, str]:
    """Directories and settings of an apt that knows neither this host's packages nor its lists."""
    root = Path(options.work, f"apt-{options.suite}")
    for name in (
        "etc/sources.list.d",
        "etc/preferences.d",
        "etc/apt.conf.d",
        "lists/partial",
        "cache/archives/partial",
    ):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "status").write_text("", encoding="ascii")
    for old in (root / "etc/sources.list.d").iterdir():
        old.unlink()
    for name, text in _sources(options, etc).items():
        (root / "etc/sources.list.d" / name).write_text(text, encoding="utf-8")
    acquire = run(["apt-config", "dump", "Acquire"]).stdout
    settings = {
        "Dir::State": root,
        "Dir::State::status": root / "status",
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "Dir::Etc": root / "etc",
        "Dir::Etc::trusted": Path(etc, "apt/trusted.gpg"),
        "Dir::Etc::trustedparts": Path(etc, "apt/trusted.gpg.d"),
        "APT::Architecture": options.architectures[0],
        "APT::Install-Recommends": "false",
        # apt's own user may not read a directory of ours.
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::ForceHash": "SHA256",
        "Acquire::Retries": 2,
    }
    lines = [f'{name} "{value}";' for name, value in settings.items()]
    # The host's proxy and its credentials are how it reaches its mirror.
    passed = [line for line in acquire.splitlines() if re.match(r"^Acquire::(https?|ftp)(::|\s)", line)]
    configuration = root / "apt.conf"
    configuration.write_text(
        "\n".join([*passed, *lines, f'APT::Architectures {{ "{options.architectures[0]}"; }};', ""])
    )
    return {"APT_CONFIG": str(configuration), "DEBIAN_FRONTEND": "noninteractive"}


def _sources(options: BundleOptions, etc: str) -> dict[str, str]:
    """File name to text: the operator's sources or else the host's own, and the vendor's packages in the bundle."""
    if options.distribution_sources:
        style = "sources" if "URIs:" in options.distribution_sources else "list"
        found = {f"distribution.{style}": options.distribution_sources}
    else:
        apt = Path(etc, "apt")
        paths = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
        found = {
            f"host-{path.name}": path.read_text(encoding="utf-8")
            for path in paths
            if path.is_file() and path.suffix in (".list", ".sources") and not path.name.startswith("gaudi3_scale")
        }
    if options.packages:
        key = f"{options.path.rstrip('/')}/{APT_KEY}"
        # apt goes by the suffix of a key file; the package repository's has none.
        copy = Path(options.work, "vendor-key.asc")
        copy.write_bytes(Path(key).read_bytes())
        found["vendor.list"] = (
            f"deb [signed-by={copy}] file:{options.path.rstrip('/')}/{APT} {options.suite} "
            f"{' '.join(options.components)}\n"
        )
    return found


def _apt(run: Run, environment: dict[str, str], arguments: Sequence[str], options: BundleOptions) -> str:
    done = run(["apt-get", "-q", "-y", *arguments], env=environment, timeout=options.timeout)
    if done.rc == 127:
        raise GaudiError(
            "This host has no apt, and the distribution's packages of a bundle are resolved by the nodes' own "
            "distribution: build this part on a connected host of it, or set os_packages to []."
        )
    if done.rc != 0:
        lines = (done.stdout + done.stderr).splitlines()
        raise GaudiError(_why(lines, options), apt=lines[-20:])
    return done.stdout


def _why(lines: Sequence[str], options: BundleOptions) -> str:
    """apt's refusal as one sentence with a remedy."""
    text = "\n".join(lines)
    absent = re.search(r"E: Unable to locate package (\S+)|E: Version '(.+)' for '(.+)' was not found", text)
    where = f"the package sources of {options.suite}"
    if absent:
        name = absent[1] or f"{absent[3]} {absent[2]}"
        remedy = "correct os_packages" + (" or kernels" if name.startswith("linux-") else "")
        return f"The package {name} is not in {where}; {remedy}, or name sources that have it in distribution_sources."
    if "unmet dependencies" in text or "held broken packages" in text:
        needs = [line.strip() for line in lines if " Depends: " in line]
        said = "; ".join(needs[:2]) or "apt gives no reason"
        return (
            f"The packages of the bundle conflict in {where}: {said}; set "
            "suite and distribution_sources to those of one distribution."
        )
    first = next((line for line in lines if line.startswith(("E: ", "W: "))), "E: no reason given")[3:].rstrip(".")
    return f"apt cannot read {where}: {first}; check this host's route and proxy, or set distribution_sources."


def _remove_others(options: BundleOptions, wanted: set[str]) -> None:
    """Packages of an earlier build that nothing needs any more: the index would offer them."""
    for path in Path(options.path, pool(options)).glob("*.deb"):
        if path.relative_to(options.path).as_posix() not in wanted:
            path.unlink()


def _index(options: BundleOptions, run: Run) -> list[Entry]:
    """The repository's index, signed by the bundle's key, and that key."""
    root = f"{options.path.rstrip('/')}/{DISTRIBUTION}"
    suite = Path(root, "dists", options.suite)
    architecture = options.architectures[0]
    lists = suite / "main" / f"binary-{architecture}"
    text = apt_index.packages_text(root, f"pool/{options.suite}", run)
    fields = {
        "Origin": ORIGIN,
        "Label": ORIGIN,
        "Suite": options.suite,
        "Codename": options.suite,
        "Architectures": architecture,
        "Components": "main",
    }
    changed = apt_index.write_packages(str(lists), text)
    with gnupg.home(run) as directory:
        gnupg.ensure_key(directory, options.signing_key, OWNER, run)
        public = gnupg.public_key(directory, run)
        if changed or not (suite / "InRelease").exists() or not _is_signed(options, public, suite, run):
            (suite / "Release").write_text(apt_index.release_text(str(suite), fields), encoding="utf-8")
            gnupg.sign_release(directory, str(suite), run)
    files = [*sorted(path for path in suite.rglob("*") if path.is_file())]
    names = [path.relative_to(options.path).as_posix() for path in files]
    return [local_entry(options, name, "built here", "the bundle's signature") for name in names]


def _is_signed(options: BundleOptions, public: str, suite: Path, run: Run) -> bool:
    """Whether the index that an earlier run left is by the key of today."""
    keys = f"{options.work}/bundle-key.gpg"
    gnupg.keyring(public.encode("ascii"), keys)
    return gnupg.inline_text(keys, str(suite / "InRelease"), run) is not None
