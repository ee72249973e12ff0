# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How a collective ends when another rank went away: the echo of an error whose cause is elsewhere."""

from __future__ import annotations

from .tracebacks import Raised

# gloo, c10d's store and process groups of torch 2.13; the patience of a collective that others do not come to.
SIGNS = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "remote process exited",
    "connection was likely closed",
    "the client socket has failed to connect",
    "the client socket has timed out",
    "application timeout caused pair closure",
    "timed out waiting",
    "wait timeout after",
    "clients joined",
    "collective operation timeout",
    "failed to pass monitoredbarrier",
)
# Of these, what a rank says whose patience with the others is over: they are there, and do not come.
PATIENCE = (
    "timed out waiting",
    "wait timeout after",
    "clients joined",
    "collective operation timeout",
    "failed to pass monitoredbarrier",
    "application timeout caused pair closure",
)
# What a program raises about connections that it made itself: to a hub, to a bucket, to a worker of a data loader.
_OWN_TYPES = ("BrokenPipeError", "ProtocolError", "ChunkedEncodingError", "TimeoutError", "ReadTimeout", "URLError")
_OWN_MODULES = ("requests", "urllib3", "http", "urllib", "aiohttp", "httpx", "httpcore", "botocore", "huggingface_hub")


def says_lost_peer(text: str) -> bool:
    """Whether a collective wrote ``text`` for want of a peer."""
    lower = text.lower()
    return any(sign in lower for sign in SIGNS)


def is_lost_peer(raised: Raised) -> bool:
    """Whether this exception says that another rank went away, and not a server that the program talked to."""
    return not is_of_server(raised) and says_lost_peer(raised.message)


def is_of_server(raised: Raised) -> bool:
    """Whether this exception is about a connection that the program made itself."""
    name, module = raised.type.rpartition(".")[2], raised.type.partition(".")[0]
    return name in _OWN_TYPES or name.startswith("Connection") or module in _OWN_MODULES


def has_waited(text: str) -> bool:
    """Whether a collective wrote ``text`` since others did not come in time."""
    lower = text.lower()
    return any(sign in lower for sign in PATIENCE)
