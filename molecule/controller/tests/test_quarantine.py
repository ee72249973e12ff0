# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node out of service by hand, and by an alert that a real ansible-rulebook takes from a real webhook."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.event_rulebook import listening
from tests.sandbox_jobs import wait_for
from tests.sandbox_nodes import hostvars, run

MARK = "/etc/gaudi3_scale/quarantine.json"
TOKEN = "a-token-of-the-tests"
NODE = "gaudi_quarantine_node"


@pytest.fixture(autouse=True)
def released(nodes: dict[str, Host]) -> Iterator[None]:
    yield
    for host in nodes.values():
        host.check_output(f"rm -f {MARK}")


def test_a_launch_on_a_node_in_quarantine_is_refused_until_it_is_released(
    tmp_path: Path, nodes: dict[str, Host], job: dict[str, Any]
) -> None:
    reason = {"gaudi_quarantine_reason": "card 3 is to be replaced"}
    assert run(tmp_path, "quarantine_node", **{NODE: "node2"}, **reason).status == "successful"
    again = run(tmp_path, "quarantine_node", **{NODE: "node2", "gaudi_quarantine_reason": "another"})
    assert not again.stats["changed"]
    launched = run(tmp_path, "launch_training", gaudi_training_name="kept-out", gaudi_training_hosts=["node2"], **job)
    said = " ".join(launched.stdout.read().split())
    assert launched.status == "failed"
    assert "it has been in quarantine since 20" in said
    assert "card 3 is to be replaced; return it with return_node.yml once it is qualified, release it with" in said
    freed = run(tmp_path, "quarantine_node", **{NODE: "node2", "gaudi_quarantine_state": "released"})
    assert freed.status == "successful"
    assert not nodes["node2"].file(MARK).exists


def test_a_second_node_stays_in_service(tmp_path: Path, nodes: dict[str, Host]) -> None:
    """One may always be out; what is wrong with more of a few is wrong with the alert."""
    assert run(tmp_path, "quarantine_node", **{NODE: "node1"}).status == "successful"
    by_address = run(tmp_path, "quarantine_node", **{NODE: hostvars()["node1"]["ansible_host"]})
    assert by_address.status == "successful", by_address.stdout.read()[-4000:]
    refused = run(tmp_path, "quarantine_node", **{NODE: "node2"})
    assert refused.status == "failed"
    assert "node2 stays in service: node1 is in quarantine" in " ".join(refused.stdout.read().split())
    assert not nodes["node2"].file(MARK).exists


def test_a_node_that_claims_to_be_out_keeps_no_other_one_in_service(tmp_path: Path, nodes: dict[str, Host]) -> None:
    """What counts is whom the controller has taken out, and it has taken out nobody."""
    kept = tmp_path / "marks.json"
    kept.write_text("{}")
    claimed = json.dumps({"reason": "I am ill", "since": "2026-01-01T00:00:00Z"})
    nodes["node1"].check_output(f"mkdir -p /etc/gaudi3_scale && echo '{claimed}' > {MARK}")
    named = {"gaudi_quarantine_marks": str(kept), NODE: "node2"}
    done = run(tmp_path, "quarantine_node", **named)
    assert done.status == "successful", done.stdout.read()[-4000:]
    assert nodes["node2"].file(MARK).exists
    assert list(json.loads(kept.read_text())) == ["node2"]
    freed = run(tmp_path, "quarantine_node", gaudi_quarantine_state="released", **named)
    assert freed.status == "successful"
    assert json.loads(kept.read_text()) == {}


def test_a_node_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "quarantine_node", **{NODE: "node77"})
    assert done.status == "failed"
    assert "gaudi_quarantine_node: node77 is not a host of this play" in " ".join(done.stdout.read().split())


@pytest.fixture
def rulebook(tmp_path: Path) -> Iterator[int]:
    """The port at which it listens for alerts."""
    with listening(tmp_path, TOKEN) as port:
        yield port


def alert(port: int, token: str = TOKEN, **labels: str) -> int:
    """As Alertmanager sends it, which names a node by the address and the port of what watches it."""
    named = {"alertname": "GaudiCardLost", "gaudi_action": "quarantine", **labels}
    body = {"version": "4", "status": "firing", "alerts": [{"status": "firing", "labels": named, "annotations": {}}]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/alerts",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return int(error.code)


def test_an_alert_takes_its_node_out_and_a_hostile_one_runs_nothing(
    rulebook: int, tmp_path: Path, nodes: dict[str, Host]
) -> None:
    attacked = tmp_path / "attacked"
    code = "{{ lookup('pipe', 'touch " + str(attacked) + "') }}"
    assert alert(rulebook, token="wrong", instance="node1:9100") == 401
    # None of these may start a playbook at all.
    alert(rulebook, instance=code)
    alert(rulebook, instance="node1:9100", alertname=code)
    alert(rulebook, instance="all")
    alert(rulebook, instance="node1:9100", gaudi_action="none")
    assert alert(rulebook, instance="node2:9100") == 200
    wait_for("the mark", lambda: nodes["node2"].file(MARK).exists, 120)
    mark = json.loads(nodes["node2"].file(MARK).content_string)
    assert (mark["reason"], mark["owner"]) == ("alert GaudiCardLost", "alerts")
    assert not nodes["node1"].file(MARK).exists
    assert not attacked.exists()
