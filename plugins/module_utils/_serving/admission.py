# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether an instance may get traffic: it answers as its model was trained, and as fast as it has to."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from .._node.screen_text import one_line
from .asking import COMPLETIONS, Answer, Endpoint, ask
from .expected import Expected, Window

ANSWER_SECONDS = 60.0
# As often as all windows are asked where a limit is given: the first round may compile.
ROUNDS = 3
_TOKEN = "token_id:"
Ask = Callable[[Endpoint, str, Mapping[str, Any], float], "Answer | None"]


@dataclass(frozen=True)
class Verdict:
    """``reason`` is a clause that says why not; "": it is admitted. ``milliseconds`` is the median of its answers."""

    reason: str
    windows: int
    milliseconds: float


def examine(
    endpoint: Endpoint,
    served_name: str,
    expected: Expected,
    served_dtype: str,
    longest: int,
    limit_ms: float = 0.0,
    asked: Ask = ask,
    clock: Callable[[], float] = time.monotonic,
) -> Verdict:
    """Ask for each window that fits into ``longest`` tokens. ``limit_ms`` 0: as slowly as it likes."""
    dtype, tolerance = expected.tolerance(served_dtype)
    # One more is the answer.
    fitting = [one for one in expected.windows if not longest or len(one.tokens) < longest]
    if not fitting:
        return Verdict(f"its max_model_len {longest} is too short for any window of its record", 0, 0.0)
    times: list[float] = []
    for number in range(ROUNDS if limit_ms else 1):
        for place, window in enumerate(fitting, 1):
            begun = clock()
            answer = asked(endpoint, COMPLETIONS, question(served_name, window), ANSWER_SECONDS)
            if number or not limit_ms:
                times.append((clock() - begun) * 1e3)
            reason = difference(window, answer, tolerance, dtype)
            if reason:
                return Verdict(f"window {place} of {len(fitting)} ({len(window.tokens)} tokens): {reason}", place, 0.0)
    median = statistics.median(times)
    if limit_ms and median > limit_ms:
        slow = f"it answers in {median:.0f} ms (median), slower than the limit of {limit_ms:g} ms"
        return Verdict(slow, len(fitting), median)
    return Verdict("", len(fitting), median)


def question(served_name: str, window: Window) -> dict[str, Any]:
    """What is asked for one: the next token, with the likeliest others by their numbers."""
    return {
        "model": served_name,
        "prompt": list(window.tokens),
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": len(window.top),
        "return_tokens_as_token_ids": True,
    }


def difference(window: Window, answer: Answer | None, tolerance: float, dtype: str) -> str:
    """A clause that says how an answer is not the one of the record; "" where it is.

    Two tokens that are nearly as likely may change places, so a token that one of both does not list only has to be as
    unlikely as the last one that it lists.
    """
    if answer is None:
        return f"no answer within {ANSWER_SECONDS:.0f} s"
    if answer.status != 200:
        error = answer.body.get("error")
        said = error.get("message") if isinstance(error, Mapping) else ""
        return f"status {answer.status}{': ' if said else ''}{one_line(str(said or ''))[:200]}"
    got = likeliest(answer.body)
    if not got:
        return "the answer has no log-probabilities of token numbers"
    for token in [*window.top, *(one for one in got if one not in window.top)]:
        wanted, found = window.top.get(token), got.get(token)
        if wanted is not None and found is not None:
            is_far = abs(wanted - found) > tolerance
        elif wanted is not None:
            is_far = wanted - min(got.values()) > tolerance
        else:
            is_far = (found or 0.0) - min(window.top.values()) > tolerance
        if is_far:
            return (
                f"token {token} has the log-probability {_value(found, got)}, and {_value(wanted, window.top)} in the "
                f"record (tolerance {tolerance:g} of {dtype})"
            )
    return ""


def _value(value: float | None, listed: Mapping[int, float]) -> str:
    return f"{value:.4f}" if value is not None else f"below {min(listed.values()):.4f}"


def likeliest(body: Mapping[str, Any]) -> dict[int, float]:
    """Token to the logarithm of its probability, of the answer's one token; nothing where it says none."""
    try:
        listed = body["choices"][0]["logprobs"]["top_logprobs"][0]
        return {int(name[len(_TOKEN) :]): float(value) for name, value in listed.items() if name.startswith(_TOKEN)}
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}
