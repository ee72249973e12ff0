# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.program_packages import (
    environment_of,
    requirements_text,
)

VENV = "/opt/gaudi3_scale/environments/gaudi/0123456789abcdef"
OTHER = "/opt/gaudi3_scale/environments/gaudi/fedcba9876543210"


def test_files_that_are_named_come_with_it(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "requirements.txt").write_text("a\n-r more/base.txt  # the rest\nb\n")
    (tmp_path / "more/base.txt").write_text("c\n--requirement=deep.txt\n")
    (tmp_path / "more/deep.txt").write_text("d\n")
    assert requirements_text(tmp_path / "requirements.txt").split() == ["a", "c", "d", "b"]
    (tmp_path / "more/deep.txt").write_text("-r ../requirements.txt\n")
    with pytest.raises(GaudiError, match=r"^requirements: \S+/requirements.txt includes itself with -r"):
        requirements_text(tmp_path / "requirements.txt")
    (tmp_path / "more/deep.txt").unlink()
    with pytest.raises(GaudiError, match=r"deep.txt cannot be read on the controller: No such file or directory"):
        requirements_text(tmp_path / "requirements.txt")
    (tmp_path / "more/deep.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(GaudiError, match="it is not UTF-8 text"):
        requirements_text(tmp_path / "requirements.txt")


def test_an_environment_is_alike_on_all_nodes():
    assert environment_of({"n1": {"venv": VENV}, "n2": {"venv": VENV, "changed": True}}, "gaudi") == VENV
    with pytest.raises(GaudiError, match=r"^requirements: n1, n3 and n2 have different training stacks"):
        environment_of({"n1": {"venv": VENV}, "n2": {"venv": OTHER}, "n3": {"venv": VENV}}, "gaudi")


def test_each_reason_is_said_once_with_its_nodes():
    failed = {"failed": True, "msg": "requirements cannot be installed as gaudi: no index."}
    answers = {"n1": failed, "n2": {"venv": VENV}, "n3": failed, "n4": {"unreachable": True, "msg": "no route"}}
    with pytest.raises(GaudiError) as caught:
        environment_of(answers, "gaudi")
    assert str(caught.value).splitlines() == [
        "n1, n3: requirements cannot be installed as gaudi: no index.",
        "n4: it does not answer: no route",
    ]


@pytest.mark.parametrize(
    "venv", ["/tmp/x", f"{VENV}/..", f"{VENV}; rm", "/opt/gaudi3_scale/environments/root/" + "0" * 16, 5, None]
)
def test_a_path_that_no_node_of_ours_says_is_not_used(venv):
    with pytest.raises(GaudiError, match=r"^n1: it returned no result$"):
        environment_of({"n1": {"venv": venv}}, "gaudi")
