# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether an instance answers: its server says that it is well, and one real completion came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.screen_text import one_line
from .._node.systemd_units import unit_properties
from .asking import COMPLETIONS, HEALTH, Endpoint, ask
from .control import Control
from .warm_up import WarmUp, read_warm_up, reason_of

LOG_LINES = 2000
ANSWER_SECONDS = 60.0
ANSWERING, STARTING, STOPPED = "answering", "starting", "stopped"
# Ready it answers at once, but the first answer may wait for a graph.
_PROMPT = {"prompt": "1", "max_tokens": 1, "temperature": 0}


def completes(endpoint: Endpoint, served_name: str) -> bool:
    """Whether it is well and completes a prompt; healthy alone it may have no model yet (vllm#15313)."""
    well = ask(endpoint, HEALTH, timeout=5.0)
    if well is None or well.status != 200:
        return False
    answer = ask(endpoint, COMPLETIONS, {"model": served_name, **_PROMPT}, ANSWER_SECONDS)
    return answer is not None and answer.status == 200 and _has_choice(answer.body)


def refusal_of(endpoint: Endpoint, served_name: str) -> str:
    """What a server that is well says instead of a completion; "" where it completes or is not well."""
    answer = ask(endpoint, COMPLETIONS, {"model": served_name, **_PROMPT}, ANSWER_SECONDS)
    if answer is None or answer.status == 200:
        return ""
    error = answer.body.get("error")
    said = error.get("message") if isinstance(error, Mapping) else answer.body.get("message")
    return f"{answer.status} {one_line(str(said or ''))[:200]}".strip()


def _has_choice(body: Mapping[str, Any]) -> bool:
    choices = body.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def log_of(unit: str, run: Run) -> list[str]:
    """The lines since its last start."""
    invocation = unit_properties(run, unit, "InvocationID").get("InvocationID", "")
    of_start = [f"_SYSTEMD_INVOCATION_ID={invocation}"] if invocation else ["--unit", unit]
    words = ["journalctl", "--no-pager", "--output", "cat", "--lines", str(LOG_LINES), *of_start]
    return [one_line(line) for line in run(words).stdout.splitlines()]


def warm_up_of(unit: str, run: Run) -> WarmUp:
    return read_warm_up(log_of(unit, run))


def starts_of(unit: str, run: Run) -> tuple[str, int]:
    """Its state, and how often systemd has started it again."""
    found = unit_properties(run, unit, "ActiveState", "NRestarts")
    restarts = found.get("NRestarts", "")
    return found.get("ActiveState", ""), int(restarts) if restarts.isdecimal() else 0


def did_not_start(control: Control, run: Run) -> GaudiError:
    """What its log says of why."""
    # Its programs' own lines, without systemd's of it.
    words = ["journalctl", "--no-pager", "--output", "cat", "--lines", "60", f"_SYSTEMD_UNIT={control.unit}"]
    lines = [one_line(line) for line in run(words).stdout.splitlines()]
    return GaudiError(
        f"instance {control.name} did not start: {reason_of(lines)}; `journalctl -u {control.unit}` on the node has "
        "all of it.",
        instance=control.name,
        log=lines[-20:],
    )
