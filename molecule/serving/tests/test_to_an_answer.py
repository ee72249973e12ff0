# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One command from a finished training to an answer on the screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

SERVED = {"gaudi_serving_host": "node1", "gaudi_serving_registry": "/shared/models", "gaudi_serving_port": 8005}


@pytest.mark.usefixtures("version")
def test_a_finished_training_answers(play: Callable[..., Played], nodes: dict[str, Host]) -> None:
    first = play("serve_model", gaudi_training_name="served", **SERVED)
    assert first.status == "successful", first.screen
    assert "served answers on node1, port 8005: Once upon a time" in first.screen
    again = play("serve_model", gaudi_training_name="served", **SERVED)
    assert (again.status, again.changed) == ("successful", 0), again.screen
    nodes["node1"].check_output("systemctl is-active gaudi3-scale-serving-served")


@pytest.mark.usefixtures("version")
def test_a_training_that_is_not_there_is_refused(play: Callable[..., Played]) -> None:
    refused = play("serve_model", gaudi_training_name="absent", **SERVED)
    assert "the training absent is absent on node1, and only one that has succeeded is served" in " ".join(
        refused.messages
    )
