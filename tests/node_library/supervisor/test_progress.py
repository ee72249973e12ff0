# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest

from gaudi3_scale.supervisor.progress import Progress, read_progress


def test_each_rank_has_its_file(tmp_path):
    (tmp_path / "0.json").write_text('{"rank": 8, "step": 120, "busy_seconds": 0.081}')
    (tmp_path / "1.json").write_text('{"step": 119}')
    assert read_progress(str(tmp_path), 3) == Progress((120, 119, None), (0.081, None, None), True)


@pytest.mark.parametrize(
    "text",
    [
        '{"step": true, "busy_seconds": true}',
        '{"step": -1, "busy_seconds": -1}',
        '{"step": 1.5, "busy_seconds": "2"}',
        '{"step": "7", "busy_seconds": NaN}',
        '{"step": %s, "busy_seconds": Infinity}' % ("9" * 400),
        '{"step": null, "busy_seconds": %s}' % ("9" * 400),
        "[" * 200_000,
        "{",
        "[1]",
    ],
    ids=range(9),
)
def test_what_was_not_counted_is_not_known(tmp_path, text):
    (tmp_path / "0.json").write_text(text)
    progress = read_progress(str(tmp_path), 1)
    assert (progress.steps, progress.busy) == ((None,), (None,))


def test_a_pipe_and_a_device_hold_up_nobody(tmp_path):
    os.mkfifo(tmp_path / "0.json")
    (tmp_path / "1.json").symlink_to("/dev/zero")
    assert read_progress(str(tmp_path), 2) == Progress((None, None), (None, None), False)
