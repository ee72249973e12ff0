# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One simulated engine on this machine, for tests and benchmarks that need no node."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from .wheels import unpack

VERSION = "0.26.0"
START_SECONDS = 120.0


class LocalEngine:
    """Started where it is entered, ended where it is left; ``process`` is its Popen, ``port`` what it listens on."""

    def __init__(
        self,
        model: Path,
        scratch: Path,
        flags: Sequence[str] = (),
        version: str = VERSION,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
        faults: Mapping[str, object] | None = None,
    ) -> None:
        self.port = port or free_port()
        self.log = scratch / f"engine-{self.port}.log"
        self._scratch, self._packages = scratch, scratch / f"vllm-{version}"
        if not self._packages.exists():
            unpack(version, self._packages)
        self.command = [sys.executable, "-m", "vllm", "serve", str(model)]
        self.command += ["--host", "127.0.0.1", "--port", str(self.port), *flags]
        path = os.pathsep.join(filter(None, [str(self._packages), os.environ.get("PYTHONPATH", "")]))
        self.environment = {**os.environ, "PYTHONPATH": path, "GAUDI_SIMULATED_ENGINE": str(scratch)}
        self.environment |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **(environment or {})}
        self.fault(**(faults or {"warm_up_seconds": 0}))

    def fault(self, **faults: object) -> None:
        """Have these faults and no others; see vllm/faults.py."""
        target = self._scratch / f"{self.port}.json"
        scratch = target.with_suffix(".new")
        scratch.write_text(json.dumps({"warm_up_seconds": 0, **faults}), encoding="utf-8")
        scratch.replace(target)

    def start(self) -> None:
        """Without waiting."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Until it is healthy. Raises RuntimeError with its log."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"The engine did not start:\n{self.log.read_text(encoding='utf-8')}")

    def __enter__(self) -> LocalEngine:
        self.start()
        self.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    """One that nobody has at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
