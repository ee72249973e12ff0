# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The package repository: a real apt below a directory of its own, a real signed repository, a real HTTP server."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import package_repository
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_repository import (
    RepositoryOptions,
    converge,
    plan,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release

TOOLS = ("apt-get", "apt-ftparchive", "gpg", "gpgv", "dpkg-deb")
NEEDED = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_apt = pytest.mark.skipif(bool(NEEDED), reason=f"not installed: {', '.join(NEEDED)}")


def options(repository: str = "https://vault.example.com/artifactory", **more: Any) -> RepositoryOptions:
    hosts = ["127.0.0.1", "10.0.0.5"]
    given = {"packages_url": repository, "release": "1.24.1", "suite": "jammy", "plain_http_hosts": hosts}
    return RepositoryOptions(**{**given, **more})


def test_the_vendors_url_shapes_are_derived_from_one_prefix() -> None:
    repository = plan(options("https://vault.habana.ai/artifactory/"))
    assert repository.uri == "https://vault.habana.ai/artifactory/debian"
    assert repository.key_url == "https://vault.habana.ai/artifactory/api/gpg/key/public"
    assert repository.key_path == "/etc/apt/keyrings/gaudi3_scale-repository.asc"


def test_each_url_can_be_given_on_its_own() -> None:
    repository = plan(options(key_url="file:///media/key.asc", repository_url="http://10.0.0.5/habana"))
    assert (repository.key_url, repository.uri) == ("file:///media/key.asc", "http://10.0.0.5/habana")


@pytest.mark.parametrize("name", ["packages_url", "key_url", "repository_url"])
@pytest.mark.parametrize("url", ["vault.example.com", "ftp://vault.example.com", "https://", "https://a b/"])
def test_what_is_no_url_is_refused_by_name(name: str, url: str) -> None:
    with pytest.raises(GaudiError, match=f"^{name} must be a URL"):
        plan(options(**({"repository": url} if name == "packages_url" else {name: url})))


@pytest.mark.parametrize("name", ["packages_url", "key_url", "repository_url"])
def test_plain_http_is_for_hosts_that_were_named(name: str) -> None:
    url = "http://mirror.example.com/x"
    wrong = {"repository": url} if name == "packages_url" else {name: url}
    with pytest.raises(GaudiError, match=rf"^{name} uses plain http to mirror\.example\.com.* in plain_http_hosts"):
        plan(options(**wrong))
    assert plan(options(**wrong, plain_http_hosts=["Mirror.example.com"]))


WORDS = {
    "suite": "jammy",
    "components": ["main"],
    "architectures": ["amd64"],
    "packages": ["habanalabs-dkms"],
    "os_packages": ["linux-headers-{kernel}"],
    "kernels": ["6.8.0-45-generic"],
}


@pytest.mark.parametrize(
    "word", ["x\nTrusted: yes", "x y", "x\ty", "[trusted=yes]", "-x", "x\r", "\x00", "ä", "../x", "x" * 300]
)
@pytest.mark.parametrize("name", WORDS)
def test_a_word_that_would_be_a_setting_of_its_own_is_refused(tmp_path: Path, name: str, word: str) -> None:
    def never(argv: Any, **_more: Any) -> CommandResult:
        raise AssertionError(argv)

    plan(options(**WORDS))
    wrong = word if isinstance(WORDS[name], str) else [*WORDS[name], word]
    with pytest.raises(GaudiError, match=rf"^{name} must have ") as caught:
        converge(options(**{name: wrong}), never, check_mode=False, etc=str(tmp_path))
    assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://a/\nTrusted: yes",
        "https://a/b c",
        "https://a/'",
        'https://a/"',
        "https://a\\b",
        "https://ä/",
        "file://",
        "https://",
    ],
)
def test_a_url_that_would_end_its_line_is_refused(url: str) -> None:
    for name in ("repository", "key_url", "repository_url"):
        with pytest.raises(GaudiError, match=r"must be a URL") as caught:
            plan(options(**{name: url}))
        assert "\n" not in str(caught.value)


@needs_apt
def test_another_key_than_the_pinned_one_is_refused(repository: Repository) -> None:
    shown = repository.gpg("--with-colons", "--fingerprint").decode()
    right = next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr"))
    with pytest.raises(GaudiError, match=f"is the key {right}, not {'A' * 40}; nothing was taken from there"):
        repository.converge(key_fingerprint="A" * 40)
    assert repository.files == {}
    overrides = {"1.24.1": {"keys": {"apt": "B" * 40}}}
    with pytest.raises(GaudiError, match=f"not {'B' * 40}; nothing was taken from there"):
        repository.converge(release_overrides=overrides)
    assert repository.converge(release_overrides=overrides, key_fingerprint=f" {right.lower()}")["available"]
    assert not repository.converge(key_fingerprint=right)["changed"]
    # A key that is on the node already, and is not the one that gets pinned now.
    with pytest.raises(GaudiError, match=f"not {'A' * 40}; nothing was taken"):
        repository.converge(key_fingerprint="A" * 40)
    with pytest.raises(GaudiError, match=r"^key_fingerprint must be a whole fingerprint"):
        repository.converge(key_fingerprint="AB12")


def test_one_transaction_holds_the_distributions_packages_and_the_pinned_ones() -> None:
    asked = options(packages=["habanalabs-thunk", "habanalabs-dkms"], os_packages=["dkms", "linux-headers-{kernel}"])
    assert package_repository.transaction(asked, find_release("1.24.1"), ["6.8.0-45-generic", "6.8.0-48-generic"]) == [
        "dkms",
        "linux-headers-6.8.0-45-generic",
        "linux-headers-6.8.0-48-generic",
        "habanalabs-thunk=1.24.1-482",
        "habanalabs-dkms=1.24.1-482",
    ]


class Repository:
    """A signed repository with a package of two releases, behind a real HTTP server, and an apt that is ours alone."""

    def __init__(self, base: Path) -> None:
        self.base, self.www, self.etc = base, base / "www", base / "apt/etc"
        self.home = base / "gpg"
        self.home.mkdir(mode=0o700)
        self.signed = time.time() - 3600
        self.pool = self.www / "debian/pool"
        self.dists = self.www / "debian/dists/jammy"
        self.pool.mkdir(parents=True)
        for version in ("1.23.0-695", "1.24.1-482"):
            self.package("habanalabs-dkms", version)
        self.new_key("first")
        self.publish_key("first")
        self.sign("first")
        self.apt_conf()
        self.commands: list[list[str]] = []

    def package(self, name: str, version: str) -> None:
        tree = self.base / "deb"
        (tree / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: test\n"
        (tree / "DEBIAN/control").write_text(control)
        subprocess.run(
            ["dpkg-deb", "-b", tree, self.pool / f"{name}_{version}_all.deb"], check=True, capture_output=True
        )
        shutil.rmtree(tree)

    def gpg(self, *arguments: str) -> bytes:
        command = ["gpg", "--homedir", str(self.home), "--batch", "--yes", "--pinentry-mode", "loopback", *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def new_key(self, name: str) -> None:
        self.gpg("--passphrase", "", "--quick-gen-key", f"{name}@example.com", "ed25519", "sign", "0")

    def publish_key(self, name: str, armor: bool = True) -> None:
        path = self.www / "api/gpg/key/public"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.gpg(*(["--armor"] if armor else []), "--export", f"{name}@example.com"))

    def sign(self, name: str) -> None:
        packages = self.dists / "main/binary-amd64"
        packages.mkdir(parents=True, exist_ok=True)
        archive = functools.partial(subprocess.run, cwd=self.www / "debian", check=True, capture_output=True)
        (packages / "Packages").write_bytes(archive(["apt-ftparchive", "packages", "pool"]).stdout)
        (self.dists / "InRelease").unlink(missing_ok=True)
        fields = {"Suite": "jammy", "Codename": "jammy", "Components": "main", "Architectures": "amd64"}
        given = [word for key, value in fields.items() for word in ("-o", f"APT::FTPArchive::Release::{key}={value}")]
        release = archive(["apt-ftparchive", *given, "release", "dists/jammy"]).stdout
        (self.base / "Release").write_bytes(release)
        target = str(self.dists / "InRelease")
        self.gpg("--local-user", f"{name}@example.com", "--clearsign", "-o", target, str(self.base / "Release"))
        # HTTP tells changes apart by the second.
        self.signed += 10
        os.utime(target, (self.signed, self.signed))

    def apt_conf(self) -> None:
        root = self.base / "apt"
        for name in (
            "etc/apt/apt.conf.d",
            "var/lib/apt/lists/partial",
            "var/cache/apt/archives/partial",
            "var/lib/dpkg",
        ):
            (root / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        (root / "apt.conf").write_text(
            f'Dir "{root}";\nDir::State::status "{root}/var/lib/dpkg/status";\nAPT::Sandbox::User "";\n'
            'Dir::Bin::Methods "/usr/lib/apt/methods";\nAPT::Update::Post-Invoke-Success "";\n'
        )

    def run(self, argv: Any, **more: Any) -> CommandResult:
        self.commands.append(list(argv))
        if argv[0] == "dpkg-query":
            argv = ["dpkg-query", f"--admindir={self.base}/apt/var/lib/dpkg", *argv[1:]]
        return run_process(argv, **{**more, "env": {"APT_CONFIG": str(self.base / "apt/apt.conf"), "no_proxy": "*"}})

    def converge(self, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        self.commands.clear()
        asked = {"packages": ["habanalabs-dkms"], "kernels": ["6.8.0-45-generic"], "lock_timeout": 0.0, **more}
        return converge(options(self.url, **asked), self.run, check_mode, etc=str(self.etc))

    @property
    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.etc.rglob("gaudi3_scale-repository*")}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    monkeypatch.setenv("no_proxy", "*")
    repository = Repository(tmp_path)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=repository.www))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    repository.url = f"http://127.0.0.1:{server.server_port}"
    yield repository
    server.shutdown()
    server.server_close()
    subprocess.run(["gpgconf", "--homedir", repository.home, "--kill", "all"], check=False, capture_output=True)


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@needs_apt
def test_first_run_registers_and_second_run_needs_no_network(repository: Repository) -> None:
    first = repository.converge()
    assert first["changed"]
    assert first["refreshed"]
    assert first["available"]
    assert first["package_version"] == "1.24.1-482"
    assert not first["installed"]
    assert set(repository.files) == {"gaudi3_scale-repository.asc", "gaudi3_scale-repository.sources"}
    second = repository.converge()
    assert not second["changed"]
    assert not second["refreshed"]
    assert second["available"]
    assert second["diff"] == []
    assert [command[:3] for command in repository.commands if "update" in command] == []


@needs_apt
def test_check_mode_shows_the_files_and_touches_nothing(repository: Repository) -> None:
    result = repository.converge(check_mode=True, key_url=f"http://127.0.0.1:{unused_port()}/nobody")
    assert result["changed"]
    assert not result["available"]
    assert result["packages"] == ["habanalabs-dkms=1.24.1-482"]
    assert [difference["after_header"].split()[0] for difference in result["diff"]] == [*result["files"], "packages"]
    assert result["diff"][-1]["after"] == "habanalabs-dkms=1.24.1-482\n"
    assert repository.files == {}


@needs_apt
def test_a_binary_key_is_written_as_armor_that_apt_accepts(repository: Repository) -> None:
    repository.publish_key("first", armor=False)
    assert repository.converge()["available"]
    assert repository.files["gaudi3_scale-repository.asc"].startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")


@needs_apt
def test_a_release_published_after_the_last_look_is_looked_for(repository: Repository) -> None:
    repository.converge()
    repository.package("habanalabs-dkms", "1.23.0-999")
    repository.sign("first")
    result = repository.converge(release="1.23.0", release_overrides={"1.23.0": {"build": "999"}})
    assert result["refreshed"]
    assert not result["changed"]


@needs_apt
def test_packages_that_are_installed_need_no_lists(repository: Repository) -> None:
    repository.converge()
    shutil.rmtree(repository.base / "apt/var/lib/apt/lists")
    (repository.base / "apt/var/lib/apt/lists/partial").mkdir(parents=True)
    status = "Package: habanalabs-dkms\nStatus: {} ok installed\nArchitecture: all\nVersion: 1.24.1-482\n"
    (repository.base / "apt/var/lib/dpkg/status").write_text(
        f"{status.format('hold')}Maintainer: a <a@b.c>\nDescription: test\n\n"
    )
    result = repository.converge()
    assert result["installed"]
    assert not result["refreshed"]


@needs_apt
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (
            "no key",
            r"public key cannot be fetched from http://.*/public: it answers 404.*; correct packages_url or key_url",
        ),
        ("page for a key", r"does not return an OpenPGP public key \('<html>'\); correct packages_url or key_url"),
        ("no suite", r"does not exist: http://.*/dists/jammy/Release is not there; correct packages_url.*suite"),
        ("other key", r"is not signed by the key in .*\.asc \(from http://.*\); check packages_url"),
        ("unsigned", r"is not signed by the key in"),
        ("page for a release", r"does not return a package repository"),
        ("release not there", r"does not offer habanalabs-dkms 1.22.0-740 \(it has 1.23.0-695, 1.24.1-482\)"),
        (
            "nobody listens",
            r"public key cannot be fetched from http://127.*: connection refused; check this node's DNS",
        ),
    ],
)
@pytest.mark.parametrize("before", ["nothing", "another repository"])
def test_a_fault_is_one_sentence_and_the_files_are_as_they_were(
    repository: Repository, fault: str, sentence: str, before: str
) -> None:
    more: dict[str, Any] = {}
    if before != "nothing":
        repository.converge()
        sources = repository.etc / "apt/sources.list.d/gaudi3_scale-repository.sources"
        sources.write_text(sources.read_text().replace("amd64", "arm64"))
        sources.chmod(0o600)
        shutil.rmtree(repository.base / "apt/var/lib/apt/lists")
        (repository.base / "apt/var/lib/apt/lists/partial").mkdir(parents=True)
    if fault == "no key":
        (repository.www / "api/gpg/key/public").unlink()
    elif fault == "page for a key":
        (repository.www / "api/gpg/key/public").write_text("<html>\nplease log in")
    elif fault == "no suite":
        shutil.rmtree(repository.dists)
    elif fault == "other key":
        repository.new_key("second")
        repository.publish_key("second")
    elif fault == "unsigned":
        (repository.dists / "InRelease").unlink()
        shutil.copy(repository.base / "Release", repository.dists / "Release")
    elif fault == "page for a release":
        (repository.dists / "InRelease").write_text("<html>please log in</html>")
    elif fault == "release not there":
        more["release"] = "1.22.0"
    else:
        repository.url = f"http://127.0.0.1:{unused_port()}"
    there = repository.files
    with pytest.raises(GaudiError, match=sentence):
        repository.converge(**more)
    assert repository.files == there
    assert [oct(path.stat().st_mode & 0o777) for path in repository.etc.rglob("*.sources")] == ["0o600"] * bool(there)


@needs_apt
def test_an_unreachable_repository_is_told_when_only_the_key_is_at_hand(repository: Repository) -> None:
    with pytest.raises(GaudiError, match="cannot be reached; check this node's DNS, route and proxy"):
        repository.converge(repository_url=f"http://127.0.0.1:{unused_port()}/debian")
    assert repository.files == {}


def _apt_update(repository: Repository) -> CommandResult:
    """What any apt on the node does, with all of its sources."""
    return repository.run(["apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any"])


@needs_apt
@pytest.mark.parametrize("before", ["nothing", "a node that is broken by both"])
def test_an_entry_of_the_installers_script_is_taken_over_and_every_apt_works(
    repository: Repository, before: str
) -> None:
    script = repository.etc / "apt/sources.list.d/habanalabs.list"
    entry = f"deb [signed-by=/etc/apt/keyrings/habanalabs.gpg] {repository.url}/debian jammy main\n"
    other = f"deb [trusted=yes] {repository.url}/another jammy main\n"
    if before != "nothing":
        repository.converge()
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"# by hand\n{entry}# {other}")
    if before != "nothing":
        assert "Conflicting values set for option Signed-By" in _apt_update(repository).stderr
    shown = repository.converge(check_mode=True)
    assert shown["changed"]
    assert (f"- {entry}", f"+ # gaudi3_scale-repository: {entry}") in [
        (f"- {one['before'].splitlines(True)[1]}", f"+ {one['after'].splitlines(True)[1]}")
        for one in shown["diff"]
        if str(script) in one["after_header"]
    ]
    assert script.read_text().count("# gaudi3_scale-repository") == 0
    result = repository.converge()
    assert result["changed"]
    assert result["taken_over"] == [str(script)]
    assert script.read_text() == f"# by hand\n# gaudi3_scale-repository: {entry}# {other}"
    assert _apt_update(repository).rc == 0
    again = repository.converge()
    assert (again["changed"], again["refreshed"], again["taken_over"]) == (False, False, [])


@needs_apt
def test_a_fault_leaves_the_entry_of_others_in_force(repository: Repository) -> None:
    script = repository.etc / "apt/sources.list.d/habanalabs.list"
    script.parent.mkdir(exist_ok=True)
    entry = f"deb [trusted=yes] {repository.url}/debian jammy main\n"
    script.write_text(entry)
    with pytest.raises(GaudiError, match=r"does not offer habanalabs-dkms 1\.22\.0-740"):
        repository.converge(release="1.22.0")
    assert script.read_text() == entry
    assert repository.files == {}


@needs_apt
@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {
                "a.list": "deb [signed-by=/x.gpg] https://x.example.com/docker jammy main\n",
                "b.list": "deb [signed-by=/y.gpg] https://x.example.com/docker jammy main\n",
            },
            (
                r"cannot be used: apt reads no source of this node while two entries of https://x\.example\.com/docker "
                r"jammy differ in Signed-By; leave one of them.* Entries of it are in \S+/a\.list and \S+/b\.list\.$"
            ),
        ),
        (
            {"a.list": "deb [broken https://x.example.com/docker jammy main\n"},
            r"apt reads no source of this node, since one .* is wrong \(Malformed.*\); correct \S+/a\.list\.$",
        ),
        (
            {"a.sources": "Types: rpm\nURIs: https://x\nSuites: s\nComponents: c\n"},
            r"is wrong \(.*\); correct \S+/a\.sources\.$",
        ),
    ],
)
def test_what_stops_every_apt_shows_at_once_and_names_the_files(
    repository: Repository, files: dict[str, str], sentence: str
) -> None:
    place = repository.etc / "apt/sources.list.d"
    place.mkdir(exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(text)
    with pytest.raises(GaudiError, match=sentence):
        repository.converge()
    assert repository.files == {}


def test_an_unknown_release_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    def never(argv: Any, **_more: Any) -> CommandResult:
        raise AssertionError(argv)

    with pytest.raises(GaudiError, match=r"9\.9\.9"):
        converge(options(release="9.9.9"), never, check_mode=False, etc=str(tmp_path))
    assert list(tmp_path.iterdir()) == []
