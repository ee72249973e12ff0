# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The proxies that serving_changes.py compares, each before the same engines on this machine."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.gaudi3.scale.plugins.module_utils._serving.asking import Endpoint  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.change import requests_of  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy import Server  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_state import converge  # noqa: E402

from sandbox.engine.local import free_port  # noqa: E402
from tests.local_haproxy import PROGRAM, LocalHaproxy  # noqa: E402

SEATS, LENGTH, HEALTH_S = 8, 256, 3


class Proxy(Protocol):
    """What is in front of the engines. ``ports`` are theirs by their names."""

    port: int

    def start(self, ports: Mapping[str, int]) -> None:
        """Answer at ``port``."""

    def take_out(self, name: str) -> None:
        """Before an engine is stopped, if it can."""

    def put_back(self, name: str) -> None:
        """Once it answers again."""

    def close(self) -> None:
        """End it."""


class Ours:
    """As roll_serving.yml has it: drained by count, and back once it is admitted."""

    def __init__(self, scratch: Path, model: str) -> None:
        self.port, self._model = free_port(), model
        scratch.mkdir()
        self._haproxy = LocalHaproxy(scratch)
        self._ports: Mapping[str, int] = {}

    def start(self, ports: Mapping[str, int]) -> None:
        self._ports = ports
        servers = tuple(
            Server(f"here:{name}", self._model, "127.0.0.1", port, SEATS, LENGTH, admitted=True)
            for name, port in ports.items()
        )
        self._converge(state="present", instances=servers)

    def take_out(self, name: str) -> None:
        left = self._converge(state="drained", name=f"here:{name}", wait=60)["in_flight"]
        endpoint = Endpoint("127.0.0.1", self._ports[name])
        while requests_of(endpoint):
            time.sleep(0.2)
        if left:
            raise RuntimeError(f"{name} still answers {left} requests")

    def put_back(self, name: str) -> None:
        self._converge(state="ready", name=f"here:{name}")

    def close(self) -> None:
        self._haproxy.remove()

    def _converge(self, **given: object) -> dict[str, object]:
        options = self._haproxy.options(port=self.port, health_timeout=HEALTH_S, **given)
        return converge(options, self._haproxy, False)


class PlainHaproxy:
    """As its manual begins: the least connections, the engine's own health, three retries to connect."""

    def __init__(self, scratch: Path) -> None:
        self.port, self._file = free_port(), scratch / "plain.cfg"

    def start(self, ports: Mapping[str, int]) -> None:
        servers = "".join(f"    server {name} 127.0.0.1:{port} check inter 2s\n" for name, port in ports.items())
        self._file.write_text(
            "defaults\n    mode http\n    option redispatch\n    retries 3\n    timeout connect 5s\n"
            "    timeout client 60s\n    timeout server 60s\n"
            f"frontend front\n    bind 127.0.0.1:{self.port}\n    default_backend engines\n"
            f"backend engines\n    balance leastconn\n    option httpchk GET /health\n{servers}",
            encoding="utf-8",
        )
        self._process = _started([PROGRAM, "-f", str(self._file)])

    def take_out(self, name: str) -> None:
        """Its health check finds it."""

    put_back = take_out

    def close(self) -> None:
        _ended(self._process)


class VllmRouter:
    """vLLM's own router (PyPI), with its defaults."""

    def __init__(self, program: str) -> None:
        self.port, self._program = free_port(), program

    def start(self, ports: Mapping[str, int]) -> None:
        urls = [f"http://127.0.0.1:{port}" for port in ports.values()]
        words = [self._program, "--host", "127.0.0.1", "--port", str(self.port), "--prometheus-port", str(free_port())]
        self._process = _started([*words, "--worker-urls", *urls])
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(f"{self._program} does not answer")

    def take_out(self, name: str) -> None:
        """Its health check finds it."""

    put_back = take_out

    def close(self) -> None:
        _ended(self._process)


def _started(words: Sequence[str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    if process.poll() is not None:
        raise RuntimeError(f"{words[0]} did not start")
    return process


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
