# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a rank wrote is read back; what anybody else could have written is one sentence."""

from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.directory import (
    profile_directory,
    read_records,
    read_traces,
    record_name,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.records import Link, as_data, parse_record

from tests.unit.plugins.module_utils._profile.made_records import ranks


@pytest.fixture
def directory(tmp_path):
    """Two ranks' records."""
    for record in ranks(2, links=lambda rank: [Link(1 - rank, 0.25)]):
        (tmp_path / record_name(record.rank)).write_text(json.dumps(as_data(record)))
    return tmp_path


def test_records_are_read_back(directory):
    written = [as_data(record) for record in ranks(2, links=lambda rank: [Link(1 - rank, 0.25)])]
    assert [as_data(record) for record in read_records(str(directory))] == written


def test_a_jobs_directory_stands_for_its_folder(tmp_path):
    (tmp_path / "profile").mkdir()
    assert profile_directory(str(tmp_path)) == str(tmp_path / "profile")
    assert profile_directory(str(tmp_path / "profile")) == str(tmp_path / "profile")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "its schema is '2', this release reads 1"),
        ({"rank": 2}, "'2' is not a whole number from 0 to 1"),
        ({"rank": True}, "'True' is not a whole number"),
        ({"node": "a\x1b[2J"}, "is not a name"),
        ({"trace": "../../etc/shadow"}, "is not a name"),
        ({"steps": {}}, "a list of at most 10000 was expected"),
        ({"steps": [{}]}, "'communication' is missing"),
        ({"stalled": -1}, "-1 is not a number of seconds"),
        ({"links": [3]}, "not subscriptable"),
    ],
)
def test_what_no_rank_writes_is_one_sentence(change, said):
    data = {**as_data(ranks(2)[0]), **change}
    with pytest.raises(GaudiError) as raised:
        parse_record(json.dumps(data), "profile-rank-0.json")
    assert said in str(raised.value)
    assert str(raised.value).startswith("profile-rank-0.json is not a rank's profile: ")
    assert str(raised.value).endswith("; profile the job again.")


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1', "NaN", b"\xff"])
def test_what_is_no_object_is_refused(text):
    with pytest.raises(GaudiError, match="is not a rank's profile"):
        parse_record(text, "x")


def test_a_directory_without_profiles_says_how_to_get_some(tmp_path):
    with pytest.raises(GaudiError, match=r"has no profile-rank-N.json; start the training with --profile"):
        read_records(str(tmp_path))
    with pytest.raises(GaudiError, match=r"cannot be read: No such file or directory; name a job's directory"):
        read_records(str(tmp_path / "nowhere"))


def test_profiles_of_two_trainings_are_not_mixed(directory):
    (directory / record_name(7)).write_text(json.dumps(as_data(ranks(8)[7])))
    with pytest.raises(GaudiError, match="profiles of trainings with 2 and 8 ranks; remove the older ones"):
        read_records(str(directory))


def test_a_rank_cannot_be_there_twice(directory):
    (directory / record_name(7)).write_bytes((directory / record_name(1)).read_bytes())
    with pytest.raises(GaudiError, match="two profiles of one rank"):
        read_records(str(directory))


def test_a_link_in_place_of_a_record_is_not_followed(directory, tmp_path):
    (directory / "elsewhere").write_bytes((directory / record_name(1)).read_bytes())
    (directory / record_name(1)).unlink()
    (directory / record_name(1)).symlink_to(directory / "elsewhere")
    with pytest.raises(GaudiError, match=r"profile-rank-1.json cannot be read"):
        read_records(str(directory))


def test_a_trace_that_is_cut_off_is_told_and_the_others_are_read(directory):
    records = [type(one)(**{**vars(one), "trace": f"trace-rank-{one.rank}.json"}) for one in ranks(2)]
    event = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 9}'
    (directory / "trace-rank-0.json").write_text('{"traceEvents": [' + event + "]}")
    (directory / "trace-rank-1.json").write_text('{"traceEvents": [' + event)
    traces, wrong = read_traces(str(directory), records)
    assert list(traces) == [0]
    assert len(wrong) == 1
    assert "trace-rank-1.json is cut off after 1 events" in wrong[0]
