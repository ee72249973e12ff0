# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A measurement, run by run, and the options that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._serving.load.measurement import advance
from plugins.module_utils._serving.load.run import Load
from plugins.module_utils._serving.load.target import Target

OPTIONS: dict[str, Any] = {
    "name": "",
    "url": "http://serving:8000",
    "model": "",
    "key_file": None,
    "certificate": None,
    "input_tokens": 512,
    "output_tokens": 128,
    "requests": 200,
    "concurrency": [1, 8, 8, 32],
    "first_token_ms": 0.0,
    "between_tokens_ms": 0.0,
    "highest": 256,
    "timeout": 300.0,
    "runs": [],
}


class Server:
    """Answers the first token after 10 ms for each client, and keeps what was asked."""

    def __init__(self) -> None:
        self.loads: list[Load] = []

    def __call__(self, target: Target, load: Load) -> dict[str, Any]:
        self.loads.append(load)
        spread = {"p95": 10.0 * load.concurrency}
        return {"concurrency": load.concurrency, "failed": 0, "first_token_ms": spread, "between_tokens_ms": {}}


def whole(server: Server, **more: Any) -> dict[str, Any]:
    options = {**OPTIONS, **more}
    result = advance(options, False, server)
    while result["next"] is not None:
        options["runs"] = result["runs"]
        before = len(result["runs"])
        result = advance(options, False, server)
        assert len(result["runs"]) == before + 1
    return result


def test_each_load_once_in_the_order_that_was_given() -> None:
    server = Server()
    result = whole(server)
    assert [run["concurrency"] for run in result["runs"]] == [1, 8, 32]
    assert (result["highest_load"], result["is_highest"]) == (None, False)
    assert [(load.requests, load.left_out) for load in server.loads] == [(201, 1), (208, 8), (232, 32)]
    assert len({load.seed for load in server.loads}) == 3


def test_with_a_limit_the_highest_load_is_searched_for() -> None:
    server = Server()
    result = whole(server, first_token_ms=455)
    assert result["highest_load"] in (44, 45)
    assert len(result["runs"]) <= 7
    assert all(load.first_token_ms == 455 for load in server.loads)


def test_where_the_highest_holds_more_may() -> None:
    result = whole(Server(), first_token_ms=5000, highest=100)
    assert (result["highest_load"], result["is_highest"]) == (100, True)


def test_many_clients_have_two_requests_each_that_count() -> None:
    server = Server()
    whole(server, concurrency=[500])
    assert (server.loads[0].requests, server.loads[0].left_out) == (1500, 500)


def test_check_mode_says_what_comes_first_and_asks_nothing() -> None:
    server = Server()
    assert advance(OPTIONS, True, server) == {
        "changed": False, "runs": [], "next": 1, "highest_load": None, "is_highest": False
    }  # fmt: skip
    assert server.loads == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"name": "chat"}, "name is chat, and a url is given too, but one server is measured; give one"),
        ({"url": "", "model": "m"}, "model is only for url; an instance brings its own"),
        ({"url": "", "name": "a/../b"}, "name: a/../b is no instance"),
        ({"url": "serving"}, "give scheme, host and port alone"),
        ({"concurrency": []}, r"concurrency is \[\]; give numbers of clients from 1 to 2048"),
        ({"concurrency": [0]}, r"concurrency is \[0\]"),
        ({"concurrency": [4096]}, r"concurrency is \[4096\]"),
        ({"highest": 4096}, "highest is 4096; give a number of clients from 1 to 2048"),
        ({"requests": 0}, "requests is 0; give a number above 0"),
        ({"output_tokens": 0}, "output_tokens is 0"),
        ({"timeout": 0.0}, "timeout is 0; give a number above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(more: dict[str, Any], words: str) -> None:
    server = Server()
    with pytest.raises(GaudiError, match=words):
        advance({**OPTIONS, **more}, False, server)
    assert server.loads == []
