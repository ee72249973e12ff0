# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Messages as the datagrams that they really are."""

from __future__ import annotations

from gaudi3_scale.supervisor.datagram import Decoder, encode

KEY = b"k" * 32


class Codec:
    """``nodes``: how many there are. Each keeps the pieces of what it has not got the whole of yet."""

    def __init__(self, nodes: int) -> None:
        self._decoders = [Decoder(KEY, nodes) for _node in range(nodes)]

    def datagrams(self, message) -> list[bytes]:
        return encode(message, KEY)

    def read(self, receiver: int, datagram: bytes):
        """The message; None where a piece is still on its way."""
        return self._decoders[receiver].take(datagram)
