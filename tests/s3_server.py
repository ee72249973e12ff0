# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""moto's S3 over HTTP, which refuses every request while it is told to, and keeps what it has."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.server import MotoRequestHandler
from werkzeug.serving import make_server

KEY, SECRET, REGION = "key", "secret", "us-east-1"


class S3Server:
    """Serves on ``address``, at a free port, until it is closed."""

    def __init__(self, address: str) -> None:
        self.refuses = False
        self._is_open = True
        self._serve = DomainDispatcherApplication(create_backend_app)
        self._server = make_server(address, 0, self._answer, threaded=True, request_handler=MotoRequestHandler)
        self.url = f"http://{address}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        credentials = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
        self.client = boto3.client("s3", endpoint_url=self.url, **credentials)

    def environment(self) -> dict[str, str]:
        """By which boto3 finds it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": REGION,
        }

    def put_into(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let boto3 find it in this process."""
        for name, value in self.environment().items():
            monkeypatch.setenv(name, value)

    def names(self, bucket: str) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """It answers that it is overloaded, as S3 does."""
        self.refuses = True
        try:
            yield
        finally:
            self.refuses = False

    def close(self) -> None:
        """Forget everything, too: servers of one process have one store. A test may have closed it before its end."""
        if not self._is_open:
            return
        self._is_open = self.refuses = False
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")).close()
        self._server.shutdown()

    def _answer(self, environment: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if self.refuses:
            start_response("503 Slow Down", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"]
        answer: Iterable[bytes] = self._serve(environment, start_response)
        return answer


@contextmanager
def bucket_served(name: str) -> Iterator[S3Server]:
    """A server with one empty bucket."""
    server = S3Server("127.0.0.1")
    try:
        server.client.create_bucket(Bucket=name)
        yield server
    finally:
        server.close()
