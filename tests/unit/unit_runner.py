# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A ``Run`` that answers as systemd does, for units whose files are in a temporary /etc: it really runs ExecStart."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

OK = CommandResult(0, "", "")


class UnitRunner:
    """Knows the units below ``etc``; other programs are answered by ``programs``. ``calls`` records every command."""

    def __init__(
        self, etc: Path, programs: Mapping[str, Callable[[Sequence[str]], CommandResult]] | None = None
    ) -> None:
        self.units = etc / "systemd/system"
        self.programs = dict(programs or {})
        self.enabled: set[str] = set()
        self.active: set[str] = set()
        self.calls: list[str] = []

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.calls.append(" ".join(argv))
        if argv[0] == "systemctl":
            return self._systemctl(argv[1], argv[-1])
        program = self.programs.get(argv[0])
        return program(argv) if program else CommandResult(127, "", f"{argv[0]}: not installed")

    def _systemctl(self, verb: str, unit: str) -> CommandResult:
        if verb == "daemon-reload":
            return OK
        if verb in ("is-enabled", "is-active"):
            return OK if unit in (self.enabled if verb == "is-enabled" else self.active) else CommandResult(1, "", "")
        if not (self.units / unit).exists():
            return CommandResult(5, "", f"Unit {unit} not found.")
        if verb == "enable":
            self.enabled.add(unit)
        if verb == "disable":
            self.enabled.discard(unit)
        return self._start(unit) if verb == "restart" else OK

    def _start(self, unit: str) -> CommandResult:
        text = (self.units / unit).read_text(encoding="utf-8")
        lines = [line.partition("=")[2] for line in text.splitlines() if line.startswith("ExecStart=")]
        for line in lines:
            done = subprocess.run(
                shlex.split(line.replace("$$", "$")), capture_output=True, text=True, check=False, timeout=60
            )
            if done.returncode:
                return CommandResult(1, "", f"Job for {unit} failed.")
        return OK
