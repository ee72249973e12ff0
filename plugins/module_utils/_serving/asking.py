# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An instance asked over HTTP, as its clients do: with its key, and trusting its certificate alone."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import GaudiError
from .._node.json_file import parse_object
from .._node.regular_file import read_bounded

MOST_BYTES, MOST_KEY_BYTES = 1 << 26, 4096
COMPLETIONS, HEALTH, MODELS = "/v1/completions", "/health", "/v1/models"


@dataclass(frozen=True)
class Endpoint:
    """Where it answers. ``certificate`` is a file in PEM; "": no TLS. ``key`` "": it asks for none."""

    address: str
    port: int
    certificate: str = ""
    key: str = ""

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        """A connection, not opened yet."""
        if not self.certificate:
            return http.client.HTTPConnection(self.address, self.port, timeout=timeout)
        context = ssl.create_default_context(cafile=self.certificate)
        # It is the one that is named, whatever names are in it.
        context.check_hostname = False
        return http.client.HTTPSConnection(self.address, self.port, timeout=timeout, context=context)


@dataclass(frozen=True)
class Answer:
    """``status`` of HTTP, and the object in its body; an empty one where there is none."""

    status: int
    body: Mapping[str, Any]


def endpoint_of(address: str, port: int, certificate: str, key_file: str) -> Endpoint:
    """The endpoint of a control file; GaudiError for a key that cannot be read."""
    return Endpoint(address, port, certificate, read_key(key_file) if key_file else "")


def read_key(file: str) -> str:
    """The key in a file's one line; GaudiError for what is none."""
    try:
        text = read_bounded(file, MOST_KEY_BYTES, follow=True).decode("ascii").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        raise GaudiError(f"key_file {file} cannot be read on this node ({reason}); put the key there.") from None
    if not text or not text.isprintable() or " " in text:
        raise GaudiError(f"key_file {file} has no key; write the key in one line, without blanks.")
    return text


def ask(endpoint: Endpoint, path: str, body: Mapping[str, Any] | None = None, timeout: float = 30.0) -> Answer | None:
    """One question; None where nobody answers in time. What answers is data."""
    connection = endpoint.connection(timeout)
    try:
        text = None if body is None else json.dumps(body).encode()
        headers = {**endpoint.headers, **({"Content-Type": "application/json"} if text else {})}
        connection.request("POST" if text else "GET", path, text, headers)
        response = connection.getresponse()
        return Answer(response.status, _object(response.read(MOST_BYTES)))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        return parse_object(text, MOST_BYTES)
    except ValueError:
        return {}
