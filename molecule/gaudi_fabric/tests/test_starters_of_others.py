# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What another tool left on a node to bring the ports up: named before anything is done, and left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

NODE = "node1"
TOOL = "/opt/habanalabs/qual/gaudi2/bin/manage_network_ifs.sh"
# As Omnia leaves them, and as sites do.
SCRIPT = "/usr/local/sbin/bring_up_ports.sh"
CRONTAB = "/var/spool/cron/crontabs/root"
SITES_UNIT = "/etc/systemd/system/gaudi-ports.service"


@pytest.fixture
def node() -> Iterator[Host]:
    host = hosts()[NODE]
    host.check_output(f"test ! -e {CRONTAB}")
    host.check_output(f"printf '#!/bin/bash\\n{TOOL} --up\\n' > {SCRIPT} && chmod 0755 {SCRIPT}")
    host.check_output(f"mkdir -p $(dirname {CRONTAB}) && echo '@reboot {SCRIPT}' > {CRONTAB}")
    host.check_output(f"printf '[Service]\\nType=oneshot\\nExecStart={TOOL} --up\\n' > {SITES_UNIT}")
    yield host
    host.check_output(f"rm -f {SCRIPT} {CRONTAB} {SITES_UNIT} && systemctl daemon-reload")


@pytest.mark.in_turn
def test_a_crontab_and_a_unit_are_named_first_and_left(node: Host, tmp_path: Path) -> None:
    before = node.check_output(f"sha256sum {SCRIPT} {CRONTAB} {SITES_UNIT}")
    for number, arguments in enumerate(("--check", "")):
        directory = tmp_path / str(number)
        directory.mkdir()
        done = run(directory, "fabric", arguments=f"--limit {NODE} {arguments}", gaudi_report_target=str(directory))
        said = " ".join(done.stdout.read().split())
        assert done.status == "successful", said[-4000:]
        assert f"line 1 of {CRONTAB} also brings the cards' ports up at boot" in said
        assert f"{SITES_UNIT} also brings the cards' ports up at boot" in said
        assert done.stats["changed"] == {}
    assert node.check_output(f"sha256sum {SCRIPT} {CRONTAB} {SITES_UNIT}") == before
