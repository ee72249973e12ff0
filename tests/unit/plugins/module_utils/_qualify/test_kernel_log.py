# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whose a line of the kernel's log is: by its device where journald knows one, else by how it begins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.kernel_log import errors_since, found_in
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel

# The prefix of instructlab's documentation for Gaudi; the texts of HabanaAI's Setup_and_Install#1.
ACCEL = """\
accel accel0: Successfully added device 0000:21:00.0 to habanalabs driver
accel accel2: Failed to communicate with Device CPU (CPU-CP timeout)
accel accel2: Fatal error during hard-reset
accel accel2: Device reset failed
"""


class Journal:
    """A journalctl that has these entries, and what it was asked."""

    def __init__(self, *entries: dict[str, Any] | str) -> None:
        self.text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in entries)
        self.asked: list[str] = []

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        self.asked = list(argv)
        return CommandResult(0, self.text, "")


def kernel(message: Any, **fields: Any) -> dict[str, Any]:
    return {"MESSAGE": message, "SYSLOG_IDENTIFIER": "kernel", **fields}


def other_accel(root: Path, number: int = 8) -> str:
    """An accel device of another maker, as a server's processor may have one."""
    pci = root / "sys/bus/pci/devices/0000:00:0b.0"
    pci.mkdir(parents=True)
    (pci / "vendor").write_text("0x8086\n")
    accel = root / f"sys/class/accel/accel{number}"
    accel.mkdir(parents=True)
    (accel / "device").symlink_to(pci)
    return accel.name


def test_lines_of_the_accel_class_are_the_driver_s() -> None:
    assert found_in(ACCEL) == ACCEL.splitlines()


@pytest.mark.parametrize(
    "line",
    [
        # HabanaAI's Setup_and_Install#1.
        "habanalabs hl2: failed to initialize CPU H/W queues -5",
        "habanalabs 0000:1a:00.0: Failed to initialize hl2. Device is NOT usable !",
        # With a time, as dmesg has it.
        "[   72.993087] accel accel2: Failed to communicate with Device CPU (CPU-CP timeout)",
        "hl 3: device timed out",
        # containers/ai-lab-recipes#483.
        "habanalabs_ib: Unknown symbol ib_register_device (err -2)",
        # instructlab's documentation: the name of the verbs device.
        "habanalabs 0000:21:00.0 hbl_0: port 1 error",
        "infiniband hlib_3: Couldn't open port 1",
        "pcieport 0000:16:01.0: AER: Uncorrected (Fatal) error received: 0000:19:00.0",
        "mce: [Hardware Error]: Machine check events logged",
        "EDAC MC0: 1 UE memory read error on CPU_SrcID#0",
    ],
)
def test_a_line_about_the_hardware_is_told(line: str) -> None:
    assert found_in(f"usb 1-1: reset\n{line}\n{line}\n") == [line]


@pytest.mark.parametrize(
    "line",
    [
        # Dasharo/dasharo-issues#1492, and the same in karypid/YogaPro-16IMH9#1.
        "intel_vpu 0000:00:0b.0: [drm] *ERROR* ivpu_fw_request(): Failed to request firmware: -2",
        "amdxdna 0000:c5:00.1: [drm] *ERROR* aie2_smu_exec: smu cmd 4 failed, 0xff",
        "qaic 0000:81:00.0: Failed to get accel0 ready",
        "usb 1-1: device descriptor read/64, error -71",
        "amdgpu 0000:c5:00.0: MES failed to respond to msg=REMOVE_QUEUE",
        "xhl7: nothing of ours",
    ],
)
def test_a_line_about_anything_else_is_not(line: str) -> None:
    assert found_in(line) == []


def test_an_accel_device_of_another_maker_is_not_ours(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    other = other_accel(root)
    journal = Journal(
        kernel(f"accel {other}: job timed out"),
        kernel(f"accel {other}: job timed out", _KERNEL_SUBSYSTEM="accel", _UDEV_SYSNAME=other),
        kernel("accel accel2: Device reset failed"),
    )
    assert errors_since(1.0, journal, str(root)) == ["accel accel2: Device reset failed"]
    assert found_in("accel accel8: job timed out", [other]) == []


def test_a_card_that_is_gone_from_the_bus_is_ours_all_the_same(tmp_path: Path) -> None:
    root = write_kernel(tmp_path, ADDRESSES[:7])
    assert errors_since(1.0, Journal(kernel("accel accel7: Device reset failed")), str(root)) != []


def test_the_device_counts_whatever_the_text_is(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    journal = Journal(
        kernel("Fatal error during hard-reset", _KERNEL_SUBSYSTEM="accel", _UDEV_SYSNAME="accel2"),
        kernel("can't change power state", _KERNEL_SUBSYSTEM="pci", _KERNEL_DEVICE=f"+pci:{ADDRESSES[1].upper()}"),
        kernel("can't change power state of a disk", _KERNEL_SUBSYSTEM="pci", _KERNEL_DEVICE="+pci:0000:01:00.0"),
        kernel("event queue full", _KERNEL_SUBSYSTEM="habanalabs"),
    )
    said = ["Fatal error during hard-reset", "can't change power state", "event queue full"]
    assert errors_since(1.0, journal, str(root)) == said


def test_what_a_program_writes_into_the_kernel_s_log_is_none_of_its_lines(tmp_path: Path) -> None:
    entry = {"MESSAGE": "habanalabs.service: failed", "SYSLOG_IDENTIFIER": "systemd"}
    assert errors_since(1.0, Journal(entry), str(tmp_path)) == []


def test_messages_that_are_no_text_and_lines_that_are_no_json_are_read(tmp_path: Path) -> None:
    journal = Journal(
        kernel(list(b"accel accel1: \xff failed")),
        kernel(None),
        kernel({"a": 1}),
        kernel(["habanalabs hl0: first", "second"]),
        "{not json, habanalabs hl1: error",
        "habanalabs hl0: error interrupt",
    )
    assert errors_since(1.0, journal, str(tmp_path)) == [
        "accel accel1: \ufffd failed",
        "habanalabs hl0: first",
        "{not json, habanalabs hl1: error",
        "habanalabs hl0: error interrupt",
    ]


def test_journald_is_asked_for_the_fields_of_the_device(tmp_path: Path) -> None:
    journal = Journal()
    assert errors_since(1.5, journal, str(tmp_path)) == []
    words = " ".join(journal.asked)
    assert "--dmesg --priority err --since @1.500" in words and "--output json --output-fields MESSAGE," in words
    assert all(name in words for name in ("_KERNEL_DEVICE", "_KERNEL_SUBSYSTEM", "SYSLOG_IDENTIFIER"))
