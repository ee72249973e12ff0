# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""slurm.conf as Slurm reads it. Continuations, comments, escapes and includes were compared with slurmctld 22.05.8."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.configuration import (
    Configuration,
    read_configuration,
)

# A site's template, as it stands.
CONTINUED = """\
GresTypes=gpu,\\
hpu
NodeName=DEFAULT \\
 TmpDisk=4096 \\
 State=UNKNOWN
NodeName=gaudi001,gaudi002,\\
gaudi003 CPUs=152 \\
 Gres=hpu:8
"""


def read(tmp_path: Path, text: str) -> Configuration:
    (tmp_path / "slurm.conf").write_text(text)
    return read_configuration(str(tmp_path / "slurm.conf"), str(tmp_path / "gaudi3_scale.conf"))


def test_lines_that_go_on_are_one_and_stand_where_they_begin(tmp_path: Path) -> None:
    found = read(tmp_path, CONTINUED)
    assert [(line.value, line.number) for line in found.named("GresTypes")] == [("gpu,hpu", 1)]
    (entry,) = found.nodes()
    assert entry.names == ("gaudi001", "gaudi002", "gaudi003")
    assert entry.line.number == 6
    assert entry.options == {"tmpdisk": "4096", "state": "UNKNOWN", "cpus": "152", "gres": "hpu:8"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("nodename = a1 cpus=4\n", ["a1"]),
        ('NodeName="q[1-2]" CPUs=4 Reason="a b = c"\n', ["q1", "q2"]),
        ("NodeName=a1 CPUs=2 # NodeName=a2\n#NodeName=a3\n", ["a1"]),
        # A comment is not continued, and what is behind a backslash that ends no line is.
        ("# a comment that ends in \\\nNodeName=a1\n", ["a1"]),
        ("NodeName=esc\\#hash CPUs=2 # x\n", ["esc#hash"]),
        ("NodeName=a1,\\  \na2 CPUs=2\n", ["a1", "a2"]),
        ("NodeName=a1\\\\\nNodeName=a2\n", ["a1\\", "a2"]),
        ("NodeName=n[1-2]r[01-02]-ib CPUs=2\n", ["n1r01-ib", "n1r02-ib", "n2r01-ib", "n2r02-ib"]),
        ("NodeName=a1 \\", ["a1"]),
        ("ClusterName=c NodeName\n\n  \n", []),
    ],
)
def test_names_of_nodes_are_read_as_slurm_reads_them(text: str, names: list[str], tmp_path: Path) -> None:
    assert [name for entry in read(tmp_path, text).nodes() for name in entry.names] == names


def test_defaults_count_from_where_they_stand_and_a_line_s_own_win(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "NodeName=a CPUs=1\nnodename=default Gres=gpu:hl225:8 CPUs=2\nNodeName=b\nNodeName=DEFAULT CPUs=3\n"
        "NodeName=c\nNodeName=d CPUs=4\n",
    )
    assert [(entry.names[0], entry.options.get("cpus"), entry.options.get("gres")) for entry in found.nodes()] == [
        ("a", "1", None),
        ("b", "2", "gpu:hl225:8"),
        ("c", "3", "gpu:hl225:8"),
        ("d", "4", "gpu:hl225:8"),
    ]


def test_several_settings_of_one_line_are_each_one(tmp_path: Path) -> None:
    found = read(tmp_path, 'GresTypes=gpu HealthCheckProgram="/usr/sbin/nhc -x"\nNodeName=a HealthCheckProgram=no\n')
    assert [line.value for line in found.named("healthcheckprogram")] == ["/usr/sbin/nhc -x"]


def test_an_included_file_is_beside_the_one_that_includes_it_and_may_have_the_cluster_s_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/nodes.conf").write_text("NodeName=a1\ninclude more_blue.conf\n")
    (tmp_path / "deep/more_blue.conf").write_text("NodeName=b1\n")
    (tmp_path / "more_blue.conf").write_text("NodeName=wrong\n")
    found = read(tmp_path, "ClusterName=blue\nINCLUDE deep/nodes.conf\nInclude more_%c.conf.absent\n")
    assert [entry.names for entry in found.nodes()] == [("a1",), ("b1",)]
    assert found.includes[-1] == str(tmp_path / "more_blue.conf.absent")


def test_our_file_is_known_by_whichever_name_its_directory_has(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "etc").symlink_to("real")
    (tmp_path / "real/slurm.conf").write_text(f"Include {tmp_path}/etc/gaudi3_scale.conf\n")
    ours = str(tmp_path / "real/gaudi3_scale.conf")
    found = read_configuration(str(tmp_path / "real/slurm.conf"), ours)
    assert found.takes(ours) and not found.takes(str(tmp_path / "gaudi3_scale.conf"))


def test_names_that_cannot_be_read_are_refused_with_file_and_line(tmp_path: Path) -> None:
    found = read(tmp_path, "ClusterName=c\nNodeName=a[1- CPUs=2\n")
    with pytest.raises(GaudiError, match=r"NodeName=a\[1- in .*slurm.conf line 2: .* cannot be read"):
        found.nodes()
