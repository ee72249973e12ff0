# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The instances of a node that serve models, as they are now.

Whether each answers, what it counts, and whether it still answers as its model was trained.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.systemd_units import ACTIVE, unit_properties
from .._serving.admission import Verdict, examine
from .._serving.asking import HEALTH, Answer, Endpoint, ask, endpoint_of
from .._serving.control import CONTROL, Control, known_instances, reachable
from .._serving.expected import read_expected
from .server_metrics import MOST_BYTES, ServerMetrics, parse_metrics

METRICS = "/metrics"
# A healthy server answers these in milliseconds, whatever it computes.
ANSWER_SECONDS = 2.0
COMPARE_SECONDS = 5.0
# Its answers are compared with the record so often, and once after each start.
COMPARED_SECONDS = 3600.0
MOST_SERVERS = 32


@dataclass(frozen=True)
class ServerReading:
    """``started`` is when its unit was (Unix time); None where it does not run. ``differs``: how its answers are not
    those of the record, "" where they are; None where that is not known."""

    control: Control
    started: float | None = None
    answers: bool = False
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    differs: str | None = None
    compared: float = 0.0
    has_failed: bool = False


def read_servers(
    run: Run,
    now: float,
    before: Sequence[ServerReading] = (),
    directory: str = CONTROL,
    compare: Callable[[Control, Endpoint], Verdict | None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[ServerReading]:
    """By name, asked at the same time: one that hangs makes none of the others wait. ``before`` are those of the last
    look, and ``clock`` is systemd's."""
    controls = known_instances(directory)[:MOST_SERVERS]
    known = {one.control.name: one for one in before}
    if not controls:
        return []
    with ThreadPoolExecutor(len(controls)) as pool:
        read = [
            pool.submit(_read, control, run, (now, clock()), known.get(control.name), compare or compare_with_record)
            for control in controls
        ]
        return [one.result() for one in read]


def compare_with_record(control: Control, endpoint: Endpoint) -> Verdict | None:
    """None where the model has no record of its answers, or the instance is too busy for one."""
    try:
        expected = read_expected(control)
    except GaudiError:
        return None
    longest = control.limits.get("max_model_len", 0)
    asked = _Asked()
    verdict = examine(endpoint, control.served_name, expected, control.dtype, longest, asked=asked)
    return None if asked.is_late else verdict


class _Asked:
    """Asks, and gives up long before all else of the node is late."""

    is_late = False

    def __call__(self, endpoint: Endpoint, path: str, body: Mapping[str, Any], _timeout: float) -> Answer | None:
        answer = ask(endpoint, path, body, COMPARE_SECONDS)
        # Another status than 200 is a server that starts or stops, and no other answer.
        self.is_late = answer is None or answer.status != 200
        return answer


def _read(
    control: Control,
    run: Run,
    moment: tuple[float, float],
    before: ServerReading | None,
    compare: Callable[[Control, Endpoint], Verdict | None],
) -> ServerReading:
    now = moment[0]
    started, has_failed = _unit(control.unit, run, moment)
    silent = ServerReading(control, started, has_failed=has_failed)
    try:
        endpoint = endpoint_of(reachable(control.address), control.port, control.certificate, control.key_file)
    except GaudiError:
        return silent
    if started is None or _get(endpoint, HEALTH) is None:
        return silent
    text = _get(endpoint, METRICS)
    if before and before.answers and now - before.compared < COMPARED_SECONDS and before.started == started:
        differs, compared = before.differs, before.compared
    else:
        verdict = compare(control, endpoint)
        differs, compared = (None if verdict is None else verdict.reason), now
    return ServerReading(control, started, True, parse_metrics(text or ""), differs, compared)


def _unit(unit: str, run: Run, moment: tuple[float, float]) -> tuple[float | None, bool]:
    """(when it was started, None where it does not run; whether systemd has given it up)."""
    try:
        found = unit_properties(run, unit, "ActiveState", "ExecMainStartTimestampMonotonic")
    except GaudiError:
        return None, False
    state = found.get("ActiveState")
    return (_started(found, moment) if state in ACTIVE else None), state == "failed"


def _started(found: Mapping[str, str], moment: tuple[float, float]) -> float | None:
    """As Unix time, by both clocks at one moment; the same at each look, if nobody sets the clock."""
    try:
        since_boot = int(found["ExecMainStartTimestampMonotonic"]) / 1e6
    except (KeyError, ValueError):
        return None
    now, monotonic = moment
    return float(round(now - monotonic + since_boot)) if since_boot else None


def _get(endpoint: Endpoint, path: str) -> str | None:
    """None where it does not answer in time, or with another status than 200."""
    connection = endpoint.connection(ANSWER_SECONDS)
    try:
        connection.request("GET", path, headers=endpoint.headers)
        answer = connection.getresponse()
        content = answer.read(MOST_BYTES)
        return content.decode("utf-8", "replace") if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
