# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.key import probe_fields, probe_key
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel

WORKLOAD = Workload("my_project.probe:step", {"width": 2})


@pytest.fixture
def node(tmp_path):
    """A node with Gaudi 3 cards and a venv; returns the fields of a workload there."""
    write_kernel(tmp_path / "kernel", ADDRESSES)
    site = tmp_path / "venv/lib/python3.11/site-packages"
    for name in ("torch-2.11.0", "habana_torch_plugin-1.24.1.482", "gaudi3_scale-0.1.0", "my_project-3.0", "rich-14.0"):
        (site / f"{name}.dist-info").mkdir(parents=True)

    def fields(workload=WORKLOAD, environment=None):
        return probe_fields(workload, environment or {"A": "1"}, str(tmp_path / "venv"), str(tmp_path / "kernel"))

    return fields


def test_the_fields_name_the_cards_the_versions_and_the_flags(node):
    fields = node()
    assert fields["generation"] == "gaudi3"
    assert fields["HBM"] == "131072 MiB"
    assert fields["cards"] == str(len(ADDRESSES))
    assert fields["package torch"] == "2.11.0"
    assert fields["package habana-torch-plugin"] == "1.24.1.482"
    assert fields["package my-project"] == "3.0"
    assert fields["variable A"] == "1"
    assert fields["option width"] == "2"
    assert not any("rich" in name for name in fields)


def test_the_fields_are_shown_and_so_have_no_secret(node):
    fields = node(environment={"WANDB_API_KEY": "planted", "A": "1"})
    assert "variable WANDB_API_KEY" in fields and "planted" not in str(fields)


@pytest.mark.parametrize(
    "changes",
    [
        {"function": "my_project.other:step"},
        {"options": {"width": 3}},
        {"steps": 4},
        {"warm_up": 2},
        {"device": "cpu"},
        {"memory_limit": 9},
        {"processes": 8},
    ],
)
def test_what_a_trial_depends_on_makes_another_key(node, changes):
    assert probe_key(node(replace(WORKLOAD, **changes))) != probe_key(node())


def test_a_flag_a_version_and_a_card_make_another_key(node, tmp_path):
    keys = {
        probe_key(node()),
        probe_key(node(environment={"A": "2"})),
        probe_key(node(environment={"A": "1", "B": ""})),
    }
    site = tmp_path / "venv/lib/python3.11/site-packages"
    (site / "torch-2.11.0.dist-info").rename(site / "torch-2.12.0.dist-info")
    keys.add(probe_key(node()))
    card = next((tmp_path / "kernel/sys/bus/pci/devices").iterdir())
    (card / "device").write_text("0x1020\n")
    keys.add(probe_key(node()))
    assert len(keys) == 5


def test_equal_nodes_have_the_same_key_and_a_bare_one_has_one_too(node, tmp_path):
    assert probe_key(node()) == probe_key(dict(reversed(node().items())))
    bare = probe_fields(Workload("m:f"), {}, "/nowhere", str(tmp_path / "nowhere"))
    assert "package torch" not in bare
    assert len(probe_key(bare)) == 16


def test_other_cards_are_told_by_their_driver(tmp_path):
    directory = tmp_path / "proc/driver/nvidia"
    (directory / "gpus/0000:01:00.0").mkdir(parents=True)
    (directory / "gpus/0000:01:00.0/information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 42\n")
    (directory / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 1\n")
    fields = probe_fields(Workload("m:f", device="cuda"), {}, "/nowhere", str(tmp_path))
    assert (fields["board"], fields["cards"], fields["driver"]) == ("NVIDIA H100 80GB HBM3", "1", "570.86.15")
