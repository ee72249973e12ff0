# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the fabric: the external ports are up now and will be after a boot."""

from __future__ import annotations

from testinfra.host import Host

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
