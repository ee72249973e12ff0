# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A ``Run`` in which the proxy's unit is a real haproxy of this process, and every other program is what it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy import Places
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_options import ProxyOptions

PROGRAM = "/usr/sbin/haproxy"
# haproxy leaves root's rights, and opens its sockets before.
MISSING = "" if Path(PROGRAM).exists() and os.geteuid() == 0 else "haproxy is not installed, or this is not root"
START_S = 10.0
OK = CommandResult(0, "", "")


class LocalHaproxy:
    """``calls`` are the changes of the unit that were asked for."""

    def __init__(self, scratch: Path) -> None:
        # haproxy's account has to reach its sockets, whose paths are short.
        self._runtime = Path(tempfile.mkdtemp(prefix="proxy-"))
        self._runtime.chmod(0o755)
        self.places = Places(str(scratch / "etc"), str(self._runtime))
        self.units = str(scratch / "units")
        self.log = scratch / "haproxy.log"
        self.calls: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None
        self._enabled = False

    def options(self, **given: object) -> ProxyOptions:
        """Of the module, in the places of this one."""
        return ProxyOptions(places=self.places, unit_directory=self.units, **given)  # type: ignore[arg-type]

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "journalctl":
            return CommandResult(0, self.log.read_text(encoding="utf-8") if self.log.exists() else "", "")
        if argv[0] != "systemctl":
            return run_process(argv, timeout=timeout, env=env)
        verb = argv[1]
        if verb == "is-active":
            return CommandResult(0 if self.process and self.process.poll() is None else 3, "", "")
        if verb == "is-enabled":
            return CommandResult(0 if self._enabled else 1, "", "")
        if verb != "daemon-reload":
            self.calls.append(verb)
        return self._changed(verb)

    def _changed(self, verb: str) -> CommandResult:
        if verb == "enable":
            self._enabled = True
        elif verb == "start":
            with self.log.open("ab") as log:
                words = [PROGRAM, "-W", "-f", self.places.configuration]
                self.process = subprocess.Popen(words, stdout=log, stderr=log)
            return self._answers()
        elif verb == "reload" and self.process:
            self.process.send_signal(signal.SIGUSR2)
            # The new worker takes its time, and the old one answers until then.
            time.sleep(0.5)
            return self._answers()
        elif verb == "disable":
            self.close()
            self._enabled = False
        return OK

    def _answers(self) -> CommandResult:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if self.process is None or self.process.poll() is not None:
                break
            if Path(self.places.admin).exists():
                return OK
            time.sleep(0.05)
        return CommandResult(1, "", "it did not start")

    def remove(self) -> None:
        """End it, and leave nothing."""
        self.close()
        shutil.rmtree(self._runtime)

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.process = None
        Path(self.places.admin).unlink(missing_ok=True)
