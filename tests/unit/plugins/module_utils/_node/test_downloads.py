# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Fetching from a real HTTP server, and each way in which that fails as one sentence with a remedy."""

from __future__ import annotations

import hashlib
import http.server
import socket
import ssl
import threading
import urllib.error
from pathlib import Path
from typing import Any, Iterator

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node import downloads
from ansible_collections.gaudi3.scale.plugins.module_utils._node.downloads import download, fetch, length, resume

KEY = b"key" * 1000
BODY = b"wheels" * 500_000


class Server(http.server.ThreadingHTTPServer):
    """Answers ``/<status>/...`` with that status, until ``failures`` of them were given."""

    failures = 1_000_000
    asked = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.starts: list[int] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        status = int(self.path.split("/")[1])
        failing = status != 200 and self.server.asked <= self.server.failures
        if self.path.endswith("cut"):
            self.send_response(200)
            self.send_header("Content-Length", str(len(BODY) + 1))
            self.end_headers()
            self.wfile.write(BODY)
            return
        body = BODY if self.path.endswith(("bundle", "ranges")) else KEY
        if self.path.endswith("ranges") and "Range" in self.headers:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            self.server.starts.append(start)
            body, status, failing = body[start:], 206 if start < len(body) else 416, True
        self.send_response(status if failing else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(downloads.time, "sleep", lambda _seconds: None)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def url_of(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def test_a_small_document_is_fetched(server: Server) -> None:
    assert fetch(url_of(server, "/200/key"), "The key", "key_url") == KEY


@pytest.mark.parametrize(
    ("path", "sentence", "asked"),
    [
        (
            "/404/key",
            r"^The key cannot be fetched from .*/404/key: it answers 404 Not Found; correct key_url\.$",
            1,
        ),
        ("/403/key", r"answers 403 Forbidden; let this node through", 1),
        ("/401/key", r"answers 401 Unauthorized; let this node through there, or give it the credentials", 1),
        ("/503/key", r"answers 503 Service Unavailable; the server is in trouble: try again later", downloads.ATTEMPTS),
    ],
)
def test_an_answer_that_is_no_success_is_a_sentence(server: Server, path: str, sentence: str, asked: int) -> None:
    with pytest.raises(GaudiError, match=sentence):
        fetch(url_of(server, path), "The key", "key_url")
    assert server.asked == asked


def test_an_overloaded_server_is_asked_again(server: Server) -> None:
    server.failures = 2
    assert fetch(url_of(server, "/503/key"), "The key", "key_url") == KEY
    assert server.asked == 3


def test_what_is_too_large_for_a_key_is_refused(server: Server) -> None:
    with pytest.raises(GaudiError, match="larger than 1 MiB; correct key_url"):
        fetch(url_of(server, "/200/bundle"), "The key", "key_url")


def test_a_port_that_nobody_listens_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/key"
    with pytest.raises(GaudiError, match=r"connection refused; check this node's DNS, route and proxy to 127\.0\.0\.1"):
        fetch(url, "The key", "key_url")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (urllib.error.URLError(socket.gaierror(-2, "Name or service not known")), "its name is not known to this node"),
        (socket.timeout("timed out"), "no answer within 30 s; check this node's DNS, route and proxy to v.example.com"),
        (
            urllib.error.URLError(ssl.SSLCertVerificationError(1, "certificate verify failed")),
            r"the certificate of v\.example\.com is not trusted .*; install the site's CA certificate",
        ),
        (OSError(28, "No space left on device"), "No space left on device; check the free space"),
        (ValueError("unknown url type: 'x'"), r"not a usable URL \(unknown url type: 'x'\); correct key_url"),
    ],
)
def test_other_causes_are_named(monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str) -> None:
    def refuse(*_arguments: Any, **_more: Any) -> Any:
        raise error

    monkeypatch.setattr(downloads.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(downloads.urllib.request.OpenerDirector, "open", refuse)
    with pytest.raises(GaudiError, match=sentence):
        fetch("https://v.example.com/key", "The key", "key_url")


def test_a_file_url_works_and_tells_when_nothing_is_there(tmp_path: Path) -> None:
    path = tmp_path / "key.asc"
    path.write_bytes(KEY)
    assert fetch(path.as_uri(), "The key", "key_url") == KEY
    path.unlink()
    with pytest.raises(GaudiError, match=r"there is no such file; correct key_url"):
        fetch(path.as_uri(), "The key", "key_url")


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_download_is_compared_with_its_checksum(server: Server, tmp_path: Path, algorithm: str) -> None:
    target = tmp_path / "bundle.tgz"
    digest = hashlib.new(algorithm, BODY).hexdigest()
    download(url_of(server, "/200/bundle"), str(target), "The bundle", "bundle_url", f"{algorithm}:{digest.upper()}")
    assert target.read_bytes() == BODY
    with pytest.raises(GaudiError, match=f"has the {algorithm} {digest}, not 0a: the file was changed or cut short"):
        download(url_of(server, "/200/bundle"), str(target), "The bundle", "bundle_url", f"{algorithm}:0a")
    assert not target.exists()


@pytest.mark.parametrize("checksum", ["abc", "sha256:", "sha256:xyz", "crc:12"])
def test_a_checksum_of_no_known_form_is_refused_before_anything_is_asked(server: Server, checksum: str) -> None:
    with pytest.raises(GaudiError, match=r"is not of the form sha256:<hex digits>"):
        download(url_of(server, "/200/bundle"), "/nonexistent/b", "The bundle", "bundle_url", checksum)
    assert server.asked == 0


def test_a_transfer_that_is_cut_short_is_an_error(server: Server, tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"bundle cannot be fetched .*: the connection ended 1 bytes before the end"):
        download(url_of(server, "/200/cut"), str(tmp_path / "b"), "The bundle", "bundle_url")


DIGEST = f"sha256:{hashlib.sha256(BODY).hexdigest()}"


@pytest.mark.parametrize(
    ("kept", "path", "starts"), [(1000, "ranges", [1000]), (1000, "bundle", []), (0, "ranges", [])]
)
def test_what_an_interruption_left_is_gone_on_with_where_the_server_can(
    server: Server, tmp_path: Path, kept: int, path: str, starts: list[int]
) -> None:
    part = tmp_path / "part"
    if kept:
        part.write_bytes(BODY[:kept])
    resume(url_of(server, f"/200/{path}"), str(part), "The file", "packages_url", DIGEST, len(BODY))
    assert part.read_bytes() == BODY
    assert server.starts == starts


def test_a_part_of_another_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"x" * 1000)
    resume(url_of(server, "/200/ranges"), str(part), "The file", "packages_url", DIGEST, len(BODY))
    assert part.read_bytes() == BODY


def test_a_part_longer_than_the_servers_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(BODY + b"more")
    resume(url_of(server, "/200/ranges"), str(part), "The file", "packages_url", DIGEST)
    assert part.read_bytes() == BODY


def test_a_complete_part_is_only_checked(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(BODY)
    resume(url_of(server, "/404/gone"), str(part), "The file", "packages_url", DIGEST, len(BODY))
    assert server.asked == 0


def test_a_file_that_its_index_does_not_describe_is_not_kept(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "part"
    with pytest.raises(GaudiError, match=r"does not have the sha256 .*its index is out of date"):
        resume(url_of(server, "/200/key"), str(part), "The file", "packages_url", DIGEST, len(BODY))
    assert not part.exists()


def test_the_length_is_told_before_anything_is_fetched(server: Server) -> None:
    assert length(url_of(server, "/200/bundle"), "The file", "packages_url") == len(BODY)
