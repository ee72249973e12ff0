# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A run against a server whose times are known, and against servers that answer as none should."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._serving.load.run import Load, measure, prompts
from plugins.module_utils._serving.load.target import Target

from .stub_server import StubServer, send_chunk, send_event, send_json

SMALL = Load(concurrency=4, requests=20, input_tokens=8, output_tokens=5, timeout=20)


def target(server: StubServer, **more: Any) -> Target:
    return Target("127.0.0.1", server.port, **more)


def test_a_run_measures_what_the_server_takes() -> None:
    with StubServer(token_s=0.02) as server:
        found = measure(target(server), SMALL)
    assert (found["model"], found["version"], found["requests"], found["failed"]) == ("stub", "9.9", 20, 0)
    assert (found["concurrency"], found["stopped_early"]) == (4, False)
    # 5 tokens of 20 ms each, one after the other; a busy machine is later, never earlier.
    assert 20 <= found["first_token_ms"]["p50"] < 60
    assert 20 <= found["between_tokens_ms"]["p50"] < 60
    assert 20 <= found["per_token_ms"]["mean"] < 60
    assert 100 <= found["request_ms"]["p50"] < 300
    assert found["output_tokens_per_s"] == pytest.approx(5 * found["requests_per_s"])
    assert found["input_tokens_per_s"] == pytest.approx(8 * found["requests_per_s"])
    assert 4 / 0.3 < found["requests_per_s"] <= 4 / 0.1


def test_as_many_requests_run_as_there_are_clients_and_each_keeps_its_connection() -> None:
    running, most = 0, 0

    async def counted(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await server._stream(writer, asked)
        running -= 1

    with StubServer(odd=counted) as server:
        measure(target(server), SMALL)
        # One more to look at the server first.
        assert (most, server.connections) == (4, 5)
        assert len(server.bodies) == 21


def test_no_two_requests_have_the_same_prompt_and_each_run_has_the_same_ones() -> None:
    bodies = list(prompts("m", 0, SMALL))
    assert len(set(bodies)) == 20
    assert bodies == list(prompts("m", 0, SMALL))


def test_requests_that_begin_together_do_not_count_where_they_are_left_out() -> None:
    with StubServer(seats=1, token_s=0.01) as server:
        load = Load(concurrency=8, requests=8, input_tokens=4, output_tokens=2, timeout=20)
        with_all = measure(target(server), load)
        without = measure(target(server), Load(8, 16, 4, 2, 20, left_out=8))
    assert with_all["first_token_ms"]["p50"] < without["first_token_ms"]["p50"]
    assert without["requests"] == 16


def test_a_run_ends_once_its_limit_must_be_missed() -> None:
    with StubServer(seats=1, token_s=0.01) as server:
        found = measure(target(server), Load(8, 200, 4, 1, 20, first_token_ms=1))
    assert found["stopped_early"]
    assert found["requests"] < 40


def test_the_key_is_sent_and_never_shown() -> None:
    with StubServer(key="s3cret") as server:
        assert measure(target(server, key="s3cret"), SMALL)["failed"] == 0
        with pytest.raises(GaudiError, match="does not say which models it serves: status 401: Unauthorized"):
            measure(target(server, key="wrong"), SMALL)
        assert "s3cret" not in repr(target(server, key="s3cret"))


async def refused(writer: asyncio.StreamWriter, _asked: object) -> None:
    send_json(writer, {"error": {"message": "no\x1b[31m room"}}, 503)


async def cut(writer: asyncio.StreamWriter, _asked: object) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    send_event(writer, {"choices": [{"text": "a"}]})
    writer.close()


async def undone(writer: asyncio.StreamWriter, _asked: object) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    send_event(writer, {"choices": [{"text": "a"}]})
    writer.write(b"0\r\n\r\n")


async def broken_off(writer: asyncio.StreamWriter, _asked: object) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    send_event(writer, {"error": {"message": "EngineDeadError"}})
    writer.write(b"0\r\n\r\n")


async def aborted(writer: asyncio.StreamWriter, _asked: object) -> None:
    """As a real vLLM 0.32 answers while it stops."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    send_event(writer, {"choices": [{"text": "", "finish_reason": "abort"}]})
    send_chunk(writer, b"data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")


async def endless(writer: asyncio.StreamWriter, _asked: object) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _number in range(40):
        send_chunk(writer, b"x" * (1 << 16))
        await writer.drain()


async def foreign(writer: asyncio.StreamWriter, _asked: object) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


async def hanging(_writer: asyncio.StreamWriter, _asked: object) -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (refused, r"status 503: no.*room\."),
        (cut, "the answer was cut"),
        (undone, "the stream ended before its last event"),
        (broken_off, "EngineDeadError"),
        (aborted, "the server aborted the request"),
        (endless, "an event does not end"),
        (foreign, "it is not HTTP"),
        (hanging, "no whole answer within 1 s"),
    ],
)
def test_a_server_that_answers_as_none_should_is_one_sentence(odd: Any, words: str) -> None:
    load = Load(concurrency=1, requests=2, input_tokens=4, output_tokens=2, timeout=1)
    with StubServer(odd=odd) as server, pytest.raises(GaudiError, match=words) as raised:
        measure(target(server), load)
    assert str(raised.value).startswith(f"127.0.0.1:{server.port} does not answer one request: ")
    assert "\x1b" not in str(raised.value)


def test_requests_that_fail_in_a_run_are_counted_by_their_errors() -> None:
    async def every_third(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        if len(server.bodies) % 3 == 0:
            await refused(writer, asked)
        else:
            await server._stream(writer, asked)

    with StubServer(odd=every_third) as server:
        found = measure(target(server), Load(1, 12, 4, 2, 20))
    assert found["failed"] == sum(found["errors"].values()) == 4
    (reason,) = found["errors"]
    assert reason.startswith("status 503: no")


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        # Bound, so that nobody else gets it, and not listened on.
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(GaudiError, match=f"^127.0.0.1:{port} does not say which models it serves: "):
            measure(Target("127.0.0.1", port), SMALL)


def test_more_tokens_than_the_model_is_served_with() -> None:
    with StubServer() as server, pytest.raises(GaudiError, match=r"are 4000 \+ 97 = 4097, but stub is served with"):
        measure(target(server), Load(1, 1, 4000, 97, 20))


def test_another_model_than_is_served() -> None:
    with StubServer() as server, pytest.raises(GaudiError, match="does not serve mine"):
        measure(target(server, model="mine"), SMALL)
