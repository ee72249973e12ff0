# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a running haproxy is told and asked over its socket, which is root's."""

from __future__ import annotations

import csv
import socket
from dataclasses import dataclass

from .._errors import GaudiError

TIMEOUT_S = 10.0
_MOST_BYTES = 1 << 24
READY, DRAIN = "ready", "drain"


@dataclass(frozen=True)
class ServerState:
    """``status`` in haproxy's words (UP, DOWN, DRAIN, MAINT, with more behind some); ``in_flight`` with those that wait
    for this one."""

    status: str
    in_flight: int
    check: str = ""


def command(path: str, text: str) -> str:
    """Its answer; GaudiError where nobody answers."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(path)
            connection.sendall(f"{text}\n".encode())
            pieces = bytearray()
            while len(pieces) < _MOST_BYTES and (piece := connection.recv(1 << 16)):
                pieces += piece
    except OSError as error:
        raise GaudiError(
            f"the proxy does not answer at {path} ({error.strerror or error}); `systemctl status "
            "gaudi3-scale-serving-proxy` on its host has details."
        ) from error
    return pieces.decode(errors="replace")


def server_states(path: str) -> dict[str, ServerState]:
    """Of each server, by its name."""
    rows = csv.DictReader(command(path, "show stat").lstrip("# ").splitlines())
    return {
        row["svname"]: _state(row)
        for row in rows
        if row.get("pxname", "").startswith("model-") and row.get("svname") != "BACKEND"
    }


def set_state(path: str, server: str, state: str) -> None:
    """``server`` is BACKEND/SERVER. GaudiError where haproxy knows none."""
    said = command(path, f"set server {server} state {state}").strip()
    if said:
        raise GaudiError(f"the proxy did not set {server} to {state}: {said.splitlines()[0]}")


def _state(row: dict[str, str]) -> ServerState:
    return ServerState(row["status"], _number(row, "scur") + _number(row, "qcur"), row.get("check_status", ""))


def _number(row: dict[str, str], name: str) -> int:
    text = row.get(name) or "0"
    return int(text) if text.isdecimal() else 0
