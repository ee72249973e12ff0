# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is due after an earlier run: nothing for the same inputs, and after a failure what is missing alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._image.record import (
    ImageRecord,
    due,
    read_record,
    signed_reference,
    write_record,
)

RECORD = ImageRecord(
    inputs="sha256:aa",
    image="localhost/gaudi3_scale/llm:aa",
    image_id="id",
    digest="sha256:dd",
    base="base",
    release="1.24.1-482",
    torch="2.11.0",
    layers=5,
    own_layers=2,
    packages=9,
    epoch=1,
    sbom_sha256="cc",
    proof={"device": "cpu"},
    pushed={"registry.example.org/llm": "sha256:ee"},
    signed="registry.example.org/llm@sha256:ee",
)
ASKED = {
    "record": RECORD,
    "inputs": "sha256:aa",
    "image_id": "id",
    "device": "cpu",
    "repository": "registry.example.org/llm",
    "signs": True,
    "rebuild": False,
}
ALL = ("build", "test", "push", "sign")
CASES = {
    "the same": ({}, ()),
    "the first time": ({"record": None}, ALL),
    "other inputs": ({"inputs": "sha256:bb"}, ALL),
    "asked for": ({"rebuild": True}, ALL),
    "the image is gone": ({"image_id": ""}, ALL),
    "another image of that name": ({"image_id": "other"}, ALL),
    "another device": ({"device": "hpu"}, ("test",)),
    "another repository": ({"repository": "registry.example.org/second"}, ("push", "sign")),
    "no repository": ({"repository": ""}, ("sign",)),
    "not signed": ({"signs": False}, ()),
    "it failed before the test": ({"record": replace(RECORD, proof={}, pushed={}, signed="")}, ALL[1:]),
    "it failed before the push": ({"record": replace(RECORD, pushed={}, signed="")}, ("push", "sign")),
    "neither pushed nor signed": ({"record": None, "repository": "", "signs": False}, ("build", "test")),
}


@pytest.mark.parametrize(("change", "steps"), CASES.values(), ids=CASES)
def test_what_is_due(change, steps):
    assert due(**{**ASKED, **change}) == steps


def test_a_signature_is_of_what_jobs_pull():
    assert signed_reference(RECORD, "registry.example.org/llm") == "registry.example.org/llm@sha256:ee"
    assert signed_reference(RECORD, "") == "localhost/gaudi3_scale/llm@sha256:dd"
    assert signed_reference(RECORD, "registry.example.org/other") == ""


def test_a_record_is_read_as_it_was_written_and_a_damaged_one_is_none(tmp_path):
    path = tmp_path / "images/llm.json"
    assert read_record(str(path)) is None
    write_record(str(path), RECORD)
    assert read_record(str(path)) == RECORD
    path.write_text('{"inputs": "of another version"}')
    assert read_record(str(path)) is None
