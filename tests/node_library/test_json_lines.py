# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.json_lines import line_writer
from job_runs import read_lines


def test_lines_are_there_as_soon_as_they_are_written(tmp_path):
    write = line_writer(str(tmp_path / "logs" / "metrics.jsonl"))
    write("step", step=3)
    (line,) = read_lines(tmp_path / "logs" / "metrics.jsonl")
    assert (line["kind"], line["step"]) == ("step", 3)


def test_a_full_disk_costs_lines_and_no_training():
    write = line_writer("/dev/full")
    write("step", step=3)


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path):
    with pytest.raises(
        GaudiError, match=rf"^--metrics {tmp_path}: Is a directory; name a file that this user can write"
    ):
        line_writer(str(tmp_path))
