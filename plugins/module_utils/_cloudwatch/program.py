# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The program that a timer starts: it asks Prometheus once, sends what it has to CloudWatch, and ends within its time.

What went wrong is one sentence, and the exit status 1. What was not sent is not kept: the next run has newer values.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .._errors import GaudiError
from .._node.json_file import LARGEST, parse_object
from .._node.regular_file import read_bounded
from .amazon import CLOUDWATCH, STS, account_of, amazon, check_private, put
from .options import AMAZON, Source, Target, check_target, target_from
from .points import MOST_DIMENSIONS, Point, batches, points_of
from .prometheus_query import read

_USAGE = "usage: cloudwatch.pyz OPTIONS_FILE"


class _OverTimeError(BaseException):
    """No Exception: a library on the way would take it for a failure of its own."""


def main(arguments: list[str]) -> int:
    """For its exit status."""
    if len(arguments) != 1:
        _say(_USAGE)
        return 2
    limit_s = 0
    try:
        target, source = _given(arguments[0])
        limit_s = target.limit_s
        with _at_most(limit_s):
            left_out = send(target, source)
    except GaudiError as error:
        _say(str(error))
        return 1
    except _OverTimeError:
        _say(f"not all values were sent within {limit_s} s; check the connection to CloudWatch, or give fewer metrics.")
        return 1
    if left_out:
        _say(f"{', '.join(left_out)}: values with more than {MOST_DIMENSIONS} labels were left out.")
    return 0


def send(target: Target, source: Source) -> list[str]:
    """The names of metrics of which values were left out; GaudiError where nothing, or not all, was sent."""
    reading = read(source, target, time.time())
    if not reading.series:
        raise GaudiError(
            "Prometheus has none of the metrics, so nothing was sent; check its targets and the option metrics."
        )
    check_private(AMAZON)
    if target.account is not None:
        _check_account(target.account, target)
    points, left_out = points_of(reading.samples)
    _send(points, target)
    return left_out


def _send(points: Sequence[Point], target: Target) -> None:
    """The first call that fails is the last: who is slow or refuses would be it for the others, too."""
    sent = 0
    try:
        with amazon(CLOUDWATCH, target) as client:
            for batch in batches(points):
                put(client, target.namespace, batch)
                sent += len(batch)
    except GaudiError as error:
        if not sent:
            raise
        raise GaudiError(f"{str(error).rstrip('.')}; {sent} of {len(points)} values were sent before.") from error


def _check_account(account: str, target: Target) -> None:
    with amazon(STS, target) as client:
        found = account_of(client)
    if found != account:
        raise GaudiError(
            f"the credentials are those of account {found} and not of {account}, so nothing was sent; correct account, "
            "or the credentials."
        )


def _given(path: str) -> tuple[Target, Source]:
    try:
        data = parse_object(read_bounded(path, LARGEST))
        target, source = target_from(data["target"]), Source(**data["source"])
        check_target(target)
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = "was changed or is damaged"
        raise GaudiError(f"{path} {what} ({error}); run the playbook monitoring.yml again.") from error
    return target, source


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def end(_number: int, _frame: object) -> None:
        raise _OverTimeError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
