# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The installed collection, which is all that this scenario plays from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installed_collection import install_collection


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_collection(tmp_path_factory.mktemp("installed"))
