# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What other tools leave on a node to bring the cards' ports up is named, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.other_starters import other_starters
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.ports import UNIT, tool, unit_text

TOOL = tool("gaudi2")


@pytest.mark.parametrize(
    ("files", "named"),
    [
        # As Omnia leaves it: a script of its own, and a line for it.
        (
            {
                "root/bring_up_ports.sh": f"#!/bin/bash\n{TOOL} --up\n",
                "var/spool/cron/crontabs/root": "#Ansible: ports\n@reboot /root/bring_up_ports.sh\n",
            },
            "line 2 of {root}/var/spool/cron/crontabs/root",
        ),
        ({"var/spool/cron/root": f"@reboot {TOOL} --up\n"}, "line 1 of {root}/var/spool/cron/root"),
        (
            {"etc/systemd/system/gaudi-ports.service": f"[Service]\nExecStart={TOOL} --up\n"},
            "{root}/etc/systemd/system/gaudi-ports.service",
        ),
        ({f"etc/systemd/system/{UNIT}": unit_text(TOOL)}, ""),
        ({"var/spool/cron/crontabs/root": f"# @reboot {TOOL} --up\n0 * * * * /usr/bin/true\n@reboot /gone.sh\n"}, ""),
        ({}, ""),
    ],
    ids=["Omnia", "a crontab of RHEL", "a unit", "ours", "nothing at boot", "nothing"],
)
def test_who_else_starts_the_ports_is_named(files: dict[str, str], named: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    told = other_starters(str(tmp_path))
    assert len(told) == bool(named)
    assert all(one.startswith(f"{named.format(root=tmp_path)} also brings the cards' ports up at boot") for one in told)
