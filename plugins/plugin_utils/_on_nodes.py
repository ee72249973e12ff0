# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The same work for several nodes at the same time, each in a process of its own."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CHUNK = 1 << 16


def on_nodes(work: Callable[[str], Mapping[str, Any]], hosts: Sequence[str], forks: int) -> dict[str, dict[str, Any]]:
    """What ``work`` returns for each host, as JSON holds it; at most ``forks`` at a time.

    Processes, since a connection's own limit of time is an alarm, which only a main thread has. One that dies gives its
    host ``failed`` and ``msg``. Whatever ends the caller ends them.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting, running = list(reversed(hosts)), dict[int, tuple[str, int, bytearray]]()
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < max(1, forks):
                    host = waiting.pop()
                    pid, pipe = _begun(work, host)
                    running[pipe] = (host, pid, bytearray())
                    selector.register(pipe, selectors.EVENT_READ)
                for key, _events in selector.select():
                    pipe = int(key.fd)
                    host, pid, answer = running[pipe]
                    chunk = os.read(pipe, CHUNK)
                    answer += chunk
                    if not chunk:
                        selector.unregister(pipe)
                        del running[pipe]
                        os.close(pipe)
                        found[host] = _answer(bytes(answer), os.waitpid(pid, 0)[1])
        finally:
            for pipe, (_host, pid, _answered) in running.items():
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                os.close(pipe)
    return {host: found[host] for host in hosts}


def _begun(work: Callable[[str], Mapping[str, Any]], host: str) -> tuple[int, int]:
    """A child that does the work, and the end of the pipe from which its answer is read."""
    sys.stdout.flush()
    sys.stderr.flush()
    there, here = os.pipe()
    pid = os.fork()
    if pid:
        os.close(here)
        return pid, there
    code = 1
    try:
        os.close(there)
        with os.fdopen(here, "wb") as pipe:
            pipe.write(json.dumps(work(host), default=str).encode())
        code = 0
    except BaseException:
        # A child must never go on with what its parent does.
        traceback.print_exc()
    finally:
        os._exit(code)


def _answer(text: bytes, status: int) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError:
        code = os.waitstatus_to_exitcode(status)
        return {"failed": True, "msg": f"the process that spoke with it ended without an answer ({code})."}
    return answer


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a module without those that are empty, for which the module's own defaults stand."""
    return {name: value for name, value in options.items() if value not in (None, "", [], {})}


def differences(answers: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What changes on the nodes, each file under its node's name."""
    found = []
    for node, answer in answers.items():
        for part in answer.get("diff") or []:
            headers = {key: f"{node}: {part[key]}" for key in ("before_header", "after_header") if key in part}
            found.append({**part, **headers})
    return found
