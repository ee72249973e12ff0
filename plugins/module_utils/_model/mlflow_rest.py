# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Calls of MLflow's REST interface (2.0), for the registry of models and for the curves of a training.

Its own client retries for minutes, and waits at the end of the process.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from typing import Any, Mapping
from urllib.parse import urlsplit

TIMEOUT_S = 10.0
_MOST_ANSWER_BYTES = 1 << 22
_LATER = (408, 409, 425, 429, 500, 502, 503, 504)
# MLflow 3.18 answers 400 where the same points arrive while those of the request before, which went unanswered, are
# being written: words of SQLAlchemy and of PostgreSQL. A moment later it finds them there, and takes them for known.
_TWICE_AT_ONCE = ("IntegrityError", "UniqueViolation")


class ServerDownError(Exception):
    """It may answer a little later."""


class ServerRefusedError(Exception):
    """It does not take this, also later."""


def is_server(url: str) -> bool:
    """Whether it can be a tracking server's: MLflow also takes files and databases for one."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not parts.username
    except ValueError:
        return False
    return is_url and url.isprintable() and " " not in url


def printable(text: str) -> str:
    """What a server said, as far as a screen takes it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:300].strip()


class MlflowRest:
    """One server. ``credentials`` are named as MLflow's environment variables are."""

    def __init__(self, url: str, credentials: Mapping[str, str], timeout: float = TIMEOUT_S) -> None:
        self._uri = url.rstrip("/")
        self._headers = {"Content-Type": "application/json", **_authorization(credentials)}
        certificates = credentials.get("MLFLOW_TRACKING_SERVER_CERT_PATH")
        context = ssl.create_default_context(cafile=certificates) if certificates else None
        handlers = [urllib.request.HTTPSHandler(context=context)] if context else []
        self._opener = urllib.request.build_opener(*handlers, _NoRedirect())
        self._timeout = timeout

    def call(self, path: str, body: Mapping[str, Any] | None, method: str | None = None) -> dict[str, Any]:
        """The answer to a POST, or, without a body, to a GET."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._uri}/api/2.0/mlflow/{path}", data, self._headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return _object(_read(answer, self._timeout))
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error, self._timeout) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServerDownError(f"{type(reason).__name__}: {reason}") from error
        except ValueError as error:
            raise ServerRefusedError(f"its answer is none of MLflow's ({error})") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is for the server that it was given for."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        return None


def _authorization(environment: Mapping[str, str]) -> dict[str, str]:
    token = environment.get("MLFLOW_TRACKING_TOKEN")
    if token:
        return {"Authorization": f"Bearer {token}"}
    name, password = environment.get("MLFLOW_TRACKING_USERNAME"), environment.get("MLFLOW_TRACKING_PASSWORD")
    if name and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
    return {}


def _read(answer: Any, timeout: float) -> bytes:
    """All of it; ServerDownError where it comes byte by byte for longer than that."""
    end, found = time.monotonic() + timeout, b""
    while piece := answer.read1(1 << 16):
        found += piece
        if time.monotonic() > end:
            raise ServerDownError("its answer takes too long")
        if len(found) > _MOST_ANSWER_BYTES:
            raise ServerRefusedError("its answer is too large")
    return found


def _object(content: bytes) -> dict[str, Any]:
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def _refused(error: urllib.error.HTTPError, timeout: float) -> Exception:
    try:
        told = _object(_read(error, timeout))
        what = f"{told.get('error_code', error.code)}: {str(told.get('message', ''))[:200]}"
    except (ValueError, OSError, http.client.HTTPException, ServerRefusedError, ServerDownError):
        what = f"HTTP {error.code}"
    is_later = error.code in _LATER or any(word in what for word in _TWICE_AT_ONCE)
    return ServerDownError(what) if is_later else ServerRefusedError(what)
