# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The vendor's parts of a bundle: keys, and the packages that its signed indices vouch for.

The indices are kept as the vendor signed them: a node checks the vendor's own signature, on a bundle as on its server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.downloads import download, fetch
from .._node.kernel_modules import running_kernel
from .._packages import apt_index, gnupg, rpm_index
from .._packages.apt_index import IndexedFile
from .._packages.fingerprints import plain_fingerprint
from .._packages.openpgp import armored, binary, fingerprints, with_fingerprint
from .fetch import fetch_all, local_entry
from .manifest import Entry
from .plan import APT_KEY, RPM_KEY, BundleOptions, RemoteFile, os_packages, pins, safe_path

APT = "debian"


def keys(options: BundleOptions) -> list[Entry]:
    """The keys that vouch for everything else of the vendor's; refused where they are not the operator's."""
    wanted = {APT_KEY: options.key_url or f"{options.repository}/{APT_KEY}"}
    if options.rpm_repositories:
        wanted[RPM_KEY] = f"{options.repository}/{RPM_KEY}"
        wanted.update(
            {f"{path}/{rpm_index.KEY}": f"{options.repository}/{path}/{rpm_index.KEY}" for path in _rpm(options)}
        )
    entries = []
    for path, url in wanted.items():
        scratch = Path(options.work, "key.asc")
        text = _key_text(url)
        if path == APT_KEY:
            text = _trusted(options, url, text)
        scratch.write_text(text, encoding="ascii")
        target = Path(options.path, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch.chmod(0o644)
        scratch.replace(target)
        entries.append(local_entry(options, path, url, f"fingerprint {fingerprints(binary(text))[0]}"))
    return entries


def _rpm(options: BundleOptions) -> list[str]:
    return [safe_path(path.strip("/"), "rpm_repositories") for path in options.rpm_repositories]


def _key_text(url: str) -> str:
    try:
        return armored(fetch(url, "The package repository's public key", "packages_url or key_url"))
    except ValueError as error:
        message = f"{url} does not return an OpenPGP public key ({error}); correct packages_url or key_url."
        raise GaudiError(message, url=url) from error


def _trusted(options: BundleOptions, url: str, text: str) -> str:
    """The key that the operator named, without what else ``text`` holds; all of it where he named none."""
    vendors = "" if options.key_url else options.rows()[0].keys.get("apt", "")
    wanted = plain_fingerprint(options.key_fingerprint or vendors)
    trusted = with_fingerprint(text, wanted)
    if not trusted:
        found = fingerprints(binary(text))
        raise GaudiError(
            f"The key at {url} has the fingerprint {', '.join(found)}, not {wanted}; "
            "ask the vendor which is right, then correct key_fingerprint or key_url.",
            fingerprints=found,
        )
    return trusted


def keyring(options: BundleOptions, path: str) -> str:
    """A keyring with the key that the part ``keys`` put at ``path``."""
    source, target = Path(options.path, path), Path(options.work, path.replace("/", "_") + ".gpg")
    if not source.is_file():
        raise GaudiError(f"The bundle {options.path} has no {path}; build its part 'keys' first.")
    target.parent.mkdir(parents=True, exist_ok=True)
    gnupg.keyring(source.read_bytes(), str(target))
    return str(target)


def apt_packages(options: BundleOptions, run: Run, known: dict[str, Entry]) -> list[Entry]:
    """The apt repository's lists for one suite, and the wanted packages of the release and its ways back."""
    if not options.packages:
        return []
    lists, entries = _apt_lists(options, run)
    offered = [stanza for text in lists for stanza in apt_index.stanzas(text)]
    files = {file.path: file for row in options.rows() for file in _pinned(options, row.package_version, offered)}
    return [*entries, *fetch_all(options, list(files.values()), known)]


def _apt_lists(options: BundleOptions, run: Run) -> tuple[list[str], list[Entry]]:
    """The text of every Packages file, and the entries of all index files."""
    suite = f"{APT}/dists/{safe_path(options.suite, 'suite')}"
    signed = f"{suite}/InRelease"
    # Signature first: what nobody signed never gets a name in the bundle.
    scratch = Path(options.work, f"InRelease-{options.suite}")
    scratch.parent.mkdir(parents=True, exist_ok=True)
    scratch.write_bytes(fetch(f"{options.repository}/{signed}", "The repository's index", "packages_url or suite"))
    release = gnupg.inline_text(keyring(options, APT_KEY), str(scratch), run)
    if release is None:
        raise GaudiError(
            f"{options.repository}/{signed} is not signed by the key of {options.key_url or options.repository}; "
            "nothing was downloaded from there; check packages_url and key_url, and the clock of this host.",
            url=f"{options.repository}/{signed}",
        )
    listed = apt_index.list_files(apt_index.release_files(release), options.components, options.architectures)
    entries, texts = [], []
    for path, file in listed.items():
        for entry in _list_entries(options, suite, path, file, apt_index.uses_hash_names(release)):
            entries.append(entry)
            if entry.path.rpartition("/")[2] in ("Packages", "Packages.gz", "Packages.xz"):
                texts.append((entry.path, apt_index.read_list(Path(options.path, entry.path))))
    if not texts:
        raise GaudiError(
            f"{options.repository}/{suite} has no package list for {' '.join(options.components)} and "
            f"{' '.join(options.architectures)}; correct suite, components or architectures."
        )
    target = Path(options.path, signed)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch.replace(target)
    target.chmod(0o644)
    entries.append(local_entry(options, signed, f"{options.repository}/{signed}", "the vendor's signature"))
    by_directory = {path.rpartition("/")[0]: text for path, text in texts}
    return list(by_directory.values()), entries


def _list_entries(options: BundleOptions, suite: str, path: str, file: IndexedFile, hash_names: bool) -> list[Entry]:
    """One index file, and its second name; a repository need not have each form that its Release lists."""
    safe = safe_path(path, f"{suite}/InRelease")
    url = f"{options.repository}/{suite}/{path}"
    names = [f"{suite}/{safe}"]
    if hash_names:
        names.append(f"{suite}/{safe.rpartition('/')[0]}/by-hash/SHA256/{file.sha256}")
    temporary = Path(options.work, f"list-{file.sha256}")
    try:
        download(url, str(temporary), "The package list", "packages_url or suite", f"sha256:{file.sha256}")
    except GaudiError as error:
        if getattr(error.__cause__, "code", 0) == 404 or isinstance(
            getattr(error.__cause__, "reason", None), FileNotFoundError
        ):
            return []
        raise
    content = temporary.read_bytes()
    temporary.unlink()
    for name in names:
        target = Path(options.path, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return [Entry(name, file.size, file.sha256, url, "the vendor's signed index") for name in names]


def _pinned(options: BundleOptions, version: str, offered: Sequence[Mapping[str, str]]) -> list[RemoteFile]:
    """The wanted packages at this version, with what they need of the vendor's at the same version."""
    at_version = {row["Package"]: row for row in offered if row.get("Version") == version}
    wanted, queue = [], list(dict.fromkeys(options.packages))
    for name in queue:
        row = at_version.get(name)
        if row is None:
            has = sorted({other["Version"] for other in offered if other.get("Package") == name})
            raise GaudiError(
                f"The package repository of {options.repository} does not offer {name} {version} in {options.suite} "
                f"(it has {', '.join(has) or 'no version of it'}); correct release, packages or packages_url.",
                package=name,
            )
        wanted.append(row)
        queue += [need for need in depends(row) if need in at_version and need not in queue]
    return [_package_file(options, row) for row in wanted]


def depends(row: Mapping[str, str]) -> list[str]:
    """Every package name that a stanza depends on, alternatives included."""
    text = ",".join(filter(None, (row.get("Pre-Depends"), row.get("Depends"))))
    names = (choice.split("(")[0].split(":")[0].strip() for part in text.split(",") for choice in part.split("|"))
    return [name for name in names if name]


def _package_file(options: BundleOptions, row: Mapping[str, str]) -> RemoteFile:
    if not row.get("SHA256") or not row.get("Filename"):
        raise GaudiError(
            f"The package list of {options.repository} has no SHA256 of {row['Package']}; ask for it to be rebuilt."
        )
    path = safe_path(row["Filename"], "The package list")
    return RemoteFile(
        f"{options.repository}/{APT}/{path}",
        f"{APT}/{path}",
        int(row.get("Size", 0)),
        row["SHA256"],
        "the vendor's signed index",
    )


def wanted_names(options: BundleOptions) -> list[list[str]]:
    """One transaction per release, as a node asks for it: the distribution's names, then the vendor's, pinned."""
    kernels = list(options.kernels) or [running_kernel(options.kernel_root)]
    return [[*os_packages(options, kernels), *pins(options, row)] for row in options.rows()]


def rpm_packages(options: BundleOptions, run: Run, known: dict[str, Entry]) -> list[Entry]:
    """Each dnf repository's metadata as signed, and the wanted packages of the release and its ways back."""
    entries: list[Entry] = []
    versions = [row.package_version for row in options.rows()]
    for path in _rpm(options):
        base = f"{options.repository}/{path}"
        index = rpm_index.read(base, keyring(options, f"{path}/{rpm_index.KEY}"), options.work, run)
        for name, content in index.files.items():
            target = Path(options.path, path, safe_path(name, base))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            vouched = "the vendor's signature"
            entries.append(local_entry(options, f"{path}/{name}", f"{base}/{name}", vouched))
        chosen = rpm_index.choose(index, options.rpm_packages, versions, base)
        files = [
            RemoteFile(
                f"{base}/{rpm.location}",
                f"{path}/{safe_path(rpm.location, base)}",
                rpm.size,
                rpm.sha256,
                "the vendor's signed index",
            )
            for rpm in chosen
        ]
        entries += fetch_all(options, files, known)
    return entries
