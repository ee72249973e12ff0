# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated container runtime, and what hl-smi sees in a container: the cards that were passed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox.simulator.container_runtime import setting, with_cards
from sandbox.simulator.containers import PID_NAMESPACE, pid_namespace, with_devices
from sandbox.simulator.kernel_tree import render
from sandbox.simulator.readings import readings

from . import simulated


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """The simulated /sys and /dev of a loaded node; here a device is any file."""
    for path, content in render(simulated.loaded(), simulated.MACHINE).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    return tmp_path


def bundle(*environment: str) -> dict[str, Any]:
    """An OCI specification as engines write it."""
    return {
        "process": {"env": ["PATH=/usr/bin", *environment]},
        "linux": {"resources": {"devices": [{"allow": False}]}},
    }


def devices(specification: dict[str, Any]) -> list[str]:
    return [device["path"] for device in specification["linux"].get("devices", [])]


def test_a_container_that_asks_for_nothing_is_left_alone(kernel: Path) -> None:
    assert with_cards(bundle(), "", kernel) == bundle()
    assert len(devices(with_cards(bundle(), "visible_devices_all_as_default = true", kernel))) == 24


def test_the_cards_that_are_asked_for_come_with_their_modules(kernel: Path) -> None:
    specification = with_cards(bundle("HABANA_VISIBLE_DEVICES=2,5"), "", kernel)
    assert devices(specification) == [
        "/dev/accel/accel2", "/dev/accel/accel_controlD2", "/dev/accel/accel5", "/dev/accel/accel_controlD5",
        "/dev/infiniband/uverbs2", "/dev/infiniband/uverbs5",
    ]  # fmt: skip
    (modules,) = [word for word in specification["process"]["env"] if word.startswith("HABANA_VISIBLE_MODULES=")]
    assert len(modules.split(",")) == 2
    assert {"allow": True, "access": "rwm", "type": "c", "major": 1, "minor": 3} in specification["linux"]["resources"][
        "devices"
    ]


@pytest.mark.parametrize(
    ("settings", "cards", "verbs"),
    [("mount_uverbs = false", 16, 0), ("mount_accelerators = false", 0, 8), ("#mount_uverbs = false", 16, 8)],
)
def test_settings_leave_devices_out(kernel: Path, settings: str, cards: int, verbs: int) -> None:
    paths = devices(with_cards(bundle("HABANA_VISIBLE_DEVICES=all"), settings, kernel))
    assert (sum("accel" in path for path in paths), sum("uverbs" in path for path in paths)) == (cards, verbs)


def test_no_card_is_told_to_the_container(kernel: Path) -> None:
    specification = with_cards(bundle("HABANA_VISIBLE_DEVICES=9"), "", kernel)
    assert 'HABANA_RUNTIME_ERROR="no accelerators found"' in specification["process"]["env"]
    assert devices(specification) == []


def test_a_setting_is_read_without_its_quotes() -> None:
    assert setting('[habana-container-runtime]\n  mode = "cdi"  # ours\n', "mode", "oci") == "cdi"
    assert setting("# mode = 'legacy'\n", "mode", "oci") == "oci"


def test_a_program_of_the_node_sees_all_cards_and_one_in_a_container_those_it_was_given(tmp_path: Path) -> None:
    found = readings(simulated.loaded())
    given = tmp_path / "dev"
    given.mkdir()
    (given / "accel_controlD3").touch()
    assert with_devices(found, tmp_path, given) == found
    booted = tmp_path / PID_NAMESPACE
    booted.parent.mkdir()
    booted.write_text(f"{pid_namespace()}\n", encoding="utf-8")
    assert with_devices(found, tmp_path, given) == found
    booted.write_text("pid:[1]\n", encoding="utf-8")
    assert [reading.index for reading in with_devices(found, tmp_path, given)] == [3]
