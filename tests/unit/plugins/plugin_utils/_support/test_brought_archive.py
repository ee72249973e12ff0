# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node's archive on the controller: the bytes that came, for their owner alone, or a refusal."""

from __future__ import annotations

import base64
import gzip
import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._support.archive import packed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import keep
from ansible_collections.gaudi3.scale.plugins.plugin_utils._support.brought_archive import (
    archive_document,
    archive_name,
)


def test_the_bytes_are_kept_as_they_came_and_nobody_else_reads_them(tmp_path: Path) -> None:
    archive = packed({"x.bin": os.urandom(1000).decode("latin-1")}, "support", 1_700_000_000)
    for _again in range(2):
        document, size = archive_document("node1", base64.b64encode(archive).decode())
        kept = keep(str(tmp_path), [document])
        assert (kept.error, size) == ("", len(archive))
    path = tmp_path / "support-node1.tar.gz"
    assert path.read_bytes() == archive and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("encoded", ["", "not base64!", base64.b64encode(b"#!/bin/sh").decode(), "ü"])
def test_what_is_no_archive_is_refused(encoded: str) -> None:
    with pytest.raises(GaudiError, match="node1 returned no archive"):
        archive_document("node1", encoded)


def test_a_host_may_have_any_name() -> None:
    assert archive_name("rack1/node:2") == "support-rack1%2Fnode%3A2.tar.gz"
    assert gzip.decompress(packed({}, "support", 0))
