# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.engine_versions import TESTED
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.table import RELEASES
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.engines import Engine, choose_engine, refuse_holes


def test_the_newest_that_was_tested_with_the_release_is_chosen():
    assert choose_engine("", "1.24.1").version == "0.26.0"
    assert choose_engine("", "1.23.0-695").version == "0.17.1"
    assert choose_engine("", "1.24.1").warnings == ()


def test_each_release_that_an_engine_was_tested_with_is_one_that_there_is():
    assert {release for releases in TESTED.values() for release in releases} <= set(RELEASES)


def test_another_version_is_taken_with_a_warning():
    found = choose_engine("0.16.0", "1.24.1")
    assert "vLLM 0.16.0 was not tested with release 1.24.1" in found.warnings[0]
    assert "cuts off running requests" in found.warnings[1]
    assert (found.drains, choose_engine("0.18.0", "1.24.0").drains) == (False, True)


@pytest.mark.parametrize(
    ("version", "release", "sentence"),
    [
        ("", "1.20.1", "no version of vLLM was tested with release 1.20.1"),
        ("0.9.0.1", "1.22.2", "there was only HabanaAI/vllm-fork, which has ended"),
        ("latest", "1.24.1", "give a version such as 0.26.0"),
        ("", "1.99.0", "Release '1.99.0' is not known"),
    ],
)
def test_a_version_that_cannot_be_meant_is_refused(version, release, sentence):
    with pytest.raises(GaudiError, match=sentence):
        choose_engine(version, release)


def test_a_known_hole_is_refused_until_it_is_accepted_by_name():
    engine = choose_engine("", "1.22.2")
    assert engine.version == "0.11.2"
    with pytest.raises(GaudiError, match=r"vLLM 0\.11\.2 has CVE-2026-22807: .*take 0\.14\.0 or newer .* or name CVE"):
        refuse_holes(engine, [], ["LlamaForCausalLM"])
    refuse_holes(engine, ["CVE-2026-22807"], ["LlamaForCausalLM"])
    with pytest.raises(GaudiError, match="'CVE-1', which is not a known hole of vLLM"):
        refuse_holes(Engine("0.26.0"), ["CVE-1"], [])


def test_a_hole_of_one_model_is_none_of_others():
    refuse_holes(Engine("0.17.1"), [], ["LlamaForCausalLM"])
    with pytest.raises(GaudiError, match="CVE-2026-27893"):
        refuse_holes(Engine("0.17.1"), [], ["KimiK25ForConditionalGeneration"])
