# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An instance is asked for the answers of its record: what is the same is admitted, and what differs is named."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.admission import (
    difference,
    examine,
    likeliest,
    question,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.asking import Answer, Endpoint
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import Control
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.expected import (
    TOLERANCES,
    Expected,
    Window,
    parse_expected,
    read_expected,
)

WINDOW = Window((5, 6, 7), {17: -0.5, 3: -1.5, 9: -2.5})
EXPECTED = Expected("float32", (WINDOW, Window((5, 6, 7, 8, 9), {1: -0.1, 2: -3.0, 4: -4.0})))
SERVER = Endpoint("127.0.0.1", 1)


def body(top, prefix="token_id:"):
    listed = {f"{prefix}{token}": value for token, value in top.items()}
    return {"choices": [{"text": "x", "logprobs": {"tokens": ["x"], "top_logprobs": [listed]}}]}


def answers(*tops):
    """An ``ask`` that answers with these in turn, and remembers what it was asked."""
    left, asked = list(tops), []

    def ask(_endpoint, _path, question, _timeout):
        asked.append(question)
        found = left.pop(0)
        return found if found is None or isinstance(found, Answer) else Answer(200, body(found))

    ask.asked = asked
    return ask


def same(windows=EXPECTED.windows, rounds=1):
    return [dict(window.top) for _ in range(rounds) for window in windows]


def admitted(*tops, dtype="float32", longest=0, limit_ms=0.0, clock=None):
    more = {"clock": clock} if clock else {}
    return examine(SERVER, "m", EXPECTED, dtype, longest, limit_ms, asked=answers(*tops), **more)


def test_the_same_answers_are_admitted():
    verdict = admitted(*same())
    assert (verdict.reason, verdict.windows) == ("", 2)


def test_what_is_asked_for_is_the_next_token_by_number():
    asked = question("m", WINDOW)
    assert asked["prompt"] == [5, 6, 7] and asked["max_tokens"] == 1 and asked["logprobs"] == 3
    assert asked["return_tokens_as_token_ids"] is True and asked["temperature"] == 0


def test_another_answer_is_named_by_window_and_token():
    verdict = admitted(*same()[:1], {1: -0.1, 2: -3.5, 4: -4.0})
    assert verdict.reason == (
        "window 2 of 2 (5 tokens): token 2 has the log-probability -3.5000, and -3.0000 in the record "
        "(tolerance 0.01 of float32)"
    )


@pytest.mark.parametrize(
    ("got", "is_same"),
    [
        ({17: -0.5, 3: -1.5, 9: -2.509}, True),
        ({17: -0.5, 3: -1.5, 9: -2.52}, False),
        # Two of nearly the same probability have changed places, and the last is another.
        ({17: -0.5, 3: -1.5, 8: -2.499}, True),
        ({17: -0.5, 3: -1.5, 8: -2.4}, False),
        # A token that was unlikely has become the likeliest.
        ({4: -0.1, 17: -3.0, 3: -4.0}, False),
        # One that the record has is gone, and what there is instead is less likely.
        ({17: -0.5, 3: -1.5, 8: -2.8}, False),
    ],
)
def test_two_tokens_that_are_as_likely_may_change_places(got, is_same):
    assert (difference(WINDOW, Answer(200, body(got)), 0.01, "float32") == "") is is_same


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "no answer within 60 s"),
        (Answer(503, {}), "status 503"),
        (Answer(400, {"error": {"message": "no\nlogprobs"}}), "status 400: no logprobs"),
        (Answer(200, {}), "no log-probabilities of token numbers"),
        (Answer(200, {"choices": []}), "no log-probabilities"),
        (Answer(200, {"choices": [{"logprobs": None}]}), "no log-probabilities"),
        (Answer(200, {"choices": [{"logprobs": {"top_logprobs": [["a"]]}}]}), "no log-probabilities"),
        (Answer(200, body({"x": -1.0})), "no log-probabilities"),
        (Answer(200, body({17: -0.5}, prefix="")), "no log-probabilities"),
    ],
)
def test_whatever_answers_is_data(answer, said):
    assert said in difference(WINDOW, answer, 0.01, "float32")


def test_the_tolerance_is_that_of_what_is_computed_with():
    assert EXPECTED.tolerance("float32") == ("float32", TOLERANCES["float32"])
    # vLLM computes with bfloat16 where nobody says otherwise.
    assert EXPECTED.tolerance("") == EXPECTED.tolerance("auto") == ("bfloat16", TOLERANCES["bfloat16"])
    assert Expected("float16", ()).tolerance("") == ("float16", TOLERANCES["float16"])
    assert EXPECTED.tolerance("inc") == ("inc", max(TOLERANCES.values()))


def test_windows_that_do_not_fit_are_not_asked():
    assert admitted(*same()[:1], longest=5).windows == 1
    assert "max_model_len 3 is too short" in admitted(longest=3).reason


def test_slower_than_the_limit_is_not_admitted():
    ticks = iter(range(1000))
    verdict = admitted(*same(rounds=3), limit_ms=500, clock=lambda: next(ticks))
    assert verdict.reason == "it answers in 1000 ms (median), slower than the limit of 500 ms"
    assert admitted(*same(rounds=3), limit_ms=60_000).reason == ""


def test_an_answer_without_numbers_is_none():
    assert likeliest(body({17: -0.5})) == {17: -0.5}
    assert likeliest({"choices": "x"}) == {}


@pytest.fixture
def model(tmp_path: Path):
    """``model(**changes)`` is the control file's content of an instance whose model has a record with answers."""

    def made(record: dict[str, object] | None = None, version: str = "") -> Control:
        windows = [
            {"tokens": list(one.tokens), "top": [list(pair) for pair in one.top.items()]} for one in EXPECTED.windows
        ]
        about = {"format": 1, "dtype": "float32", "answers": {"decimals": 4, "windows": windows}}
        (tmp_path / "weights").write_bytes(b"w")
        digest = hashlib.sha256(b"w").hexdigest()
        content = {**about, **(record or {}), "files": {"weights": {"bytes": 1, "sha256": digest}}}
        text = json.dumps(content)
        (tmp_path / "gaudi3_scale_export.json").write_text(text)
        version = version or hashlib.sha256(text.encode()).hexdigest()
        return Control("chat", "127.0.0.1", 1, "m", str(tmp_path), version, (0,), "0.26.0", "u")

    return made


def test_the_record_is_that_of_the_instance(model):
    assert read_expected(model()) == EXPECTED
    with pytest.raises(GaudiError, match="is another than when the instance was set up; run"):
        read_expected(model(version="0" * 64))


@pytest.mark.parametrize("answers_", [None, {}, {"windows": []}, {"windows": [{"tokens": []}]}, {"windows": "x"}])
def test_a_record_without_answers_is_refused(model, answers_):
    with pytest.raises(GaudiError, match=r"has no answers in its .*; export the checkpoint again with this release"):
        read_expected(model({"answers": answers_}))


def test_an_answer_that_is_no_number_is_refused():
    with pytest.raises(ValueError):
        parse_expected({"dtype": "float32", "answers": {"windows": [{"tokens": [1], "top": [[1, "x"]]}]}})
    assert not math.isnan(EXPECTED.windows[0].top[17])
