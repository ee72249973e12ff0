# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""systemd and the journal of a node, as far as instances ask them; what a unit starts answers on its port at once."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult


class Engine(BaseHTTPRequestHandler):
    """Well, and completes."""

    def log_message(self, *_words: object) -> None:
        """Silent."""

    def do_GET(self) -> None:
        self._send(200, {})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(200, {"choices": [{"text": " a"}]})

    def _send(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@dataclass
class Systemd:
    """``dies`` are units whose program ends as soon as it was started, ``refused`` those whose check fails; ``log`` is
    what they said. ``calls`` are the changes that were asked for.
    """

    units: Path
    active: set[str] = field(default_factory=set)
    enabled: set[str] = field(default_factory=set)
    dies: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    log: str = ""
    calls: list[str] = field(default_factory=list)
    servers: dict[str, ThreadingHTTPServer] = field(default_factory=dict)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "journalctl":
            return CommandResult(0, self.log, "")
        assert argv[0] == "systemctl", argv
        verb, unit = argv[1], argv[-1]
        if verb == "is-active":
            return CommandResult(0 if unit in self.active else 3, "", "")
        if verb == "is-enabled":
            return CommandResult(0 if unit in self.enabled else 1, "", "")
        if verb == "show":
            return self._show(argv[2])
        self.calls.append(" ".join(word for word in argv[1:] if word != "--quiet"))
        return self._change(verb, unit)

    def _show(self, unit: str) -> CommandResult:
        if "*" in unit:
            pattern = re.compile(re.escape(unit).replace(r"\*", ".*"))
            found = [one for one in sorted(self.active) if pattern.fullmatch(one)]
            return CommandResult(0, "\n".join(f"Id={one}\nActiveState=active\n" for one in found), "")
        state = "active" if unit in self.active else "failed"
        return CommandResult(0, f"ActiveState={state}\nNRestarts=0\nInvocationID=ab\n", "")

    def _change(self, verb: str, unit: str) -> CommandResult:
        if verb in ("stop", "disable", "restart"):
            self.active.discard(unit)
            self._end(unit)
        if verb == "enable":
            self.enabled.add(unit)
        if verb == "disable":
            self.enabled.discard(unit)
        if verb == "restart" and unit in self.refused:
            return CommandResult(1, "", "Job failed.")
        if verb == "restart" and unit not in self.dies:
            self.active.add(unit)
            self._begin(unit)
        return CommandResult(0, "", "")

    def _begin(self, unit: str) -> None:
        if unit in self.silent:
            return
        text = (self.units / unit).read_text(encoding="utf-8")
        port = re.search(r'"--port" "(\d+)"', text)
        assert port is not None
        server = ThreadingHTTPServer(("127.0.0.1", int(port[1])), Engine)
        self.servers[unit] = server
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def _end(self, unit: str) -> None:
        server = self.servers.pop(unit, None)
        if server is not None:
            server.shutdown()
            server.server_close()

    def close(self) -> None:
        for unit in list(self.servers):
            self._end(unit)
