# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the fabric: the external ports are up now and will be after a boot."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

UNIT = "gaudi3-scale-ports.service"
EXTERNAL_PORTS = 8 * 3
# The cards' ports are the network devices of this PCI vendor, below the simulated kernel's root.
PORT_STATES = (
    "for vendor in $(grep -lx 0x1da3 {kernel}/sys/class/net/*/device/vendor); do"
    " cat ${{vendor%device/*}}operstate; done"
)


def test_every_external_port_is_up(host: Host, kernel: str) -> None:
    assert host.check_output(PORT_STATES.format(kernel=kernel)).split() == ["up"] * EXTERNAL_PORTS


def test_the_unit_starts_at_every_boot(host: Host) -> None:
    assert host.service(UNIT).is_enabled
    assert host.run(f"systemctl is-failed {UNIT}").stdout.strip() != "failed"


def test_systemd_understands_the_unit(host: Host) -> None:
    assert host.run(f"systemd-analyze verify /etc/systemd/system/{UNIT}").rc == 0


def test_a_second_run_asks_each_node_once(tmp_path: Path) -> None:
    """Also for what could be measured. Each module leaves a line in the node's journal."""
    since = time.time()
    again = run(tmp_path, "fabric", gaudi_report_target=str(tmp_path))
    assert again.status == "successful", again.stdout.read()[-4000:]
    for node in hosts().values():
        said = node.check_output(f"journalctl --since=@{since:.0f} --output=json --output-fields=SYSLOG_IDENTIFIER")
        names = Counter(line.partition('"SYSLOG_IDENTIFIER":"')[2].partition('"')[0] for line in said.splitlines())
        modules = {name: count for name, count in names.items() if name.startswith("ansible-")}
        assert modules == {"ansible-gaudi3.scale.hpu_fabric": 1}
