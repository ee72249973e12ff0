# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""All nodes get what one of them was told; nodes answer as the module does."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.job_image import MODULE, bring_image

NAME = "registry.example.org/team/train"
PINNED = f"{NAME}@sha256:{'0a' * 32}"
GIVEN = {"user": "gaudi", "plain_http_hosts": [], "timeout": 60}


class Nodes:
    """Each answers a question by its state; what was asked is kept."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def __call__(self, module, options):
        assert module == MODULE
        self.asked += [(node, given["state"], given["image"]) for node, given in options.items()]
        return {node: self.answers.get(node, self.well)(given) for node, given in options.items()}

    def well(self, given):
        return {"changed": given["state"] == "present", "image": PINNED}


def brought(nodes, image=f"{NAME}:1.24.1-482", hosts=("n1", "n2")):
    said = []
    pinned, answers = bring_image(image, hosts, GIVEN, nodes, said.append, clock=iter((10.0, 52.0)).__next__)
    return pinned, answers, said


def test_a_tag_is_looked_up_once_and_all_fetch_the_digest():
    nodes = Nodes()
    pinned, answers, said = brought(nodes)
    assert pinned == PINNED
    assert nodes.asked == [
        ("n1", "resolved", f"{NAME}:1.24.1-482"),
        ("n1", "present", PINNED),
        ("n2", "present", PINNED),
    ]
    assert set(answers) == {"n1", "n2"}
    assert said == [f"Bringing {PINNED} to 2 node(s).", "It is on all 2 node(s), fetched by n1, n2 in 42 s."]


def test_a_digest_is_not_looked_up():
    nodes = Nodes(n2=lambda given: {"changed": False, "image": PINNED})
    _pinned, _answers, said = brought(nodes, PINNED)
    assert [state for _node, state, _image in nodes.asked] == ["present", "present"]
    assert said[-1] == "It is on all 2 node(s), fetched by n1 in 42 s."
    has_it = Nodes(**dict.fromkeys(("n1", "n2"), lambda given: {"changed": False, "image": PINNED}))
    assert brought(has_it, PINNED)[2][-1] == "It is on all 2 node(s), which have it already."


def test_a_silent_node_is_passed_over_when_it_is_looked_up():
    nodes = Nodes(n1=lambda given: {"unreachable": True, "msg": "no route"})
    with pytest.raises(GaudiError, match=r"^n1: it does not answer: no route$"):
        brought(nodes)
    assert nodes.asked[1] == ("n2", "resolved", f"{NAME}:1.24.1-482")


def test_each_reason_is_said_once_with_its_nodes():
    gone = {"failed": True, "msg": f"image {PINNED} is not there any more."}
    nodes = Nodes(**dict.fromkeys(("n1", "n3"), lambda given: gone))
    with pytest.raises(GaudiError, match=r"^n1, n3: image \S+ is not there any more\.$"):
        brought(nodes, PINNED, ("n1", "n2", "n3"))


@pytest.mark.parametrize("answer", ["", "other:latest", "-v", f"{NAME}:1", None, 5])
def test_what_no_node_of_ours_says_is_not_used(answer):
    nodes = Nodes(n1=lambda given: {"image": answer})
    with pytest.raises(GaudiError):
        brought(nodes)
    assert [state for _node, state, _image in nodes.asked] == ["resolved"]
