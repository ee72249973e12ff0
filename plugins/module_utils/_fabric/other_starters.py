# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who else brings the cards' ports up at boot: a crontab of another tool, or a unit of the site. Only reads.

The vendor ships a tool and no unit, so that others start it: Omnia from root's crontab through a script of its own,
communities from a unit. Beside ours neither does harm, and neither is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .._node.rendered_files import read_text
from .ports import UNIT, UNIT_FILE

TOOL = "manage_network_ifs.sh"
# Of Debian and of RHEL.
_CRONTABS = ("var/spool/cron/crontabs/root", "var/spool/cron/root", "etc/crontab")
_SCRIPT = re.compile(r"(?<![\w=-])/[\w./-]+")


def other_starters(root: str) -> list[str]:
    """One sentence for each file below ``root`` that starts the tool at boot and is not ours."""
    base = Path(root)
    found = [
        *(f"line {line} of {base / name}" for name in _CRONTABS for line in _boot_lines(base, name)),
        *(str(path) for path in sorted((base / "etc/systemd/system").glob("*.service")) if _is_other(path)),
    ]
    return [
        f"{place} also brings the cards' ports up at boot, as {UNIT} does now; both are left, and it can be removed."
        for place in found
    ]


def _boot_lines(base: Path, name: str) -> Iterator[int]:
    for number, line in enumerate((read_text(str(base / name)) or "").splitlines(), start=1):
        if line.lstrip().startswith("@reboot") and _starts_the_tool(base, line):
            yield number


def _starts_the_tool(base: Path, line: str) -> bool:
    """By itself, or through a script that does."""
    if TOOL in line:
        return True
    scripts = (base / path.lstrip("/") for path in _SCRIPT.findall(line))
    return any(script.is_file() and TOOL in (read_text(str(script)) or "") for script in scripts)


def _is_other(path: Path) -> bool:
    return path.name != Path(UNIT_FILE).name and path.is_file() and TOOL in (read_text(str(path)) or "")
