# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``storage.yml`` and ``measure_storage.yml`` on two nodes with real disks, whose rates the kernel limits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import ROOT, SANDBOX, hosts, run

PLACE = "/mnt/molecule_disk"
# Bytes a second of each node's disk.
READ, WRITE = {"node1": 200_000_000, "node2": 60_000_000}, {"node1": 80_000_000, "node2": 20_000_000}
# Nothing else of the collection has to be there.
USER = "nobody"
QUICK = {"gaudi_storage_user": USER, "gaudi_storage_files": 2, "gaudi_storage_size": "64M", "gaudi_storage_seconds": 6}


def disk(node: str, *arguments: str) -> str:
    """The device of a node's disk."""
    command = [sys.executable, "-m", "sandbox", "disk", node, *arguments, "--name", SANDBOX]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module")
def mounted(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Both nodes with a disk that is mounted, node2's slow; the variables of the mount."""
    directory = tmp_path_factory.mktemp("runner")
    devices = {node: disk(node, f"--read-rate={READ[node]}", f"--write-rate={WRITE[node]}") for node in nodes}
    inventory = directory / "disks.json"
    lines = {node: {"disk": device} for node, device in devices.items()}
    inventory.write_text(json.dumps({"all": {"hosts": lines}}))
    mount = {"path": PLACE, "source": "{{ disk }}", "type": "ext4", "free": "1G"}
    for check_mode, changed in ((True, {*devices}), (False, {*devices}), (False, set())):
        done = run(
            directory,
            "storage",
            inventory=[str(inventory)],
            arguments="--check --diff" if check_mode else "",
            gaudi_storage_mounts=[mount],
        )
        assert done.status == "successful", done.stdout.read()[-4000:]
        assert set(done.stats["changed"]) == changed
    for host in nodes.values():
        host.check_output(f"install -d -o {USER} {PLACE}/job")
    yield {"inventory": [str(inventory)], "directory": directory}
    done = run(
        directory, "storage", inventory=[str(inventory)], gaudi_storage_mounts=[{"path": PLACE, "state": "absent"}]
    )
    assert done.status == "successful", done.stdout.read()[-4000:]
    for name, host in nodes.items():
        assert not host.run(f"mountpoint -q {PLACE}").succeeded
        assert not host.file("/etc/systemd/system/mnt-molecule_disk.mount").exists
        disk(name, "--remove")


def measured(mounted: dict[str, Any], **variables: object) -> tuple[str, dict[str, Any], str]:
    """Status, the report's data, and what was printed."""
    target = Path(mounted["directory"], "reports")
    given: dict[str, Any] = {**QUICK, "gaudi_storage_directory": f"{PLACE}/job", "gaudi_report_target": str(target)}
    done = run(mounted["directory"], "measure_storage", **{**given, **variables})
    said = done.stdout.read()
    document = json.loads((target / "measure_storage.json").read_text())
    return done.status, document, said


def test_a_mount_is_there_after_a_boot(mounted: dict[str, Any], nodes: dict[str, Host]) -> None:
    assert mounted["inventory"]
    assert nodes["node2"].mount_point(PLACE).filesystem == "ext4"
    assert "noatime" in nodes["node2"].mount_point(PLACE).options
    assert nodes["node2"].run("systemctl is-enabled mnt-molecule_disk.mount").stdout.strip() == "enabled"


def test_what_is_measured_is_what_the_disk_gives_and_nothing_is_left(
    mounted: dict[str, Any], nodes: dict[str, Host]
) -> None:
    # 100 MB/s take 4.8 s for 480 MB; 260 MB/s are 65 million tokens of 4 bytes.
    needs = {"gaudi_storage_parameters": 4e7, "gaudi_storage_checkpoint_interval": 10}
    status, document, said = measured(mounted, gaudi_storage_tokens_per_second=1e8, **needs)
    assert status == "failed"
    for phase, rates in (("write", WRITE), ("read", READ), ("random_read", READ)):
        for node, rate in rates.items():
            # What is under way at the end counts and takes no time: 8 MiB of 6 s (fio.py).
            assert document["data"]["rates"][phase][node]["bytes_per_s"] == pytest.approx(rate, rel=0.12), (phase, node)
    assert document["exit_code"] == 1
    assert "100,000,000 tokens/s of 4 bytes per token are needed" in said and "cards would wait" in said
    assert "a checkpoint of 40,000,000 parameters (0.48 GB) is written in" in said and "is due every 10 s" in said
    for host in nodes.values():
        assert host.check_output(f"ls -A {PLACE}/job") == ""


@pytest.mark.long
def test_a_node_that_cannot_measure_is_named_and_the_other_one_is_measured(
    mounted: dict[str, Any], nodes: dict[str, Host]
) -> None:
    nodes["node2"].check_output(f"chown root {PLACE}/job && chmod 700 {PLACE}/job")
    try:
        status, document, said = measured(mounted)
    finally:
        nodes["node2"].check_output(f"chown {USER} {PLACE}/job && chmod 755 {PLACE}/job")
    assert status == "failed"
    assert [row.get("verdict") for row in document["rows"]] == ["ok", "inconclusive", None]
    assert document["exit_code"] == 2
    assert "could not be measured: write in /mnt/molecule_disk/job as nobody: fio: " in said
    assert "Permission denied" in said
    assert set(document["data"]["rates"]["read"]) == {"node1"}


def test_a_place_in_use_stays_mounted_and_the_user_is_told(mounted: dict[str, Any], nodes: dict[str, Host]) -> None:
    nodes["node2"].check_output(f"systemd-run --unit=molecule-holder --working-directory={PLACE}/job sleep 600")
    try:
        done = run(
            mounted["directory"],
            "storage",
            gaudi_storage_mounts=[{"path": PLACE, "state": "absent"}],
            gaudi_hosts="node2",
        )
        assert done.status == "failed"
        assert "target is busy); end what uses it first" in done.stdout.read()
        assert nodes["node2"].mount_point(PLACE).exists
    finally:
        nodes["node2"].check_output("systemctl stop molecule-holder")


def test_a_server_of_nothing_is_named_in_one_sentence(mounted: dict[str, Any], nodes: dict[str, Host]) -> None:
    mount = {"path": "/mnt/molecule_nfs", "source": "node1:/export"}
    done = run(mounted["directory"], "storage", gaudi_storage_mounts=[mount], gaudi_hosts="node2")
    assert done.status == "failed"
    assert "node1 does not answer at port 2049, for /mnt/molecule_nfs (Connection refused)" in done.stdout.read()
    assert not nodes["node2"].file("/etc/systemd/system/mnt-molecule_nfs.mount").exists
