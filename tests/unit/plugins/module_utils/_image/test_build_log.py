# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A build's log: steps that came from the cache, and one sentence about a failure."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._image.build_log import Steps, failure, steps
from ansible_collections.gaudi3.scale.tests.unit.podman_stand_in import CONFLICT

# As buildah 1.28 writes it.
LOG = """STEP 1/5: FROM registry.example.org/pytorch@sha256:12
STEP 2/5: USER 0:0
--> Using cache 1b2c
--> 1b2c
STEP 3/5: RUN apt-get install libaio1
--> Using cache 3d4e
--> 3d4e
STEP 4/5: COPY code/ /workspace/
--> 5f6a
STEP 5/5: LABEL a="b"
COMMIT localhost/gaudi3_scale/llm:12
"""


def test_steps_from_the_cache_are_counted():
    assert steps(LOG) == Steps(5, 2)
    assert steps("") == Steps(0, 0)


def test_who_wants_another_torch_is_named_with_both_versions():
    assert failure(CONFLICT, "Error: exit status 1", "/log") == (
        "Greedy 1.0 wants torch ==9.9.0, and the vendor's image has 2.11.0a0+gitdeadbee, which stays; take a version "
        "that works with it, or remove the requirement."
    )


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (
            "STEP 3/9: RUN apt-get\nE: Unable to locate package libaio9\n",
            "The build failed at RUN (step 3 of 9): Unable to locate package libaio9; the whole output is in /log.",
        ),
        (
            "STEP 6/9: RUN pip\nERROR: No matching distribution found for thing==9\n",
            (
                "The build failed at RUN (step 6 of 9): No matching distribution found for thing==9; the whole output "
                "is in /log."
            ),
        ),
        ("", "The build failed: Error: no space left on device; the whole output is in /log."),
    ],
)
def test_other_failures_say_where(log, sentence):
    assert failure(log, "Error: no space left on device", "/log") == sentence
