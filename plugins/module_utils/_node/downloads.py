# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Fetching a file over the network, with every failure as one sentence that names the URL and the remedy.

Proxies are those of the environment (``http_proxy``, ``https_proxy``, ``no_proxy``), as everywhere on the node.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any, Callable, Protocol

from .._errors import GaudiError
from .digests import file_digest

TIMEOUT_S = 30.0
ATTEMPTS = 3
_BLOCK = 1 << 20
_SMALL = 1 << 20


class Answer(Protocol):
    """What urllib opens, for every scheme."""

    headers: Message

    def read(self, amount: int) -> bytes:
        """At most so many bytes; none at the end."""


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    """A redirect from https to plain http is no answer: it would take away what the operator asked for."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if req.type == "https" and not newurl.startswith("https://"):
            raise urllib.error.URLError(f"it redirects to {newurl.partition(':')[0]}, without TLS")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, what: str, option: str, largest: int = _SMALL) -> bytes:
    """The body of a document of at most ``largest`` bytes. ``what`` and ``option`` are words for the error sentence."""
    body = [b""]

    def into_memory(answer: Answer) -> None:
        body.append(answer.read(largest + 1))

    _transfer(url, what, option, into_memory)
    if len(body[-1]) > largest:
        raise GaudiError(
            f"{what} cannot be what {url} answers, which is larger than {largest >> 20} MiB; correct {option}.", url=url
        )
    return body[-1]


def download(url: str, path: str, what: str, option: str, checksum: str = "", size: int | None = None) -> None:
    """Stream ``url`` into ``path``; ``checksum`` is ``<algorithm>:<hex digits>`` or empty.

    Fetching ends soon after ``size`` bytes, where that is known: an answer without an end would fill the disk.
    """
    expected = _expected(checksum)
    digests: list[str] = []

    def into_file(answer: Answer) -> None:
        digest = hashlib.new(expected[0] if expected else "sha256")
        with Path(path).open("wb") as target:
            for block in iter(lambda: answer.read(_BLOCK), b""):
                digest.update(block)
                target.write(block)
                if size is not None and target.tell() > size:
                    break
            # http.client itself notices a body that is cut short only where it is read as a whole.
            missing = (
                0
                if size is not None and target.tell() > size
                else int(answer.headers.get("Content-Length") or target.tell()) - target.tell()
            )
            if missing > 0:
                raise http.client.IncompleteRead(b"", missing)
        digests.append(digest.hexdigest())

    _transfer(url, what, option, into_file)
    if expected and digests[-1] != expected[1]:
        Path(path).unlink()
        raise GaudiError(
            f"{what} from {url} has the {expected[0]} {digests[-1]}, not {expected[1]}: "
            "the file was changed or cut short, or the checksum belongs to another file.",
            url=url,
        )


def resume(url: str, path: str, what: str, option: str, checksum: str = "", size: int = 0) -> None:
    """As :func:`download`, but what an interrupted call left in ``path`` is kept where the server can go on from it.

    ``size`` (bytes, 0: not known) tells a file that is complete but was not checked yet from one that is not.
    """
    expected = _expected(checksum)
    part = Path(path)
    kept = part.stat().st_size if part.exists() else 0
    if size and kept > size:
        part.unlink()
    if not size or kept != size:
        _append(url, part, what, option)
    if expected and file_digest(part, expected[0]) != expected[1]:
        part.unlink()
        if kept:  # The server's file may have changed since the part that was kept.
            return resume(url, path, what, option, checksum, size)
        raise GaudiError(
            f"{what} from {url} does not have the {expected[0]} {expected[1]}: the file was changed or cut short, or "
            "its index is out of date; try again later.",
            url=url,
        )
    return None


def _append(url: str, part: Path, what: str, option: str) -> None:
    def request() -> urllib.request.Request:
        kept = part.stat().st_size if part.exists() else 0
        return urllib.request.Request(url, headers={"Range": f"bytes={kept}-"} if kept else {})

    def into_file(answer: Answer) -> None:
        goes_on = getattr(answer, "status", None) == 206
        with part.open("ab" if goes_on else "wb") as target:
            start = target.tell()
            for block in iter(lambda: answer.read(_BLOCK), b""):
                target.write(block)
            missing = int(answer.headers.get("Content-Length") or target.tell() - start) - (target.tell() - start)
            if missing > 0:
                raise http.client.IncompleteRead(b"", missing)

    try:
        _transfer(url, what, option, into_file, request)
    except GaudiError as error:
        # 416: there is nothing after what was kept, so that was another file, or it was complete all along.
        cause = error.__cause__
        if not (isinstance(cause, urllib.error.HTTPError) and cause.code == 416):
            raise
        part.unlink()
        _transfer(url, what, option, into_file, request)


def length(url: str, what: str, option: str) -> int:
    """Size of what ``url`` answers in bytes, 0 where the server does not say; the body is left there."""
    found: list[int] = []
    _transfer(url, what, option, lambda answer: found.append(int(answer.headers.get("Content-Length") or 0)))
    return found[-1]


def _expected(checksum: str) -> tuple[str, str] | None:
    if not checksum:
        return None
    algorithm, _colon, digits = checksum.strip().lower().partition(":")
    if algorithm not in hashlib.algorithms_guaranteed or not digits or set(digits) - set("0123456789abcdef"):
        raise GaudiError(f"The checksum '{checksum}' is not of the form sha256:<hex digits>.", checksum=checksum)
    return algorithm, digits


def _transfer(
    url: str,
    what: str,
    option: str,
    receive: Callable[[Answer], None],
    request: Callable[[], urllib.request.Request | str] | None = None,
) -> None:
    """Give the answer to ``receive``; a server in trouble, or a connection that breaks, is tried again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.build_opener(_NoDowngrade).open(
                request() if request else url, timeout=TIMEOUT_S
            ) as answer:
                receive(answer)
            return
        except Exception as error:  # everything urllib and http.client can raise; _reason() names what it knows
            if isinstance(error, GaudiError):
                raise
            if attempt == ATTEMPTS or not _passing(error):
                cause, remedy = _reason(error, url, option)
                raise GaudiError(f"{what} cannot be fetched from {url}: {cause}; {remedy}.", url=url) from error
            time.sleep(attempt)


def _passing(error: Exception) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500 or error.code == 429
    cause = getattr(error, "reason", error)
    return isinstance(cause, (socket.timeout, ConnectionResetError, http.client.HTTPException))


def _reason(error: Exception, url: str, option: str) -> tuple[str, str]:
    """What happened, and what to do about it."""
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code} {error.reason}", _http_remedy(error.code, option)
    cause = getattr(error, "reason", error)
    host = urllib.parse.urlsplit(url).hostname or "its host"
    if isinstance(cause, ssl.SSLError):
        return f"the certificate of {host} is not trusted ({cause})", (
            "install the site's CA certificate (and ca-certificates) on this node"
        )
    if isinstance(error, (urllib.error.URLError, socket.timeout, ConnectionError, http.client.HTTPException)):
        if isinstance(cause, (FileNotFoundError, IsADirectoryError)):
            return "there is no such file", f"correct {option}"
        return _network_words(cause), (
            f"check this node's DNS, route and proxy to {host}, or set {option} to a mirror that it reaches"
        )
    if isinstance(error, OSError):
        return (error.strerror or str(error)), "check the free space and the permissions on this node"
    return f"this is not a usable URL ({error})", f"correct {option}"


def _http_remedy(code: int, option: str) -> str:
    if code in (401, 403, 407):
        return "let this node through there, or give it the credentials that the site asks for"
    if code >= 500:
        return "the server is in trouble: try again later"
    return f"correct {option}"


def _network_words(cause: object) -> str:
    if isinstance(cause, http.client.IncompleteRead):
        return f"the connection ended {cause.expected} bytes before the end"
    if isinstance(cause, socket.timeout):
        return f"no answer within {TIMEOUT_S:.0f} s"
    if isinstance(cause, socket.gaierror):
        return "its name is not known to this node"
    return str(getattr(cause, "strerror", None) or cause).lower()
