# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a site's Slurm is told of its nodes, and what of the site's own is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.node import (
    SlurmNode,
    node_from,
    nodes_from,
    read_node,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.state import Options, apply
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

PROCESSORS = {"CPUs": 160, "Boards": 1, "SocketsPerBoard": 2, "CoresPerSocket": 40, "ThreadsPerCore": 2}
COUNTS = " ".join(f"{name}={number}" for name, number in PROCESSORS.items())
DESCRIBED = f"NodeName=gaudi07 {COUNTS} RealMemory=1031699\nUpTime=3"
FILES = tuple(f"/dev/accel/accel{number}" for number in range(8))
BOUND = SlurmNode("gaudi07", {"CPUs": 160}, 8, FILES, 996_000)
COUNTED = SlurmNode("gaudi08", {"CPUs": 160}, 7, (), 996_000)
INCLUDED = "ClusterName=c\nInclude {}/slurm/gaudi3_scale.conf\n"


def no_unit(_argv: Sequence[str], **_more: Any) -> CommandResult:
    return CommandResult(0, "ExecStart=\nEnvironment=\n", "")


class Site:
    """A host's /etc with a Slurm; ``add`` are further lines of slurm.conf."""

    def __init__(self, root: Path, add: str = "", *, includes: bool = True) -> None:
        self.etc, self.slurm = root, root / "slurm"
        self.slurm.mkdir()
        (self.slurm / "slurm.conf").write_text((INCLUDED.format(root) if includes else "ClusterName=c\n") + add)
        (self.slurm / "gres.conf").write_text("include gaudi3_scale_gres.conf\n" if includes else "")

    def apply(self, nodes: Sequence[SlurmNode] = (BOUND,), check_mode: bool = False, **more: Any) -> dict[str, Any]:
        about: dict[str, Any] = {"node": "gaudi07", "release": "1.24.1", "cards": 8, **more}
        return apply(Options(nodes, **about), no_unit, check_mode, str(self.etc))

    def text(self, name: str) -> str:
        return (self.etc / name).read_text()


def test_a_node_is_described_with_what_slurm_counts_and_the_memory_beside_the_huge_pages(tmp_path: Path) -> None:
    facts = gather(HlSmi(), str(write_kernel(tmp_path)))
    node = read_node(facts, lambda _argv, **_more: CommandResult(0, DESCRIBED, ""), str(tmp_path / "none"))
    assert node is not None
    assert (node.name, node.cards, node.devices) == ("gaudi07", 8, ())
    assert node.processors == PROCESSORS
    # 17,601 huge pages of 2 MiB are no job's.
    assert node.memory_mib == 1_056_459_720 // 1024 - 17_601 * 2
    assert node_from(node.as_result()) == node


def test_a_host_without_slurmd_is_none(tmp_path: Path) -> None:
    facts = gather(HlSmi(), str(write_kernel(tmp_path)))
    assert read_node(facts, lambda _argv, **_more: CommandResult(127, "", "not installed")) is None
    with pytest.raises(GaudiError, match="does not describe this node"):
        read_node(facts, lambda _argv, **_more: CommandResult(1, "", "slurmd: fatal"))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "a b"},
        {"name": "DEFAULT"},
        {"name": "default"},
        {"name": "ALL"},
        {"name": "n[1-3]"},
        {"name": "n1,n2"},
        {"cards": 100_000_000},
        {"devices": ["/dev/accel/accel0"] * 8},
        {"processors": 5},
        {"processors": [5]},
        {"name": "a\nStateSaveLocation=/"},
        {"cards": "8"},
        {"cards": True},
        {"cards": -1},
        {"devices": ["/dev/sda"]},
        {"devices": ["/dev/accel/accel0\nx"]},
        {"processors": {"Feature": 1}},
        {"processors": {"CPUs": "1 Weight=9"}},
        {"memory_mib": None},
    ],
)
def test_what_a_node_says_becomes_no_line_of_its_own(changes: dict[str, Any]) -> None:
    with pytest.raises(GaudiError, match="which is not a node from slurm_node_info"):
        node_from({**BOUND.as_result(), **changes})


def said(name: str, host: str) -> dict[str, Any]:
    return {**BOUND.as_result(), "name": name, "host": host}


@pytest.mark.parametrize(
    ("nodes", "names", "sentence"),
    [
        (
            [said("gaudi08", "gaudi07")],
            {},
            "nodes has 'gaudi08' by gaudi07, which is neither its inventory name",
        ),
        (
            [said("gaudi08", "gaudi07.example.org")],
            {},
            "set gaudi_slurm_node of gaudi07.example.org to it",
        ),
        ([said("gaudi07", "gaudi07")], {"gaudi07": "n7"}, "nodes has 'gaudi07' by gaudi07, which is neither"),
        ([said("10", "10.0.0.7")], {}, "nodes has '10' by 10.0.0.7, which is neither"),
        ([said("a", "a.x"), said("a", "a.y")], {}, "nodes has 'a' twice, by a.x and a.y; correct the name of one"),
        ([said("a", "a"), said("A", "A")], {}, "nodes has 'A' twice, by a and A; correct the name of one"),
        (
            [BOUND.as_result(), BOUND.as_result()],
            {},
            "nodes has 'gaudi07' twice, by two nodes; correct the name of one",
        ),
    ],
)
def test_a_node_tells_its_own_line_alone(nodes: list[dict[str, Any]], names: dict[str, str], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        nodes_from(nodes, names)


def test_a_node_is_taken_by_its_name_without_the_domain_and_by_the_one_that_it_is_given() -> None:
    nodes = [said("gaudi07", "gaudi07.example.org"), said("queue1-8", "ip-10-0-0-8")]
    assert [node.name for node in nodes_from(nodes, {"ip-10-0-0-8": "queue1-8"})] == ["gaudi07", "queue1-8"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"interval": 0}, "interval is 0; give a number from 1 to 65535"),
        ({"interval": 70000}, "interval is 70000; give a number from 1 to 65535"),
        ({"max_drained_fraction": 7.0}, "max_drained_fraction is 7; give a number from 0 to 1"),
        ({"task_prolog": "etc/prolog"}, "task_prolog is 'etc/prolog'; give the whole path"),
        ({"task_prolog": "/etc/prolog#1"}, "task_prolog is '/etc/prolog#1'; give the whole path"),
        ({"task_prolog": "/etc/pro log"}, "task_prolog is .* give the whole path"),
        ({"task_prolog": "/etc/../tmp/x"}, "task_prolog is .* give the whole path"),
        ({"configuration": "slurm.conf"}, "configuration is 'slurm.conf'; give the whole path"),
        ({"programs": "bin"}, "programs is 'bin'; give the whole path"),
        ({"venv": "/opt/a b"}, "venv is '/opt/a b'; give the whole path"),
        ({"release": "1.24.1; id"}, "release is '1.24.1; id'; give a release, such as 1.24.1"),
        ({"node": "DEFAULT"}, "node is 'DEFAULT', which is not a node name in Slurm"),
    ],
)
def test_what_slurm_would_read_otherwise_is_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    site = Site(tmp_path)
    with pytest.raises(GaudiError, match=sentence):
        site.apply(**changed)
    assert not (site.slurm / "gaudi3_scale.conf").exists()


def test_the_fragments_say_each_node_once_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    foreseen = site.apply((COUNTED, BOUND), check_mode=True)
    assert foreseen["changed"] and foreseen["reconfigure"] and not (site.slurm / "gaudi3_scale.conf").exists()
    assert site.apply((COUNTED, BOUND)) == foreseen
    assert site.text("slurm/gaudi3_scale.conf").splitlines()[1:] == [
        "GresTypes=hpu",
        f"HealthCheckProgram={tmp_path}/gaudi3_scale/slurm_health_check",
        "HealthCheckInterval=300",
        "HealthCheckNodeState=ANY,CYCLE",
        "NodeName=gaudi07 CPUs=160 RealMemory=996000 Gres=hpu:8 State=UNKNOWN",
        "NodeName=gaudi08 CPUs=160 RealMemory=996000 Gres=hpu:7 State=UNKNOWN",
    ]
    assert site.text("slurm/gaudi3_scale_gres.conf").splitlines()[1:] == [
        f"NodeName=gaudi07 Name=hpu File={','.join(FILES)}",
        "NodeName=gaudi08 Name=hpu Count=7",
    ]
    script = site.etc / "gaudi3_scale/slurm_health_check"
    assert script.stat().st_mode & 0o777 == 0o755
    assert "systemd-run --quiet --wait --pipe --collect --property=NoNewPrivileges=yes" in script.read_text()
    assert " timeout 50 /opt/gaudi3_scale/venv/bin/python -I " in script.read_text()
    assert "-I -m gaudi3_scale.verify --release 1.24.1" in script.read_text()
    assert "check_cmd_status -t 55 -r 0" in site.text("gaudi3_scale/nhc.conf")
    again = site.apply((COUNTED, BOUND))
    assert not again["changed"] and not again["reconfigure"]
    # Another option of the check alone is no reason to have Slurm read anything.
    later = site.apply((COUNTED, BOUND), resume=True)
    assert later["changed"] and not later["reconfigure"]


def test_a_controller_without_cards_has_the_configuration_and_no_check(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.apply(node="")
    assert "NodeName=gaudi07" in site.text("slurm/gaudi3_scale.conf")
    assert not (tmp_path / "gaudi3_scale").exists()


def test_a_site_with_a_check_of_its_own_has_none_of_ours(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.apply(health_check=False)
    assert "HealthCheck" not in site.text("slurm/gaudi3_scale.conf")
    assert not (tmp_path / "gaudi3_scale").exists()


def test_a_node_that_is_not_to_drain_itself_only_logs(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.apply()
    assert " --drain" in site.text("gaudi3_scale/slurm_health_check")
    site.apply(drain=False)
    assert " --drain" not in site.text("gaudi3_scale/slurm_health_check")


def test_a_configless_node_has_the_check_alone(tmp_path: Path) -> None:
    result = apply(Options((BOUND,), "gaudi07", "1.24.1", 8), no_unit, False, str(tmp_path))
    assert result["configless"] and not result["reconfigure"]
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["nhc.conf", "slurm_health_check"]
    with pytest.raises(GaudiError, match="There is no Slurm on this host"):
        apply(Options((BOUND,), "", "1.24.1", 8), no_unit, False, str(tmp_path))


@pytest.mark.parametrize(
    ("add", "sentence"),
    [
        (
            "NodeName=gaudi[01-64] CPUs=160\n",
            r"NodeName=gaudi\[01-64\] is set in .*slurm.conf line 3, and gaudi07 gets",
        ),
        ("nodename=gaudi06,gaudi07 CPUs=1\n", "NodeName=gaudi06,gaudi07 is set in"),
        (
            "HealthCheckProgram = /usr/sbin/nhc # ours\n",
            r"HealthCheckProgram=/usr/sbin/nhc is set in .* line 3; remove it there",
        ),
        ("GresTypes=gpu\n", "GresTypes=gpu is set in .* line 3; write GresTypes=gpu,hpu there"),
    ],
)
def test_what_the_site_says_otherwise_is_refused_with_its_line_and_nothing_is_written(
    add: str, sentence: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, add)
    with pytest.raises(GaudiError, match=sentence):
        site.apply()
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["gres.conf", "slurm.conf"]


def test_what_the_site_says_alike_is_left_out_of_ours(tmp_path: Path) -> None:
    site = Site(tmp_path, "GresTypes=gpu, hpu\nNodeName=login[1-3],other CPUs=4\n#NodeName=gaudi07\n")
    site.apply()
    assert "GresTypes" not in site.text("slurm/gaudi3_scale.conf")


def test_lines_of_included_files_are_the_site_s_too_and_a_circle_ends(tmp_path: Path) -> None:
    site = Site(tmp_path, "include nodes.conf\n")
    (site.slurm / "nodes.conf").write_text("NodeName=gaudi07 CPUs=1\ninclude slurm.conf\n")
    with pytest.raises(GaudiError, match=r"nodes\.conf line 1"):
        site.apply()


def test_a_missing_include_is_refused_with_the_line_to_add(tmp_path: Path) -> None:
    site = Site(tmp_path, includes=False)
    with pytest.raises(GaudiError, match=r"add the line `Include .*/slurm/gaudi3_scale.conf` to it"):
        site.apply()
