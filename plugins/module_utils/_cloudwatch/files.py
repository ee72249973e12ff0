# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of what sends to CloudWatch, as text: the program's options, its units, alarms and a dashboard."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from .._monitoring.options import DIRECTORY as MONITORING
from .._monitoring.options import PRESENT
from .._node.rendered_files import WantedFile
from .._node.systemd_units import UNIT_DIRECTORY
from .._node.unit_hardening import (
    FILES,
    KERNEL,
    KERNEL_TUNABLES,
    NO_DEVICES,
    NO_NEW_PRIVILEGES,
    OTHER_PROCESSES,
    OWN_PROCESS,
    SYSTEM_CALLS,
    capability_lines,
)
from .alarms import alarm_texts, dashboard_text
from .options import AMAZON, Options, Source, Target

PROGRAM = "/opt/gaudi3_scale/cloudwatch.pyz"
MODULE = "ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.program"
SERVICE, TIMER = "gaudi3-scale-cloudwatch.service", "gaudi3-scale-cloudwatch.timer"
DIRECTORY = f"{MONITORING}/cloudwatch"
OPTIONS_FILE = f"{DIRECTORY}/options.json"
CREDENTIALS, CONFIG = f"{AMAZON}/credentials", f"{AMAZON}/config"
ALARMS = "alarms"
# Where the program itself does not end: it waits for a name's address, which nothing interrupts.
_GRACE_S = 30
_HEADING = "# Written by gaudi3.scale; changes made here are lost. Options: roles/gaudi_monitoring."


def wanted_files(options: Options, kept_alarms: Iterable[str], root: str = "/") -> list[WantedFile]:
    """All but the program. ``kept_alarms`` are the names of those of ours that are there, of which some may go."""
    target = options.target if options.state == PRESENT else None
    units = Path("/etc", UNIT_DIRECTORY)
    texts: dict[str, str | None] = {
        OPTIONS_FILE: options_text(target, options.source) if target else None,
        str(units / SERVICE): service_text(target) if target else None,
        str(units / TIMER): timer_text(target) if target else None,
        f"{DIRECTORY}/dashboard.json": dashboard_text(target) if target else None,
        **{f"{DIRECTORY}/{ALARMS}/{name}": None for name in kept_alarms},
        **{f"{DIRECTORY}/{ALARMS}/{name}": text for name, text in (alarm_texts(target) if target else {}).items()},
    }
    return [WantedFile(str(Path(root, path[1:])), text) for path, text in texts.items()]


def options_text(target: Target, source: Source) -> str:
    """What the program reads."""
    return json.dumps({"target": asdict(target), "source": asdict(source)}, indent=1) + "\n"


def service_text(target: Target) -> str:
    """Root in name only, for the sake of credentials that nobody else may read."""
    hardening = "\n".join(
        (
            *NO_NEW_PRIVILEGES,
            *OWN_PROCESS,
            *KERNEL,
            *KERNEL_TUNABLES,
            *FILES,
            *OTHER_PROCESSES,
            *NO_DEVICES,
            *SYSTEM_CALLS,
            *capability_lines(),
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
            "InaccessiblePaths=-/etc/shadow -/etc/gshadow -/etc/ssh",
        )
    )
    # Of what systemd says of a run each minute, the journal has what went wrong.
    return f"""{_HEADING}
[Unit]
Description=gaudi3.scale: send values to CloudWatch

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -I -W ignore {PROGRAM} {OPTIONS_FILE}
Environment=AWS_SHARED_CREDENTIALS_FILE={CREDENTIALS} AWS_CONFIG_FILE={CONFIG}
Environment=AWS_STS_REGIONAL_ENDPOINTS=regional
TimeoutStartSec={target.limit_s + _GRACE_S}
SyslogLevel=warning
LogLevelMax=notice
MemoryMax=1G
Nice=10
{hardening}
"""


def timer_text(target: Target) -> str:
    """A run that is not over by then is waited for: there is never a second one."""
    return f"""{_HEADING}
[Unit]
Description=gaudi3.scale: send values to CloudWatch each {target.interval} s

[Timer]
OnActiveSec=30s
OnUnitActiveSec={target.interval}s
AccuracySec=1s

[Install]
WantedBy=timers.target
"""
