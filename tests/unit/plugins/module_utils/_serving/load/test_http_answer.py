# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Answers and events in pieces of every size."""

from __future__ import annotations

import pytest

from plugins.module_utils._serving.load.http_answer import HttpAnswer
from plugins.module_utils._serving.load.sse import Events

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\n\r\n",
    b"hello, world",
)
SIZED = (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfull", b"full")


@pytest.mark.parametrize(("text", "body"), [CHUNKED, SIZED])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_body_is_the_same_in_pieces_of_any_size(text: bytes, body: bytes, size: int) -> None:
    answer, found = HttpAnswer(), b""
    for place in range(0, len(text), size):
        found += answer.take(text[place : place + size])
    assert (found, answer.is_whole) == (body, True)
    assert answer.may_stay is (text == CHUNKED[0])


def test_one_without_a_length_ends_with_its_connection() -> None:
    answer = HttpAnswer()
    assert answer.take(b"HTTP/1.0 200 OK\r\n\r\nall") == b"all"
    assert not answer.is_whole
    answer.end()
    assert (answer.is_whole, answer.may_stay) == (True, False)


def test_one_that_is_cut_is_not_whole() -> None:
    answer = HttpAnswer()
    answer.take(CHUNKED[0][:-10])
    answer.end()
    assert not answer.is_whole


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: four\r\n\r\n", "length is no number"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "no length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "no length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 2000, "no length"),
        (b"HTTP/1.1 " + b"x" * 70000, "does not end"),
    ],
)
def test_what_is_no_answer(text: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HttpAnswer().take(text)


@pytest.mark.parametrize("size", [1, 4, 100])
def test_events_are_whole_before_they_count(size: int) -> None:
    text = b': ping\n\ndata: {"a": 1}\n\ndata:{"b": 2}\r\n\r\ndata: [DONE]\n\n'
    events, found = Events(), []
    for place in range(0, len(text), size):
        found += events.take(text[place : place + size])
    assert found == [b'{"a": 1}', b'{"b": 2}', b"[DONE]"]
