# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A ``Run`` that answers for one job's unit as systemd 252 does, and leaves what the unit's own commands leave."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

OK = CommandResult(0, "", "")


class JobUnit:
    """``active`` is whether the unit runs; ``calls`` what was asked of systemctl to change."""

    def __init__(self, paths, start_fails: str = "", stop_fails: str = "") -> None:
        self.paths = paths
        self.active = False
        self.calls: list[str] = []
        self.start_fails = start_fails
        self.stop_fails = stop_fails
        # What `systemctl show` tells beyond that.
        self.properties: dict[str, str] = {}
        # What the node's Python says about the imports of the job's program.
        self.imports = "{}"
        # What it says about the node library.
        self.library = '{"version": "0.1.0", "supervisor": true}'
        # What its mpirun says about itself; empty where there is none.
        self.mpirun = "mpirun (Open MPI) 5.0.8\n"
        # What ssh to another node ends with.
        self.ssh = OK

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "journalctl":
            return CommandResult(0, self.start_fails, "")
        if "-I" in argv:
            return CommandResult(0, self.library, "")
        if "-c" in argv and argv[0].endswith("/bin/python"):
            return CommandResult(0, self.imports, "")
        if argv[0] == "mpirun" and self.mpirun:
            return CommandResult(0, self.mpirun, "")
        if argv[0] == "ssh":
            return self.ssh
        if argv[0] != "systemctl":
            return CommandResult(127, "", f"{argv[0]}: not installed")
        verb = argv[1]
        if verb == "show":
            return self._show(argv)
        self.calls.append(verb)
        return {"start": self._start, "stop": self._stop}.get(verb, lambda: OK)()

    def end(self, result: str = "success", code: str = "exited", status: str = "0") -> None:
        """What ExecStopPost does when the main process has ended."""
        record = {"result": result, "code": code, "status": status, "time": int(time.time())}
        Path(self.paths.ended).write_text(json.dumps(record), encoding="utf-8")
        self.active = False

    def _show(self, argv: Sequence[str]) -> CommandResult:
        values = {"ActiveState": "active" if self.active else "inactive", "ControlGroup": "", **self.properties}
        return CommandResult(0, "".join(f"{name}={values.get(name, '')}\n" for name in argv[-1].split(",")), "")

    def _start(self) -> CommandResult:
        if self.start_fails:
            return CommandResult(1, "", "Job failed. See journalctl.")
        self.active = True
        return OK

    def _stop(self) -> CommandResult:
        if self.stop_fails:
            return CommandResult(1, "", self.stop_fails)
        Path(self.paths.unit_stopped).touch()
        self.end("exit-code", "exited", "1")
        return OK
