# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module's shell training_image, run as Ansible runs it."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.tests.unit.module_call import call


def test_bad_input_is_one_sentence_without_its_secret(tmp_path):
    result, status = call(
        "training_image",
        name="llm",
        code=str(tmp_path),
        release="1.24.1",
        build_arguments={"PIP_PASSWORD": "hunter2"},
    )
    assert status == 1 and "hunter2" not in str(result)
    assert result["msg"].startswith("build_arguments (gaudi_image_build_arguments) has PIP_PASSWORD, which looks like")


def test_a_base_without_a_digest_is_refused(tmp_path):
    (tmp_path / "train.py").write_text("")
    result, status = call("training_image", name="llm", code=str(tmp_path), release="1.24.1", requirements="")
    assert (
        status == 1 and "set base_digest (gaudi_image_base_digest) to the Digest that `skopeo inspect" in result["msg"]
    )
