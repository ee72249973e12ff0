# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where the profile of a job is looked for on a node, and whose ranks are returned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.directory import record_name
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.records import as_data
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.state import read_profile

from tests.unit.plugins.module_utils._profile.made_records import ranks


@pytest.fixture
def job(tmp_path):
    """``job(description)``: a job that this node knows."""

    def known(**description: object) -> JobPaths:
        paths = JobPaths("llama", str(tmp_path / "state"), str(tmp_path / "log"))
        Path(paths.control).mkdir(parents=True)
        Path(paths.description).write_text(json.dumps({"name": "llama", **description}))
        return paths

    return known


def write(directory: str, count: int = 4) -> None:
    Path(directory).mkdir(parents=True)
    for record in ranks(count):
        (Path(directory) / record_name(record.rank)).write_text(json.dumps(as_data(record)))


def test_the_jobs_own_folder_is_read(job):
    paths = job()
    write(f"{paths.directory}/profile")
    found = read_profile(paths)
    assert (found["directory"], len(found["records"]), found["traces"]) == (f"{paths.directory}/profile", 4, [])


def test_of_a_folder_that_nodes_share_only_the_nodes_ranks_are_returned(job, tmp_path):
    paths = job(checkpoint_directory=str(tmp_path / "shared"))
    write(f"{tmp_path}/shared/profile")
    assert [record["rank"] for record in read_profile(paths, node="n1")["records"]] == [2, 3]
    assert len(read_profile(paths, node="other")["records"]) == 4


def test_a_trace_that_is_cut_off_is_a_warning(job):
    paths = job()
    write(f"{paths.directory}/profile", 1)
    folder = Path(paths.directory, "profile")
    record = {**as_data(ranks(1)[0]), "trace": "trace-rank-0.json"}
    (folder / record_name(0)).write_text(json.dumps(record))
    (folder / "trace-rank-0.json").write_text('{"traceEvents": [{"ph": "X"}')
    found = read_profile(paths)
    assert "trace-rank-0.json is cut off after 1 events" in found["warnings"][0]


@pytest.mark.parametrize(
    ("known", "written", "said"),
    [
        (False, False, "This node knows no job llama; launch it, or give directory."),
        (True, False, "on this node; launch it with --profile in gaudi_training_arguments"),
        (True, True, "has no profile-rank-N.json; start the training with --profile"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(job, tmp_path, known, written, said):
    paths = job() if known else JobPaths("llama", str(tmp_path / "state"), str(tmp_path / "log"))
    if written:
        Path(paths.directory, "profile").mkdir(parents=True)
    with pytest.raises(GaudiError) as raised:
        read_profile(paths)
    assert said in str(raised.value)
