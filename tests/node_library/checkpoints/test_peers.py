# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that speak with each other before their ranks start, over real connections; and those that are none."""

from __future__ import annotations

import errno
import queue
import socket
import threading

import pytest

from gaudi3_scale.checkpoints.peers import Listener, PeerError, connect
from gaudi3_scale.core._errors import GaudiError

KEY = b"k" * 32


@pytest.fixture
def served():
    """What the listener has, and the channels that have greeted it."""
    channels = queue.Queue()
    listener = Listener(0, KEY, "launch:2", channels.put)
    yield listener, channels
    listener.close()


def test_values_and_files_arrive_as_they_were_sent(served, tmp_path):
    listener, channels = served
    here = connect("127.0.0.1", listener.port, KEY, "launch:2", 5)
    there = channels.get(timeout=5)
    here.send({"want": ["é", 1, None]})
    assert there.receive() == {"want": ["é", 1, None]}
    content = bytes(range(256)) * 9000
    (tmp_path / "file").write_bytes(content)
    there.send_file(tmp_path / "file", len(content))
    assert b"".join(here.receive_file(len(content))) == content
    here.close()
    with pytest.raises(PeerError, match="it is gone"):
        there.receive()


@pytest.mark.parametrize(("key", "generation"), [(b"x" * 32, "launch:2"), (KEY, "launch:1"), (KEY, "other:2")])
def test_another_key_or_generation_is_not_greeted(served, key, generation):
    listener, channels = served
    with pytest.raises(PeerError):
        connect("127.0.0.1", listener.port, key, generation, 0)
    assert channels.empty()


def test_whoever_sends_something_else_is_let_go(served):
    listener, channels = served
    for content in (b"", b"GET / HTTP/1.1\r\n\r\n" * 9, b"\xff" * 4096):
        with socket.create_connection(("127.0.0.1", listener.port), 5) as stranger:
            stranger.settimeout(5)
            try:
                stranger.sendall(content)
                stranger.shutdown(socket.SHUT_WR)
                while stranger.recv(4096):
                    pass
            except OSError as error:
                # It was let go before all was sent or read. A timeout has another number: then it was not.
                assert error.errno in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN), error
    assert channels.empty()
    connect("127.0.0.1", listener.port, KEY, "launch:2", 5).close()


def test_a_message_is_not_taken_twice(served):
    listener, channels = served
    with socket.create_server(("127.0.0.1", 0)) as between:
        # It passes on what goes to the listener, the last message twice.
        def pass_on():
            near, _address = between.accept()
            far = socket.create_connection(("127.0.0.1", listener.port))
            back = threading.Thread(target=lambda: [near.sendall(piece) for piece in iter(lambda: far.recv(4096), b"")])
            back.daemon = True
            back.start()
            pieces = iter(lambda: near.recv(4096), b"")
            for piece in pieces:
                far.sendall(piece)
                if b"only once" in piece:
                    far.sendall(piece)

        threading.Thread(target=pass_on, daemon=True).start()
        here = connect("127.0.0.1", between.getsockname()[1], KEY, "launch:2", 5)
        there = channels.get(timeout=5)
        here.send("only once")
        assert there.receive() == "only once"
        with pytest.raises(PeerError, match="it has another key"):
            there.receive()


def test_a_file_that_has_become_shorter_is_said(served, tmp_path):
    listener, channels = served
    here = connect("127.0.0.1", listener.port, KEY, "launch:2", 5)
    there = channels.get(timeout=5)
    (tmp_path / "file").write_bytes(b"abc")
    with pytest.raises(PeerError, match="has become shorter"):
        there.send_file(tmp_path / "file", 4)
    there.close()
    with pytest.raises(PeerError, match="it is gone"):
        list(here.receive_file(4))


def test_nobody_there(served):
    listener, _channels = served
    listener.close()
    with pytest.raises(PeerError, match="refused"):
        connect("127.0.0.1", listener.port, KEY, "launch:2", 0.3)


def test_a_port_that_is_taken(served):
    listener, _channels = served
    with pytest.raises(GaudiError, match=f"port {listener.port} cannot be listened on: Address already in use"):
        Listener(listener.port, KEY, "launch:2", print)
