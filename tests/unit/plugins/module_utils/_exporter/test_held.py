# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What jobs hold of cards, as the exporter tells it."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.held_families import held_families
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

PROGRAM = "import sys; kept = [open(path, 'rb') for path in sys.argv[1:]]; print('open', flush=True); sys.stdin.read()"


def test_a_card_that_is_held_has_a_line_by_its_slot(tmp_path: Path) -> None:
    root = write_kernel(tmp_path / "node")
    (root / "dev/accel").mkdir(parents=True)
    device, usage = root / "dev/accel/accel5", tmp_path / "mem_usage_accel5"
    device.touch()
    usage.write_bytes(struct.pack("<3Q", 1, 1_795_000_000, 3 << 30))
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(device), str(usage)], stdin=-1, stdout=-1) as job:
        assert job.stdin is not None and job.stdout is not None
        job.stdout.readline()
        text = text_of(held_families(str(root), shared_memory=str(tmp_path)))
        job.stdin.close()
    # The eight cards' indices run against their slots here.
    assert 'gaudi_card_held_memory_bytes{card="2"} 3221225472\n' in text
    assert "gaudi_card_held_memory_bytes{" not in text_of(held_families(str(root), shared_memory=str(tmp_path)))
