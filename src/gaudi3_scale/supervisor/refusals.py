# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who refused our datagrams: Linux keeps ICMP's answers to a socket in its error queue (ip(7), IP_RECVERR).

A node whose supervisor is gone says so at once this way, long before its silence does.
"""

from __future__ import annotations

import errno
import socket
import struct

# linux/in.h, linux/in6.h and linux/errqueue.h; Python's socket does not name them.
IP_RECVERR = 11
IPV6_RECVERR = 25
ICMP_ORIGINS = (2, 3)
# The first fields of struct sock_extended_err: errno, origin.
ERROR = struct.Struct("=IB")
# It holds the error and the address of who sent it.
ANCILLARY_BYTES = 512
# The kernel's own bound of the queue is the receive buffer.
MOST_AT_ONCE = 1024

Target = tuple[str, int]


def ask_for_refusals(opened: socket.socket) -> bool:
    """Whether the kernel has such a queue; where it has none, nobody is ever seen to refuse."""
    level, option = (
        (socket.IPPROTO_IPV6, IPV6_RECVERR) if opened.family == socket.AF_INET6 else (socket.IPPROTO_IP, IP_RECVERR)
    )
    try:
        opened.setsockopt(level, option, 1)
    except OSError:
        return False
    return True


def refused_targets(opened: socket.socket) -> set[Target]:
    """Empties the queue: addresses and ports to which a datagram went that nobody listened for (port unreachable).

    Raises OSError where it cannot be read.
    """
    refused: set[Target] = set()
    for _answer in range(MOST_AT_ONCE):
        try:
            _data, ancillary, _flags, target = opened.recvmsg(1, ANCILLARY_BYTES, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            break
        if any(_is_refusal(level, kind, data) for level, kind, data in ancillary):
            refused.add(target[:2])
    return refused


def _is_refusal(level: int, kind: int, data: bytes) -> bool:
    asked = (level, kind) in ((socket.IPPROTO_IP, IP_RECVERR), (socket.IPPROTO_IPV6, IPV6_RECVERR))
    if not asked or len(data) < ERROR.size:
        return False
    number, origin = ERROR.unpack_from(data)
    return number == errno.ECONNREFUSED and origin in ICMP_ORIGINS
