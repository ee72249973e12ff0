# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""All time of a step is some part's, whatever a loop looks like."""

from __future__ import annotations

import pytest

from gaudi3_scale.profiler.step_parts import StepParts


class Watch:
    """A clock that is moved by hand."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


def step_of(*words: object):
    """A step of a parts' clock: numbers are seconds that pass, ``+part`` enters one, ``-`` leaves it."""
    watch = Watch()
    parts = StepParts(watch)
    for word in words:
        if isinstance(word, str):
            if word == "-":
                parts.leave()
            else:
                parts.enter(word[1:])
        else:
            watch.time += word
    step = parts.end(1, True)
    found = {**step.parts, "communication": step.waited, "host": step.host}
    assert sum(found.values()) == pytest.approx(step.seconds)
    return {part: round(seconds, 6) for part, seconds in found.items() if round(seconds, 6)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("+data", 1, "-", 2, "+backward", 3, "-", 4, "+optimizer", 5, "-", 6), (1, 2, 3, 5, 0, 0, 10)),
        # Lightning's optimizer calls the forward and the backward pass.
        (("+data", 1, "-", "+optimizer", 2, "+backward", 3, "-", 4, "-"), (1, 2, 3, 4, 0, 0, 0)),
        # Gradients are accumulated over two batches.
        (("+data", 1, "-", 2, "+backward", 3, "-", "+data", 1, "-", 2, "+backward", 3, "-"), (2, 4, 6, 0, 0, 0, 0)),
        (("+data", 1, "-", 2, "+compile", 7, "-", 2, "+backward", 3, "-"), (1, 4, 3, 0, 7, 0, 0)),
        (("+data", 1, "-", 2, "+backward", 3, "+communication", 4, "-", "-"), (1, 2, 3, 0, 0, 4, 0)),
        # A loop without a data loader.
        ((2, "+backward", 3, "-", "+optimizer", 1, "-"), (0, 2, 3, 1, 0, 0, 0)),
        # One that only looks.
        (("+data", 1, "-", 2), (1, 0, 0, 0, 0, 0, 2)),
    ],
)
def test_parts_of_loops(words, expected):
    names = ("data", "forward", "backward", "optimizer", "compile", "communication", "host")
    assert step_of(*words) == {name: seconds for name, seconds in zip(names, expected) if seconds}


def test_what_something_else_tells_is_taken_from_where_it_was_counted():
    watch = Watch()
    parts = StepParts(watch)
    parts.enter("backward")
    watch.time += 5
    parts.leave()
    parts.take(2, "backward", "communication")
    parts.take(9, "backward", "compile")
    step = parts.end(1, True)
    assert (step.waited, step.parts["backward"], step.parts["compile"]) == (2, 0, 3)


def test_where_nothing_tells_of_waiting_it_is_not_known():
    assert StepParts(Watch()).end(1, False).communication is None
