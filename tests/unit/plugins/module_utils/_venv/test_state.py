# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The training environment with real virtual environments, a real pip, and small wheels in the place of PyTorch's."""

from __future__ import annotations

import atexit
import functools
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any, Iterator

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.layout import KEY, MANIFEST, SIGNATURE
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.manifest import Entry, Manifest, render
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.venv import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.digests import file_digest
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import gnupg
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.openpgp import binary, fingerprints
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.node_library import bundled
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pin_table import PINS
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.plan import STAMP, VenvOptions

CP = f"cp{sys.version_info[0]}{sys.version_info[1]}"
BUILD = "2.11.0a0+git7d1c9c8"


def wheel(
    directory: Path, name: str, version: str, tags: str = "py3-none-any", requires: str = "", content: str = ""
) -> Path:
    """A wheel with one module that tells its version, installable by any pip."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}-{version}-{tags}.whl"
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", f"__version__ = {version!r}\n{content}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tags}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@functools.cache
def virgin_venv() -> Path:
    """What ``python -m venv`` makes, once: unpacking and compiling pip takes three seconds of a processor each time.

    Its ``bin/python`` is a link, and nothing here calls the scripts that know their own place.
    """
    place = Path(tempfile.mkdtemp(prefix="virgin-venv-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    # Compiled by its first start.
    subprocess.run([place / "venv/bin/python", "-m", "pip", "install", "--help"], check=True, capture_output=True)
    return place / "venv"


class Site:
    """A package repository and a package index behind one HTTP server, and a place for the environment."""

    def __init__(self, base: Path) -> None:
        self.base, self.www = base, base / "www"
        self.venv, self.constraints = base / "opt/venv", base / "etc/pip-constraints.txt"
        self.record = str(base / "state/repository.json")
        self.commands: list[list[str]] = []
        for release, build, torch in (("1.24.1", "482", BUILD), ("1.23.0", "695", "2.9.0+git1")):
            self.bundle(release, build, torch)
        self.index("lightning", "2.6.5", requires="torch>=2.1")
        self.index("lightning", "2.6.6", requires="torch>=2.1")
        self.index("torch", "2.13.0")
        self.index("greedy", "1.0", requires="torch>=2.12")

    def bundle(self, release: str, build: str, torch: str) -> Path:
        wheels = self.base / "wheels" / release
        files = [
            wheel(wheels, "torch", torch, f"{CP}-{CP}-linux_x86_64"),
            wheel(wheels, "torch", torch, "cp27-cp27m-linux_x86_64"),
            wheel(wheels, "habana_torch_plugin", f"{release}.{build}", f"{CP}-{CP}-linux_x86_64", requires="torch"),
        ]
        pytorch = {"1.24.1": "2.11.0", "1.23.0": "2.9.0"}[release]
        path = self.www / f"gaudi-pt-modules/{release}/{build}/pytorch/debian12"
        path.mkdir(parents=True)
        path /= f"pytorch_modules-v{pytorch}_{release}_{build}.tgz"
        with tarfile.open(path, "w:gz") as archive:
            for file in files:
                archive.add(file, f"./{file.name}")
        return path

    def index(self, name: str, version: str, requires: str = "") -> None:
        wheel(self.www / "simple" / name, name, version, requires=requires)

    def options(self, **more: Any) -> VenvOptions:
        given = {
            "path": str(self.venv),
            "python": sys.executable,
            "packages_url": self.url,
            "release": "1.24.1",
            "os_directory": "debian12",
            "requirements": ["lightning>=2.6,<2.7"],
            "index_url": f"{self.url}/simple",
            "plain_http_hosts": ["127.0.0.1"],
            "constraints": str(self.constraints),
        }
        return VenvOptions(**{**given, **more})

    def run(self, argv: Any, **more: Any) -> CommandResult:
        self.commands.append(list(argv))
        if list(argv) == [sys.executable, "-m", "venv", str(self.venv)]:
            shutil.copytree(virgin_venv(), self.venv, symlinks=True, dirs_exist_ok=True)
            return CommandResult(0, "", "")
        return run_process(argv, **more)

    def converge(self, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        self.commands.clear()
        return converge(self.options(**more), self.run, check_mode, self.record)

    def pip(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.venv / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})

    def version_of(self, name: str) -> str:
        code = f"import {name}; print({name}.__version__)"
        return subprocess.run([self.venv / "bin/python", "-c", code], capture_output=True, text=True).stdout.strip()

    @property
    def leftovers(self) -> list[str]:
        return (
            [path.name for path in self.venv.parent.iterdir() if path != self.venv] if self.venv.parent.exists() else []
        )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("no_proxy", "*")
    # What is compiled of each environment's own pip goes with it.
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    # Whatever indexes this machine's own pip asks, they are not part of these tests; the environment's pip.conf is.
    # pip takes an empty value for none, and goes on to this machine's own settings.
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", nothing.as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(nothing))
    site = Site(tmp_path)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site.www))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    yield site
    server.shutdown()
    server.server_close()


def modes_of_files_with(word: str, place: Path) -> dict[str, int]:
    """Every file below that has the word, by its name."""
    found = (path for path in place.rglob("*") if path.is_file() and word.encode() in path.read_bytes())
    return {path.name: path.stat().st_mode & 0o777 for path in found}


@pytest.mark.long
def test_who_logs_in_at_an_index_is_told_to_nobody(site: Site) -> None:
    """Not in the words of a program, a result or a diff; a file has it for its owner alone."""
    index = f"{site.url.replace('http://', 'http://robot:Planted1@')}/simple"
    wanted: dict[str, Any] = {"index_url": index}
    wanted["requirements"] = [f"lightning @ {index}/lightning/lightning-2.6.6-py3-none-any.whl"]
    results = [site.converge(check_mode=True, **wanted), site.converge(**wanted)]
    assert site.version_of("lightning") == "2.6.6"
    assert site.commands
    reported = str([results, site.commands])
    results.append(site.converge(**{**wanted, "index_url": index.replace("simple", "other")}))
    results.append(site.converge(**{**wanted, "requirements": ["lightning==2.6.5"]}))
    assert "Planted1" not in reported + str([results, site.commands])
    files = modes_of_files_with("Planted1", site.base)
    assert files["pip.conf"] == 0o600
    # pip's own record of where a package came from has no password.
    assert set(files.values()) == {0o600}


@pytest.mark.in_turn
def test_a_failure_does_not_tell_who_logs_in(site: Site) -> None:
    index = site.url.replace("http://", "http://robot:Planted1@")
    with pytest.raises(GaudiError) as refused:
        site.converge(index_url=f"{index}/simple", requirements=[f"lost @ {index}/lost-1-py3-none-any.whl"])
    assert "Planted1" not in str(refused.value)
    assert "lost" in str(refused.value)


@pytest.mark.long
def test_the_bundles_build_stays_through_installs_upgrades_and_repairs(site: Site) -> None:
    first = site.converge()
    assert first["changed"]
    assert first["wheels"] == {"torch": BUILD, "habana-torch-plugin": "1.24.1.482"}
    assert first["requirements"] == {"lightning": "2.6.6"}
    assert site.version_of("torch") == BUILD
    assert site.leftovers == []

    second = site.converge()
    assert not second["changed"]
    assert second["diff"] == []
    assert site.commands == []

    # What an operator may type later, with a newer torch in the index.
    assert site.pip("--upgrade", "torch").returncode == 0
    assert site.version_of("torch") == BUILD
    refused = site.pip("torch==2.13.0")
    assert refused.returncode != 0
    assert "constraint" in refused.stdout + refused.stderr
    assert site.pip("greedy").returncode != 0
    assert site.pip("--force-reinstall", "torch").returncode != 0
    assert site.version_of("torch") == BUILD
    assert not site.converge()["changed"]

    # A person who gets around that is undone by the next run.
    index = ("--index-url", f"{site.url}/simple")
    assert site.pip(*index, "torch==2.13.0", PIP_CONFIG_FILE=os.devnull).returncode == 0
    assert site.version_of("torch") == "2.13.0"
    assert site.converge(check_mode=True)["reasons"] == [f"torch is 2.13.0 instead of {BUILD}"]
    assert site.converge()["changed"]
    assert site.version_of("torch") == BUILD

    # Other requirements leave the bundle where it is; it is not even fetched.
    for path in site.www.rglob("*.tgz"):
        path.rename(path.with_suffix(".away"))
    assert site.converge(requirements=["lightning==2.6.5"])["requirements"] == {"lightning": "2.6.5"}
    for path in site.www.rglob("*.away"):
        path.rename(path.with_suffix(".tgz"))

    # Another release is another build, down as well as up, and the constraints follow.
    assert site.converge(release="1.23.0")["wheels"]["torch"] == "2.9.0+git1"
    assert site.version_of("torch") == "2.9.0+git1"
    assert "torch==2.9.0+git1\n" in site.constraints.read_text()


@pytest.mark.long
def test_another_build_of_one_version_is_installed(site: Site) -> None:
    for build in ("2.6.6+checkout1a2b", "2.6.6+checkout0c3d"):
        site.index("lightning", build)
        wanted = {"requirements": [f"lightning=={build}"]}
        assert site.converge(**wanted)["changed"]
        assert site.version_of("lightning") == build
        assert not site.converge(**wanted)["changed"]


@pytest.mark.in_turn
def test_the_node_library_is_told_apart_by_its_content(site: Site, tmp_path: Path) -> None:
    """Two commits of one version are two wheels, and no index is asked for the name."""

    def brought(text: str) -> dict[str, Any]:
        needs = 'lightning>=2.6\nRequires-Dist: extraonly; extra == "s3"\nProvides-Extra: s3'
        path = wheel(
            tmp_path / "from controller", "gaudi3_scale", "0.1.0", requires=needs, content=f"text = {text!r}\n"
        )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return {"node_library": bundled(path.name, digest), "node_library_file": str(path)}

    def text() -> str:
        code = "import gaudi3_scale; print(gaudi3_scale.text)"
        return subprocess.run([site.venv / "bin/python", "-c", code], capture_output=True, text=True).stdout.strip()

    first = brought("first")
    virgin = {name: value for name, value in first.items() if name != "node_library_file"}
    shown = "".join(difference["after"] for difference in site.converge(check_mode=True, **virgin)["diff"])
    assert "node_library: gaudi3-scale @ file://" in shown and "pin: fsspec==" in shown
    with pytest.raises(GaudiError) as missing:
        site.converge(**virgin)
    assert list(missing.value.facts) == ["missing_wheel"] and site.commands == []

    # The name is taken on the index, as by somebody who waits there.
    site.index("gaudi3_scale", "9.9.9")
    site.index("extraonly", "1.0")
    result = site.converge(**first)
    assert result["requirements"] == {"gaudi3-scale": "0.1.0", "lightning": "2.6.6"}
    assert text() == "first"
    assert not site.converge(**virgin)["changed"] and site.commands == []

    second = brought("second")
    assert site.converge(**second)["reasons"] == [f"node_library was {result['node_library']}"]
    assert text() == "second"
    assert not site.converge(**second)["changed"]
    assert len(list(Path(f"{site.venv}.wheels").iterdir())) == 1

    # An extra is resolved from the wheel itself; an unknown one touches nothing.
    with pytest.raises(GaudiError, match=r"extras has 's4', which the node library 0.1.0 does not have; use of s3"):
        site.converge(**second, extras=["s4"])
    assert not site.converge(**second)["changed"]
    site.converge(**second, extras=["s3"])
    assert site.version_of("extraonly") == "1.0"

    # Who uses this pip afterwards gets the same wheel, and nobody else's.
    assert site.pip("--upgrade", "gaudi3-scale").returncode == 0
    assert site.pip("gaudi3-scale==9.9.9").returncode != 0
    assert text() == "second"


@pytest.mark.in_turn
def test_an_index_gives_what_is_pinned_and_with_hashes_nothing_else(site: Site) -> None:
    digests = {}
    for version in ("1.0", "2.0"):
        file = wheel(site.www / "simple/depends", "depends", version)
        digests[version] = hashlib.sha256(file.read_bytes()).hexdigest()
    top = wheel(site.www / "simple/top", "top", "1.0", requires="depends")
    own = hashlib.sha256(top.read_bytes()).hexdigest()
    # What the collection itself pins is not on this index.
    away = [pin.name for pin in PINS if pin.needed_by == ("base",)]

    site.converge(requirements=["top==1.0"], pins=[*away, "depends==1.0"])
    assert site.version_of("depends") == "1.0"
    site.converge(requirements=["top==1.0"], pins=[*away, "depends==2.0"])
    assert site.version_of("depends") == "2.0"

    # What needs the bundle's torch, which is there and has no hash in this run; then all of it anew, the bundle too.
    needs = hashlib.sha256((site.www / "simple/lightning/lightning-2.6.6-py3-none-any.whl").read_bytes()).hexdigest()
    pinned = [f"top==1.0 --hash=sha256:{own}", f"depends==1.0 --hash=sha256:{digests['1.0']}"]
    hashed = {"pins": [*away, *pinned, f"lightning==2.6.6 --hash=sha256:{needs}"], "hashes": True}
    for _virgin in (False, True):
        site.converge(requirements=["top==1.0", "lightning==2.6.6"], **hashed)
        assert (site.version_of("depends"), site.version_of("lightning")) == ("1.0", "2.6.6")
        assert site.version_of("torch") == BUILD
        assert not site.converge(requirements=["top==1.0", "lightning==2.6.6"], **hashed)["changed"]
        shutil.rmtree(site.venv)

    wrong = [pinned[0], f"depends==1.0 --hash=sha256:{digests['2.0']}"]
    with pytest.raises(GaudiError, match=r"depends==1.0 from \S+ does not have the expected hash; .* has another"):
        site.converge(requirements=["top==1.0"], pins=[*away, *wrong], hashes=True)
    with pytest.raises(GaudiError, match="all requirements must have their versions pinned with ==; give each package"):
        site.converge(requirements=["top==1.0"], pins=[*away, pinned[0]], hashes=True)
    assert site.version_of("depends") == ""


@pytest.mark.long
def test_two_controllers_wait_for_each_other(site: Site) -> None:
    """Both find nothing; the second finds all of it done."""
    results: list[dict[str, Any]] = []

    def controller() -> None:
        results.append(converge(site.options(), run_process, False, site.record))

    threads = [threading.Thread(target=controller) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result["requirements"] for result in results] == [{"lightning": "2.6.6"}] * 2
    assert [result["changed"] for result in results] == [True, False]
    assert not site.converge()["changed"]


@pytest.mark.in_turn
def test_an_interrupted_installation_is_thrown_away(site: Site) -> None:
    class PowerLoss(BaseException):
        """Nothing in the code under test may catch it."""

    def until_venv(argv: Any, **more: Any) -> CommandResult:
        if "venv" in argv:
            (site.venv / f"lib/python3.{sys.version_info[1]}/site-packages/torch-{BUILD}.dist-info").mkdir(parents=True)
            raise PowerLoss
        return site.run(argv, **more)

    with pytest.raises(PowerLoss):
        converge(site.options(), until_venv, False, site.record)
    (site.venv / "half").write_text("")
    assert site.converge(check_mode=True)["reasons"] == ["an earlier installation did not finish"]
    assert site.converge()["changed"]
    assert not (site.venv / "half").exists()
    assert site.version_of("torch") == BUILD


@pytest.mark.in_turn
def test_an_existing_environment_survives_failures(site: Site) -> None:
    site.converge()
    stamp = (site.venv / STAMP).read_text()
    with pytest.raises(GaudiError, match="404"):
        site.converge(os_directory="debian99")
    assert (site.venv / STAMP).read_text() == stamp
    assert not site.converge()["changed"]

    # pip fails after the environment was opened for change: the next run builds on what is there.
    constraints = site.constraints.read_text()
    (site.venv / "mine").write_text("")
    with pytest.raises(GaudiError, match=r"pip cannot fill .*nosuch.*; correct requirements, or have the package put"):
        site.converge(release="1.23.0", requirements=["nosuch==1"])
    assert site.constraints.read_text() == constraints
    assert site.version_of("torch") == BUILD
    assert site.converge()["changed"]
    assert not site.converge()["changed"]
    assert (site.venv / "mine").exists()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"os_directory": "debian99"}, r"PyTorch bundle cannot be fetched from http.*debian99.*404.*; correct release"),
        ({"bundle_checksum": "sha256:00"}, "has the sha256 .*, not 00"),
        ({"bundle_checksum": "00"}, "is not of the form sha256:"),
        ({"min_free_mib": 1 << 40}, r"path '.*' has \d+ MiB free.*needs 1099511627776 MiB; free space"),
        ({"python": "/nonexistent/python3"}, r"python '/nonexistent/python3' cannot make a virtual environment"),
        ({"bundle_wheels": ["habana*"]}, "has no torch"),
        ({"release": "0.1"}, "0.1"),
    ],
)
def test_what_cannot_work_is_refused_and_nothing_is_there_after(
    site: Site, wrong: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(GaudiError, match=sentence):
        site.converge(**wrong)
    assert not site.venv.exists()
    assert not site.constraints.exists()
    assert site.leftovers == []


def test_a_directory_of_somebody_else_is_left_alone(site: Site) -> None:
    site.venv.mkdir(parents=True)
    (site.venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    with pytest.raises(GaudiError, match="exists and was not made by this collection; choose another path"):
        site.converge()
    assert [path.name for path in site.venv.iterdir()] == ["pyvenv.cfg"]


def test_check_mode_on_a_new_node_shows_what_it_would_be_made_from(site: Site) -> None:
    result = site.converge(check_mode=True)
    assert result["changed"]
    shown = "".join(difference["after"] for difference in result["diff"])
    assert "pytorch_modules-v2.11.0_1.24.1_482.tgz" in shown
    assert "lightning>=2.6,<2.7" in shown
    assert f"index-url = {site.url}/simple" in shown
    assert site.commands == []
    assert not site.venv.exists()


def test_a_checksum_that_is_right_and_a_bundle_from_a_medium(site: Site) -> None:
    bundle = next(site.www.rglob("*_1.24.1_482.tgz"))
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    result = site.converge(bundle_url=bundle.as_uri(), bundle_checksum=f"sha256:{digest}", requirements=[])
    assert result["wheels"]["torch"] == BUILD
    assert (site.venv / "bin/python").stat().st_mode & 0o005 == 0o005


class SignedSite:
    """The package repository of :class:`Site` as a bundle, whose manifest a key of its own signs."""

    def __init__(self, site: Site, record: Path) -> None:
        self.site, self.record = site, record
        self.packages = site.www / "api/pypi/gaudi-python/packages"
        for version in ("2.6.5", "2.6.6"):
            wheel(self.packages, "lightning", version, requires="torch>=2.1")
        self.archive = next(site.www.rglob("*_1.24.1_482.tgz"))
        (site.www / "gaudi3_scale").mkdir()
        self.home = gnupg.home(run_process)
        self.directory = self.home.__enter__()
        gnupg.make_key(self.directory, "a site <s@localhost>", run_process)
        key = gnupg.public_key(self.directory, run_process)
        (site.www / KEY).write_text(key)
        self.fingerprint = fingerprints(binary(key))[0]
        self.publish("2026-01-01T00:00:00Z")
        text = (site.www / MANIFEST).read_text()
        record.write_text(json.dumps({"packages_url": site.url, "manifest": text}))

    def publish(self, created: str) -> None:
        """Sign a manifest of what is there now."""
        paths = [self.archive, *sorted(self.packages.iterdir())]
        names = [path.relative_to(self.site.www).as_posix() for path in paths]
        files = [
            Entry(name, path.stat().st_size, file_digest(path, "sha256"), "built here", "nobody", "wheels")
            for name, path in zip(names, paths)
        ]
        manifest = Manifest(
            created,
            "2098-01-01T00:00:00Z",
            ["1.24.1-482"],
            self.fingerprint,
            "https://vault.example.com",
            {},
            {},
            files,
        )
        (self.site.www / MANIFEST).write_text(render(manifest))
        target = str(self.site.www / MANIFEST)
        gnupg.sign_detached(self.directory, target, str(self.site.www / SIGNATURE), run_process)

    def converge(self, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        return converge(self.site.options(index_url="", **more), self.site.run, check_mode, str(self.record))


@pytest.fixture
def signed(site: Site, tmp_path: Path) -> Iterator[SignedSite]:
    made = SignedSite(site, tmp_path / "repository.json")
    yield made
    made.home.__exit__(None, None, None)


def _flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.mark.in_turn
def test_a_site_s_bundle_is_all_that_pip_takes_from(signed: SignedSite, site: Site) -> None:
    """No page of an index is read, and every file has the checksum that was signed."""
    shown = signed.converge(check_mode=True)["diff"]
    assert "no-index = true" in str(shown) and "index-url" not in str(shown)
    # What an index of the mirror's own would offer; the environment of the task names it, too.
    site.index("lightning", "2.6.9")
    signed.converge()
    assert site.version_of("lightning") == "2.6.6" and site.version_of("torch") == BUILD
    assert signed.converge()["reasons"] == []
    done = site.pip("--isolated", "greedy")
    assert done.returncode != 0 and "No matching distribution found for greedy" in done.stderr


@pytest.mark.parametrize("what", ["wheel", "PyTorch", "manifest", "signature"])
def test_a_file_that_was_changed_since_is_refused(signed: SignedSite, site: Site, what: str) -> None:
    files = {
        "wheel": (signed.packages / "lightning-2.6.6-py3-none-any.whl", "does not have the expected hash"),
        "PyTorch": (signed.archive, "has the sha256 .*, not "),
        "manifest": (site.www / MANIFEST, r"bundle\.json does not match its signature"),
        "signature": (site.www / SIGNATURE, r"bundle\.json does not match its signature"),
    }
    path, sentence = files[what]
    if what == "signature":
        path.write_text("-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n")
    else:
        _flip(path)
    with pytest.raises(GaudiError, match=sentence):
        signed.converge()
    assert not list(site.venv.glob("lib/python3*/site-packages/lightning*"))


@pytest.mark.long
def test_wheels_of_a_bundle_that_was_built_anew_are_known(signed: SignedSite, site: Site) -> None:
    wheel(signed.packages, "thing", "1.0")
    signed.publish("2026-02-01T00:00:00Z")
    assert signed.converge(requirements=["thing==1.0"])["requirements"] == {"thing": "1.0"}
    signed.publish("2026-01-15T00:00:00Z")
    with pytest.raises(GaudiError, match="this node has seen the one of 2026-02-01T00:00:00Z"):
        signed.converge(requirements=["thing==1.0", "lightning"])


def test_a_bundle_without_the_archive_is_one_sentence(signed: SignedSite) -> None:
    with pytest.raises(GaudiError, match=r"has no gaudi-pt-modules/.*/debian13/.*\.tgz; build its part pytorch"):
        signed.converge(os_directory="debian13")


def test_plain_http_is_for_hosts_that_were_named(site: Site) -> None:
    for option in ("packages_url", "index_url", "bundle_url"):
        with pytest.raises(GaudiError, match=rf"^{option} uses plain http to a\.example, .* in plain_http_hosts"):
            site.converge(**{option: "http://a.example/x"})
    with pytest.raises(GaudiError, match=r"^requirements uses plain http to a\.example"):
        site.converge(requirements=["thing @ http://a.example/thing-1.0-py3-none-any.whl"])
    assert not site.venv.exists() and site.commands == []


def test_a_checksum_of_the_release_table_is_compared(site: Site) -> None:
    overrides = {"1.24.1": {"pytorch_sha256": {"debian12": "0" * 64}}}
    with pytest.raises(GaudiError, match=f"has the sha256 .*, not {'0' * 64}"):
        site.converge(release_overrides=overrides)
