# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A card that computes wrongly does so for its own rank alone, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.simulator.wrong_products import VENV, prepare

PROGRAM = "import torch; print(int(torch.matmul(torch.ones(2, 2), torch.ones(2, 2)).sum()))"


@pytest.mark.parametrize(("rank", "expected"), [("0", "8"), ("1", "9")])
def test_only_the_rank_of_that_card_gets_a_wrong_product(rank: str, expected: str, tmp_path: Path) -> None:
    packages = tmp_path / VENV / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    prepare({"computes_wrongly": [1, 3]}, tmp_path)
    # As Python reads the .pth files of its own site-packages.
    site = f"import site; site.addsitedir({str(packages)!r})\n"
    environment = {**os.environ, "LOCAL_RANK": rank}
    done = subprocess.run([sys.executable, "-c", site + PROGRAM], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == expected, done.stderr
    prepare({}, tmp_path)
    assert list(packages.iterdir()) == []


def test_a_node_without_a_venv_has_nothing_to_do(tmp_path: Path) -> None:
    prepare({"computes_wrongly": [1]}, tmp_path)
    assert list(tmp_path.iterdir()) == []
