# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Entries that others wrote of our repository: switched off alone, given back to the byte, refused by name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import write
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import apt_sources, dnf_sources
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.switched_off import Marks

URI = "https://vault.habana.ai/artifactory/debian"
NAME = "gaudi3_scale-repository"
OFF, PUT = f"# {NAME}: ", f"# {NAME} put here:\n"
DEBIAN = "deb http://mirror.example.com/debian bookworm main  # ours\n"
KEY = " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n"

# What others wrote -> what is left of it.
ENTRIES = {
    # A set-up script for 8 Gaudi 2 on Debian 12.
    "habanalabs.list": (
        f"deb [signed-by=/etc/apt/keyrings/habanalabs.gpg] {URI} jammy main\n",
        f"{OFF}deb [signed-by=/etc/apt/keyrings/habanalabs.gpg] {URI} jammy main\n",
    ),
    # The vendor's own lines since 2021 and huggingface/optimum-habana's ci_test.sh: appended at each run, apt-key.
    "artifactory.list": (f"deb {URI} jammy main\n" * 2, f"{OFF}deb {URI} jammy main\n" * 2),
    # gaudi-setup for 24.04.
    "habana.list": (
        f"{DEBIAN}deb [arch=amd64 signed-by=/usr/share/keyrings/habana-artifactory.gpg] {URI}/ jammy main # v\n",
        f"{DEBIAN}{OFF}deb [arch=amd64 signed-by=/usr/share/keyrings/habana-artifactory.gpg] {URI}/ jammy main # v\n",
    ),
    "trusted.list": (f"  deb\t[ trusted=yes ] {URI}/ jammy\tmain", f"{OFF}  deb\t[ trusted=yes ] {URI}/ jammy\tmain"),
    "source.list": (f"deb-src {URI} jammy main\n", f"{OFF}deb-src {URI} jammy main\n"),
    "by-fingerprint.sources": (
        f"# theirs\nTypes: deb\nURIs: {URI}/\nSuites: jammy\nComponents: main\nSigned-By: {'A' * 40}\n",
        (
            f"# theirs\n{PUT}Enabled: no\nTypes: deb\nURIs: {URI}/\nSuites: jammy\nComponents: main\n"
            f"Signed-By: {'A' * 40}\n"
        ),
    ),
    "inline.sources": (
        f"Enabled: yes\nTypes: deb\nURIs: {URI}\nSuites: jammy\nComponents: main\nSigned-By:\n{KEY}",
        (
            f"{PUT}Enabled: no\n{OFF}Enabled: yes\nTypes: deb\nURIs: {URI}\nSuites: jammy\nComponents: main\n"
            f"Signed-By:\n{KEY}"
        ),
    ),
    "suites.sources": (
        f"Types: deb\nURIs: {URI}\nSuites: jammy\n noble\nComponents: main\nTrusted: yes\n\n# the end\n",
        (
            f"Types: deb\nURIs: {URI}\n{PUT}Suites: noble\n{OFF}Suites: jammy\n{OFF} noble\nComponents: main\n"
            "Trusted: yes\n\n# the end\n"
        ),
    ),
    "uris.sources": (
        f"Types: deb\nURIs: https://mirror.example.com/x {URI}/ \nSuites: jammy\nComponents: main\n",
        (
            f"Types: deb\n{PUT}URIs: https://mirror.example.com/x\n{OFF}URIs: https://mirror.example.com/x {URI}/ \n"
            "Suites: jammy\nComponents: main\n"
        ),
    ),
    "two.sources": (
        (
            f"Types: deb\nURIs: https://x.example.com/y\nSuites: s\nComponents: c\n\nTypes: deb\nURIs: {URI}\n"
            "Suites: jammy\nComponents: main\nTrusted: yes\n"
        ),
        (
            f"Types: deb\nURIs: https://x.example.com/y\nSuites: s\nComponents: c\n\n{PUT}Enabled: no\nTypes: deb\n"
            f"URIs: {URI}\nSuites: jammy\nComponents: main\nTrusted: yes\n"
        ),
    ),
}
LEFT_ALONE = {
    "another-suite.list": f"deb [trusted=yes] {URI} focal main\n",
    "comment.list": f"# deb {URI} jammy main\n",
    "disabled.sources": f"Enabled: no\nTypes: deb\nURIs: {URI}\nSuites: jammy\nComponents: main\nTrusted: yes\n",
    "cdrom.list": "deb cdrom:[Debian GNU/Linux 12 _Bookworm_]/ bookworm main\n",
    "not.read.list.save": f"deb {URI} jammy main\n",
    "no read.list": f"deb {URI} jammy main\n",
}


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    """apt's directory of configuration, with our own file in it."""
    for name in ("etc/apt/sources.list.d", "var/lib/apt/lists/partial", "var/lib/dpkg"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    (tmp_path / f"etc/apt/sources.list.d/{NAME}.sources").write_text(
        f"Types: deb\nURIs: {URI}\nSuites: jammy\nComponents: main\nSigned-By: /etc/apt/keyrings/{NAME}.asc\n"
    )
    return tmp_path / "etc/apt"


def wanted(apt: Path, uri: str = URI, suite: str = "jammy") -> apt_sources.Wanted:
    return apt_sources.Wanted(str(apt / f"sources.list.d/{NAME}.sources"), uri, suite, ("main",))


def real_apt(apt: Path) -> str:
    """What apt itself would fetch by all sources, or why it reads none."""
    root = apt.parents[1]
    command = ["apt-get", "-o", f"Dir={root}", "-o", f"Dir::State::status={root}/var/lib/dpkg/status"]
    done = subprocess.run([*command, "update", "--print-uris"], capture_output=True, text=True, check=False)
    return done.stderr + done.stdout


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_of_others_is_switched_off_alone_and_apt_reads_its_sources(apt: Path, name: str) -> None:
    before, after = ENTRIES[name]
    path = apt / "sources.list.d" / name
    path.write_text(before)
    path.chmod(0o640)
    # One without a key that comes before ours is taken for the same by apt, with a warning.
    assert re.search("Conflicting values set for option|configured multiple times", real_apt(apt))
    (change,) = apt_sources.switched_off(wanted(apt))
    assert path.read_text() == before
    write(change)
    assert path.read_text() == after
    assert path.stat().st_mode & 0o777 == 0o640
    assert real_apt(apt).count(f"'{URI}/dists/jammy/InRelease'") == 1
    assert apt_sources.switched_off(wanted(apt)) == []
    # Gone with ours.
    (back,) = apt_sources.given_back(str(apt / f"sources.list.d/{NAME}.sources"))
    write(back)
    assert path.read_text() == before
    assert apt_sources.given_back(str(apt / f"sources.list.d/{NAME}.sources")) == []


def test_every_file_is_read_and_what_is_of_another_repository_is_left(apt: Path) -> None:
    (apt / "sources.list").write_text(f"{DEBIAN}deb {URI} jammy main\n")
    for name, text in {**{name: before for name, (before, _after) in ENTRIES.items()}, **LEFT_ALONE}.items():
        (apt / "sources.list.d" / name).write_text(text)
    changes = apt_sources.switched_off(wanted(apt))
    assert {Path(change.wanted.path).name for change in changes} == {"sources.list", *ENTRIES}
    for change in changes:
        write(change)
    assert (apt / "sources.list").read_text() == f"{DEBIAN}{OFF}deb {URI} jammy main\n"
    assert {name: (apt / "sources.list.d" / name).read_text() for name in LEFT_ALONE} == LEFT_ALONE
    assert real_apt(apt).count(f"'{URI}/dists/jammy/InRelease'") == 1


def test_a_repository_that_moves_gives_back_what_it_no_longer_is(apt: Path) -> None:
    path = apt / "sources.list.d/habanalabs.list"
    before = ENTRIES["habanalabs.list"][0]
    path.write_text(before)
    write(apt_sources.switched_off(wanted(apt))[0])
    (change,) = apt_sources.switched_off(wanted(apt, "https://mirror.example.com/gaudi"))
    assert change.wanted.content == before


def test_another_repository_of_ours_keeps_what_it_has_switched_off(apt: Path) -> None:
    path = apt / "sources.list.d/mellanox.list"
    path.write_text("# gaudi3_scale-ofed: deb file:/usr/share/doca ./\n")
    assert apt_sources.switched_off(wanted(apt)) == []
    assert apt_sources.given_back(str(apt / f"sources.list.d/{NAME}.sources")) == []


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "site.list",
            f"deb {URI} jammy main site\n",
            r"site\.list has an entry of https://.* jammy, .* the components site, too; add them to components",
        ),
        (
            "site.sources",
            f"Types: deb\nURIs: {URI} https://x/y\nSuites: jammy noble\nComponents: main\n",
            r"site\.sources has a stanza of several URIs and several suites, .* give that its own stanza",
        ),
    ],
)
def test_what_ours_does_not_stand_for_is_refused_by_name(apt: Path, name: str, text: str, sentence: str) -> None:
    (apt / "sources.list.d" / name).write_text(text)
    with pytest.raises(GaudiError, match=sentence):
        apt_sources.switched_off(wanted(apt))
    assert (apt / "sources.list.d" / name).read_text() == text
    assert apt_sources.files_of(apt, f"{URI}/", "jammy") == [
        str(apt / f"sources.list.d/{NAME}.sources"),
        str(apt / "sources.list.d" / name),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://Vault.Habana.AI/artifactory/debian/", URI),
        ("file:/srv/x", "file:///srv/x/"),
        ("HTTPS://x", "https://x/"),
    ],
)
def test_ways_to_write_a_uri_are_one(one: str, other: str) -> None:
    assert apt_sources.plain_uri(one) == apt_sources.plain_uri(other)


def test_paths_of_two_cases_are_two() -> None:
    assert apt_sources.plain_uri("https://x/A") != apt_sources.plain_uri("https://x/a")


RHEL = "https://vault.habana.ai/artifactory/rhel/9/9.6"
REPOSITORIES = {
    # The vendor's installation page for RHEL: one file, gpgcheck=0 in older ones.
    "Habana-Repository.repo": (
        f"[repository]\n\nname=Habana Repository\nbaseurl={RHEL}\nenabled=1\ngpgcheck=0\n",
        f"[repository]\n{PUT}enabled=0\n\nname=Habana Repository\nbaseurl={RHEL}\n{OFF}enabled=1\ngpgcheck=0\n",
    ),
    "variables.repo": (
        "[a]\nbaseurl = https://vault.habana.ai/artifactory/rhel/$releasever_major/9.${releasever_minor}/\ngpgcheck=1\n",
        (
            f"[a]\n{PUT}enabled=0\nbaseurl = https://vault.habana.ai/artifactory/rhel/$releasever_major/"
            "9.${releasever_minor}/\ngpgcheck=1\n"
        ),
    ),
    "several.repo": (
        f"[x]\nbaseurl=https://x\n[v]\nbaseurl=https://y,\n  {RHEL}/\nenabled = True\n\n[z]\nbaseurl={RHEL}-x\n",
        (
            f"[x]\nbaseurl=https://x\n[v]\n{PUT}enabled=0\nbaseurl=https://y,\n  {RHEL}/\n{OFF}enabled = True\n\n"
            f"[z]\nbaseurl={RHEL}-x\n"
        ),
    ),
}


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "yum.repos.d").mkdir()
    (tmp_path / "os-release").write_text('ID="rhel"\nVERSION_ID="9.6"\n')
    return tmp_path


@pytest.mark.parametrize("name", REPOSITORIES)
def test_another_dnf_repository_of_the_same_url_is_disabled_and_comes_back(etc: Path, name: str) -> None:
    before, after = REPOSITORIES[name]
    own, path = str(etc / f"yum.repos.d/{NAME}.repo"), etc / "yum.repos.d" / name
    path.write_text(before)
    (change,) = dnf_sources.switched_off(own, RHEL)
    write(change)
    assert path.read_text() == after
    assert dnf_sources.switched_off(own, RHEL) == []
    (back,) = dnf_sources.given_back(own)
    write(back)
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("other.repo", "[repository]\nbaseurl=https://vault.habana.ai/artifactory/rhel/9/9.4\n"),
        ("off.repo", f"[repository]\nbaseurl={RHEL}\nenabled=0\n"),
        ("mirrors.repo", "[repository]\nmetalink=https://m.example.com/?repo=$releasever\n"),
        # subscription-manager's own: it would be written anew at each refresh.
        ("redhat.repo", f"[site]\nbaseurl={RHEL}\nenabled=1\n"),
        (f"{NAME}.repo", f"[{NAME}]\nbaseurl={RHEL}\n"),
    ],
)
def test_other_dnf_repositories_are_left(etc: Path, name: str, text: str) -> None:
    (etc / "yum.repos.d" / name).write_text(text)
    assert dnf_sources.switched_off(str(etc / f"yum.repos.d/{NAME}.repo"), RHEL) == []


def test_a_variable_of_the_site_is_read(etc: Path) -> None:
    (etc / "dnf/vars").mkdir(parents=True)
    (etc / "dnf/vars/repository").write_text("vault.habana.ai\n")
    (etc / "yum.repos.d/a.repo").write_text("[a]\nbaseurl=https://$repository/artifactory/rhel/9/$releasever\n")
    assert len(dnf_sources.switched_off(str(etc / f"yum.repos.d/{NAME}.repo"), RHEL)) == 1


@pytest.mark.parametrize("text", ["", "x", "x\n", "\n\n", "x\r\ny\r\n", "x\x0cy\x85z\n"])
def test_a_text_that_has_no_marks_comes_back_as_it_is(text: str) -> None:
    assert Marks(NAME).given_back(text) == text
