# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which driver stack a node has, and which may not be put beside it or in its place; the repository it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.install import (
    StackOptions,
    install_stack,
    plan_stack,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.repository import (
    OfedApt,
    OfedRepository,
    leftovers,
    planned,
    remove,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.stack import (
    check_candidates,
    check_stack,
    parse_policy,
    stacks,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import write
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import apt_repository
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_system import Package

DEBIAN = {"rdma-core": "44.0-2", "libibverbs1": "44.0-2"}
MOFED = {"mlnx-ofed-all": "24.10-3.2.5.0", "rdma-core": "2410mlnx54-1.2410325", "mlnx-ofed-kernel-dkms": "24.10"}
DOCA = {"doca-ofed": "3.0.0-058000", "mlnx-ofed-kernel-dkms": "25.04", "rdma-core": "2501mlnx56-1.2504061"}
SITE = "https://mirror.example.com/doca"


def packages(versions: Mapping[str, str], status: str = "installed") -> dict[str, Package]:
    return {name: Package(name, version, False, status) for name, version in versions.items()}


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ({}, {}),
        (DEBIAN, {"distribution": "libibverbs1 44.0-2"}),
        (MOFED, {"mofed": "mlnx-ofed-all 24.10-3.2.5.0"}),
        (DOCA, {"doca": "doca-ofed 3.0.0-058000"}),
        ({**DOCA, **MOFED}, {"doca": "doca-ofed 3.0.0-058000", "mofed": "mlnx-ofed-all 24.10-3.2.5.0"}),
        # The package of NVIDIA's repository is no stack yet.
        ({"doca-host": "3.0.0"}, {}),
        # Somebody took the vendor's libraries alone.
        ({"libibverbs1": "2410mlnx54-1"}, {"mofed": "libibverbs1 2410mlnx54-1"}),
    ],
)
def test_the_stack_of_a_node(there: Mapping[str, str], found: Mapping[str, str]) -> None:
    assert stacks(packages(there)) == found
    assert stacks(packages(there, "config-files")) == {}


@pytest.mark.parametrize(
    ("wanted", "there", "repository", "missing"),
    [
        ("distribution", {}, "", ["rdma-core"]),
        ("distribution", DEBIAN, "", []),
        ("doca", DOCA, "", []),
        ("doca", DEBIAN, SITE, ["doca-ofed"]),
        ("mofed", {}, SITE, ["mlnx-ofed-all"]),
        ("none", {**DOCA, **MOFED}, "", []),
    ],
)
def test_what_may_be(wanted: str, there: Mapping[str, str], repository: str, missing: Sequence[str]) -> None:
    check_stack(wanted, stacks(packages(there)), repository, missing)


@pytest.mark.parametrize(
    ("wanted", "there", "repository", "missing", "sentence"),
    [
        ("ofed", {}, "", [], "gaudi_fabric_ofed is 'ofed'; use distribution, doca, mofed, none."),
        ("distribution", {}, SITE, [], "gaudi_fabric_ofed_repository is given and gaudi_fabric_ofed is distribution"),
        (
            "distribution",
            MOFED,
            "",
            [],
            "(mlnx-ofed-all 24.10-3.2.5.0), which gaudi_fabric_ofed: distribution would",
        ),
        ("distribution", DOCA, "", [], "set gaudi_fabric_ofed to doca to keep it, or to none to leave it alone"),
        ("doca", MOFED, SITE, ["doca-ofed"], "This node has MLNX_OFED (mlnx-ofed-all 24.10-3.2.5.0)"),
        ("mofed", DOCA, SITE, ["mlnx-ofed-all"], "This node has DOCA-OFED (doca-ofed 3.0.0-058000)"),
        ("doca", {**DOCA, **MOFED}, "", [], "MLNX_OFED (mlnx-ofed-all 24.10-3.2.5.0) lies beside DOCA-OFED"),
        ("doca", {}, "", ["doca-ofed"], "doca-ofed is not on this node, and gaudi_fabric_ofed_repository is empty"),
    ],
)
def test_what_is_refused(
    wanted: str, there: Mapping[str, str], repository: str, missing: Sequence[str], sentence: str
) -> None:
    with pytest.raises(GaudiError) as refused:
        check_stack(wanted, stacks(packages(there)), repository, missing)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


POLICY = """\
rdma-core:
  Installed: (none)
  Candidate: 2410mlnx54-1.2410325
  Version table:
     2410mlnx54-1.2410325 500
librdmacm1:
  Installed: 44.0-2
  Candidate: 44.0-2
nothing:
  Installed: (none)
  Candidate: (none)
"""


def test_a_repository_of_the_vendors_is_seen_before_it_replaces_the_distribution() -> None:
    candidates = parse_policy(POLICY)
    assert candidates == {"rdma-core": "2410mlnx54-1.2410325", "librdmacm1": "44.0-2"}
    with pytest.raises(GaudiError, match="would install rdma-core 2410mlnx54"):
        check_candidates(candidates)
    check_candidates({"librdmacm1": "44.0-2"})


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=ubuntu\nID_LIKE=debian\n", encoding="utf-8")
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    return tmp_path


def options(**given: Any) -> OfedRepository:
    return OfedRepository(**{"url": SITE, "key_url": f"{SITE}/key.pub", **given})


def test_the_vendors_directory_is_an_exact_path_for_apt(debian: Path) -> None:
    text = planned(options(), "amd64", str(debian / "etc")).render()
    assert text.splitlines()[1:] == [
        "Types: deb",
        f"URIs: {SITE}",
        "Suites: ./",
        "Architectures: amd64",
        f"Signed-By: {debian}/etc/apt/keyrings/gaudi3_scale-ofed.asc",
    ]
    suite = planned(options(suite="jammy", components=["main"]), "amd64", str(debian / "etc")).render()
    assert "Suites: jammy\nComponents: main\n" in suite


def test_for_dnf_the_packages_are_signed(debian: Path) -> None:
    (debian / "etc/os-release").write_text("ID=rhel\n", encoding="utf-8")
    repository = planned(options(key_fingerprint="A" * 40), "", str(debian / "etc"))
    assert f"baseurl={SITE}\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=0\n" in repository.render()
    assert [key.fingerprint for key in repository.signing_keys()] == ["A" * 40]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"url": "mirror.example.com"}, "gaudi_fabric_ofed_repository must be a URL"),
        (
            {"url": "http://mirror.example.com/doca"},
            "gaudi_fabric_ofed_repository uses plain http to",
        ),
        ({"key_url": ""}, "gaudi_fabric_ofed_key_url is empty"),
        ({"key_fingerprint": "ABCD"}, "gaudi_fabric_ofed_key_fingerprint must be a whole fingerprint"),
        ({"components": ["main"]}, "gaudi_fabric_ofed_components is given and gaudi_fabric_ofed_suite is ./"),
        ({"suite": "jammy"}, "gaudi_fabric_ofed_components is empty"),
        ({"suite": "jammy\nTrusted: yes", "components": ["main"]}, "suite must have"),
    ],
)
def test_a_repository_that_cannot_be_meant(debian: Path, given: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError) as refused:
        planned(options(**given), "amd64", str(debian / "etc"))
    assert sentence in str(refused.value)


def test_apts_complaints_name_the_options_of_this_repository(debian: Path) -> None:
    repository = planned(options(), "amd64", str(debian / "etc"))
    assert isinstance(repository, OfedApt)
    said = apt_repository.explain(repository, ["W: Failed to fetch x  Could not resolve 'mirror.example.com'"])
    assert said.endswith("or set gaudi_fabric_ofed_repository to a mirror that it reaches.")


class Dpkg:
    """dpkg and apt of a node with some packages; ``calls`` are the installations."""

    def __init__(self, *names: str, policy: str = "") -> None:
        self.names, self.policy = set(names), policy
        self.calls: list[Sequence[str]] = []

    def __call__(self, argv: Sequence[str], **_: Any) -> CommandResult:
        if argv[0] == "dpkg-query":
            return CommandResult(0, "".join(f"{name}\t1\tinstall\tinstalled\n" for name in sorted(self.names)), "")
        if argv[0] == "apt-cache":
            return CommandResult(0, self.policy, "")
        if argv[0] == "apt-get" and "install" in argv:
            self.calls.append(argv)
            if "--download-only" not in argv:
                self.names |= {"rdma-core", "librdmacm1"} & set(argv)
        return CommandResult(0, "amd64\n" if argv[0] == "dpkg" else "", "")


def test_what_is_missing_is_installed_once(debian: Path) -> None:
    dpkg, etc = Dpkg("librdmacm1"), str(debian / "etc")
    wanted = StackOptions("distribution", ["rdma-core", "librdmacm1"])
    shown = install_stack(plan_stack(wanted, dpkg, etc, str(debian)), dpkg, True, etc)
    assert dpkg.calls == []
    done = install_stack(plan_stack(wanted, dpkg, etc, str(debian)), dpkg, False, etc)
    assert shown["diff"] == done["diff"] and done["diff"][0]["after"] == "rdma-core\n"
    assert all("librdmacm1" not in call for call in dpkg.calls) and len(dpkg.calls) == 2
    again = install_stack(plan_stack(wanted, dpkg, etc, str(debian)), dpkg, False, etc)
    assert again["diff"] == [] and len(dpkg.calls) == 2


def test_none_installs_nothing_and_takes_away_what_an_earlier_choice_left(debian: Path) -> None:
    dpkg, etc = Dpkg(), debian / "etc"
    sources = etc / "apt/sources.list.d/gaudi3_scale-ofed.sources"
    sources.parent.mkdir(parents=True)
    sources.write_text("Types: deb\n", encoding="utf-8")
    done = install_stack(
        plan_stack(StackOptions("none", ["rdma-core"]), dpkg, str(etc), str(debian)), dpkg, False, str(etc)
    )
    assert [entry["after"] for entry in done["diff"]] == [""] and dpkg.calls == [] and not sources.exists()


def test_the_sites_own_entry_of_the_drivers_is_taken_over_and_comes_back(debian: Path) -> None:
    etc = debian / "etc"
    theirs = etc / "apt/sources.list.d/zz-doca.list"
    theirs.parent.mkdir(parents=True)
    entry = "deb [trusted=yes] https://mirror.example.com/doca/ ./\n"
    theirs.write_text(entry, encoding="utf-8")
    repository = planned(options(url="https://mirror.example.com/doca"), "amd64", str(etc))
    (change,) = repository.others()
    write(change)
    assert theirs.read_text(encoding="utf-8") == f"# gaudi3_scale-ofed: {entry}"
    assert repository.others() == []
    remove(leftovers(str(etc)))
    assert theirs.read_text(encoding="utf-8") == entry


def test_a_node_whose_repository_would_replace_it_is_refused(debian: Path) -> None:
    dpkg = Dpkg(policy=POLICY)
    with pytest.raises(GaudiError, match="a repository of this node would install rdma-core"):
        plan_stack(StackOptions("distribution", ["rdma-core"]), dpkg, str(debian / "etc"), str(debian))
