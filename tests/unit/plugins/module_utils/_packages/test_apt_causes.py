# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""apt's chains of reasons, of which it gives one link at a time; a real apt with a list of packages and no more."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.apt_causes import explain_unmet
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.debian_packages import Apt

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="not installed: apt-get")
HEAD = "The following packages have unmet dependencies:\n"
END = "E: Unable to correct problems, you have held broken packages.\n"


def nothing(_request: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        # jiangcuo/pxvirt#172: the one end among links that apt follows no further.
        (
            (
                f"{HEAD} ceph-common : Depends: librbd1 (= 17.2.7-pve3) but it is not going to be installed\n"
                "               Depends: libcephfs2 but it is not going to be installed\n"
                f"               Depends: libfmt9 (>= 9.1.0+ds1) but it is not installable\n{END}"
            ),
            "no repository of this node has libfmt9 (>= 9.1.0+ds1). Needed by ceph-common.",
        ),
        # project-chip/certification-tool#406: -updates on one side alone.
        (
            (
                f"{HEAD} satisfy:command-line : Depends: libdbus-1-dev (= 1.14.10-4ubuntu4) but 1.14.10-4ubuntu4.1 is "
                f"to be installed\n{END}"
            ),
            (
                "satisfy:command-line needs libdbus-1-dev (= 1.14.10-4ubuntu4), and libdbus-1-dev 1.14.10-4ubuntu4.1 "
                "is what this node has or would get: its repositories are out of step with each other; enable the same "
                "suites (-updates, -security) for both, or have the mirror synchronized."
            ),
        ),
        # owasp-modsecurity/ModSecurity#3102.
        (
            f"{HEAD} libdb5.3t64 : Breaks: libdb5.3 (< 5.3.28+dfsg2-5) but 5.3.28+dfsg2-1 is to be installed\n{END}",
            "libdb5.3t64 and libdb5.3 5.3.28+dfsg2-1 exclude each other (Breaks: libdb5.3 (< 5.3.28+dfsg2-5)).",
        ),
        # uriparser/uriparser#142: no end.
        (
            f"{HEAD} wine32:i386 : Depends: libwine:i386 (= 5.0-3ubuntu1) but it is not going to be installed\n{END}",
            (
                "wine32:i386 needs libwine:i386 (= 5.0-3ubuntu1), which apt does not install; `apt-cache policy "
                "libwine:i386` shows the versions that there are."
            ),
        ),
        # kus/cs2-modded-server#16, datto/dattobd#278: all names.
        (
            "E: Package 'lib32gcc1' has no installation candidate\nE: Unable to locate package lib32ncurses5\n",
            "no repository of this node has lib32gcc1 and lib32ncurses5.",
        ),
        (
            "Error: Unable to locate package dattobd-dkms\nError: Unable to locate package dattobd-utils\n",
            "no repository of this node has dattobd-dkms and dattobd-utils.",
        ),
        ("E: Sub-process /usr/bin/dpkg returned an error code (1)\n", ""),
    ],
)
def test_what_apt_says_ends_in_what_is_lacking(text: str, sentence: str, tmp_path: Path) -> None:
    assert explain_unmet(text, nothing, str(tmp_path)) == sentence


class Node:
    """An apt with packages (name to dependencies) in a list, and a distribution that it reads some components of."""

    def __init__(self, root: Path, packages: Mapping[str, str], system: str, components: str) -> None:
        self.root = root
        for name in ("etc/apt/sources.list.d", "var/lib/apt/lists/partial", "var/lib/dpkg", "repository"):
            (root / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        (root / "etc/os-release").write_text(system)
        stanza = "Package: {}\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nFilename: ./x.deb\nSize: 1\n{}\n"
        listed = [stanza.format(name, f"Depends: {needs}\n" if needs else "") for name, needs in packages.items()]
        (root / "repository/Packages").write_text("\n".join(listed))
        (root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{root}/repository ./\n")
        (root / "apt.conf").write_text(
            f'Dir "{root}";\nDir::State::status "{root}/var/lib/dpkg/status";\nAPT::Sandbox::User "";\n'
            'APT::Architecture "amd64";\nDir::Bin::Methods "/usr/lib/apt/methods";\n'
        )
        assert self.run(["apt-get", "-q", "update"]).rc == 0
        (root / "etc/apt/sources.list.d/ubuntu.sources").write_text(
            f"Types: deb\nURIs: http://archive.example.com/ubuntu\nSuites: jammy jammy-updates\n"
            f"Components: {components}\n"
        )

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        return run_process(argv, env={"APT_CONFIG": str(self.root / "apt.conf")})

    def reason(self, *names: str) -> str:
        with pytest.raises(GaudiError) as caught:
            Apt(self.run, str(self.root)).prepare(names, 0.0)
        return str(caught.value).partition("installed: ")[2]


UBUNTU, DEBIAN = "ID=ubuntu\nVERSION_CODENAME=jammy\n", "ID=debian\nVERSION_CODENAME=jammy\n"


@needs_apt
@pytest.mark.parametrize(
    ("system", "components", "where"),
    [
        (
            UBUNTU,
            "main restricted",
            "; of jammy it reads main and restricted and not universe and multiverse: enable the",
        ),
        (UBUNTU, "main restricted universe multiverse", ". Needed by habanalabs-rdma-core."),
        (
            DEBIAN,
            "main",
            "; of jammy it reads main and not contrib, non-free and non-free-firmware: enable the one that",
        ),
        ("ID=other\n", "main", ". Needed by habanalabs-rdma-core."),
    ],
)
def test_a_real_apt_is_followed_to_the_end_of_the_chain(
    tmp_path: Path, system: str, components: str, where: str
) -> None:
    packages = {
        "habanalabs-firmware-tools": "habanalabs-thunk (= 1)",
        "habanalabs-thunk": "habanalabs-rdma-core",
        "habanalabs-rdma-core": "libnl-3-dev, valgrind",
    }
    reason = Node(tmp_path, packages, system, components).reason("habanalabs-firmware-tools")
    assert reason.startswith(f"no repository of this node has libnl-3-dev and valgrind{where}")
    assert reason.endswith(" Needed by habanalabs-rdma-core.")


@needs_apt
def test_two_entries_that_differ_are_told_with_their_files(tmp_path: Path) -> None:
    node = Node(tmp_path, {"lsof": ""}, "ID=other\n", "main")
    for name in ("a", "b"):
        (tmp_path / f"etc/apt/sources.list.d/{name}.list").write_text(
            f"deb [signed-by=/{name}.gpg] https://x/y jammy main\n"
        )
    assert node.reason("lsof") == (
        f"apt reads no source of this node while two entries of https://x/y jammy (in {tmp_path}/etc/apt/"
        f"sources.list.d/a.list and {tmp_path}/etc/apt/sources.list.d/b.list) differ in Signed-By; leave one of them."
    )


@needs_apt
def test_all_names_of_a_list_that_a_real_apt_does_not_know_are_told(tmp_path: Path) -> None:
    node = Node(tmp_path, {"lsof": ""}, "ID=other\n", "main")
    assert node.reason("moreutils", "lsof", "unzip") == "no repository of this node has moreutils and unzip."


@needs_apt
def test_packages_that_need_each_other_do_not_lead_round_in_a_circle(tmp_path: Path) -> None:
    node = Node(tmp_path, {"a": "b, c", "b": "a, c", "c": "a, d (>= 2)", "d": ""}, "ID=other\n", "main")
    assert node.reason("a").startswith("c needs d (>= 2), which apt does not install; `apt-cache policy d`")
