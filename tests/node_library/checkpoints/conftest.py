# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.s3_server import S3Server, bucket_served

BUCKET = "training"


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server of S3 with the bucket that these tests upload to."""
    with bucket_served(BUCKET) as server:
        server.put_into(monkeypatch)
        yield server
