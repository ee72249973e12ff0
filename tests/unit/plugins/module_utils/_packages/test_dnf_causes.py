# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""dnf's chains of reasons: what is told is where they end, all names of it, and the repository that has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.dnf_command import explain

SAID = Path(__file__).parents[3] / "fixtures" / "dnf"
# sustainable-computing-io/kepler#1374.
KEPLER = (SAID / "lacking_for_building.txt").read_text()
# crc-org/snc#602.
KERNEL = """ Problem 1: conflicting requests
  - nothing provides kernel-core-uname-r = 5.14.0-70.30.1.el9_0.aarch64 needed by kernel-5.14.0-70.30.1.el9_0.aarch64
  - nothing provides kernel-modules-uname-r = 5.14.0-70.30.1.el9_0.aarch64 needed by kernel-5.14.0-70.30.1.el9_0.aarch64
"""
# elrepo/packages#245, in English: a module of another minor release, 30 lines of it.
KMOD = "Error:\n Problem: conflicting requests\n" + "".join(
    f"  - nothing provides kernel({symbol}) = 0x5d330546 needed by kmod-mvsas-0.8.16-1.el9_0.elrepo.x86_64\n"
    for symbol in ["module_layout", *(f"symbol{number}" for number in range(29))]
)
# ansible/ansible#81466: two ends of other repositories, far below.
ROOT = (SAID / "two_ends.txt").read_text()
# Two layers' worth: EPEL and the package repository.
MIXED = (SAID / "repository_and_epel.txt").read_text()
# Both in one answer: what is nowhere stands behind what excludes each other.
BOTH = """Error:
 Problem: cannot install both a-2-1.el9.noarch and a-1-1.el9.noarch
  - nothing provides libnl3-devel needed by a-2-1.el9.noarch
"""
# dnf 4 and dnf 5 say it of what was asked for so.
ASKED = (
    "No match for argument: moreutils\nNo match for argument: unzip\nError: Unable to find a match: moreutils unzip\n"
)
MODULE = """Error:
 Problem: package x-1-1.el9.noarch requires perl(Y), but none of the providers can be installed
  - package perl-Y-1-1.el9.noarch from appstream is filtered out by modular filtering
"""
BUILT_WITH = (
    "on RHEL 9 what others are built with is in AppStream or CRB (CodeReady Builder): enable both or their mirrors"
)
ANYWHERE = (
    "on RHEL 9 what BaseOS lacks is in AppStream, CRB (CodeReady Builder) or EPEL: enable what the node lacks of them"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            KEPLER,
            (
                f"no repository of this node has libnl3-devel and valgrind-devel; {BUILT_WITH}. "
                "Needed by habanalabs-rdma-core."
            ),
        ),
        (
            KERNEL,
            (
                "no repository of this node has kernel-core-uname-r = 5.14.0-70.30.1.el9_0.aarch64 and "
                "kernel-modules-uname-r = 5.14.0-70.30.1.el9_0.aarch64; enable the repositories of this minor release "
                "(of RHEL those with EUS), or update the kernel first. Needed by kernel."
            ),
        ),
        (
            KMOD,
            (
                "no repository of this node has kernel(module_layout) = 0x5d330546, kernel(symbol0) = 0x5d330546, "
                "kernel(symbol1) = 0x5d330546, kernel(symbol2) = 0x5d330546, kernel(symbol3) = 0x5d330546, "
                "kernel(symbol4) = 0x5d330546 and 24 more; enable the repositories of this minor release (of RHEL "
                "those with EUS), or update the kernel first. Needed by kmod-mvsas."
            ),
        ),
        (
            ROOT,
            (
                f"no repository of this node has web-assets-filesystem and libsz.so.2()(64bit); {ANYWHERE}. "
                "Needed by js-jsroot and slurm."
            ),
        ),
        (
            MIXED,
            (
                "no repository of this node has dkms >= 2.8; on RHEL 9 dkms is in EPEL, which wants CRB: enable both "
                "or their mirrors. Needed by habanalabs. No repository of this node has habanalabs-rdma-core = 1.24.1; "
                "that is the repository's: synchronize the mirror, or correct release. Needed by habanalabs-thunk."
            ),
        ),
        (BOTH, f"no repository of this node has libnl3-devel; {BUILT_WITH}. Needed by a."),
        (ASKED, "no repository of this node has moreutils and unzip."),
        (
            MODULE,
            "no repository of this node has perl(Y). Perl-Y-1-1.el9.noarch is there, but hidden by a module stream.",
        ),
    ],
)
def test_the_ends_of_the_chains_are_told_with_their_repository(text: str, sentence: str) -> None:
    assert explain(CommandResult(1, "", text)) == sentence


def test_an_end_far_below_is_found() -> None:
    chain = "".join(
        f"  - package a{number}-1-1.el9.noarch requires b{number}, but none of the providers can be installed\n"
        for number in range(60)
    )
    text = f"Error:\n Problem: conflicting requests\n{chain}  - nothing provides dkms needed by a60-1-1.el9.noarch\n"
    assert explain(CommandResult(1, "", text)).startswith("no repository of this node has dkms; on RHEL 9 dkms is in")
