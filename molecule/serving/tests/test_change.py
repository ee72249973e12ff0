# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two instances behind a proxy are changed one after the other while clients ask; a change that fails goes back."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played
from tests.small_trainings import play_in

from .conftest import EXPORT, REGISTRY

KEY, KEY_FILE = "a-key-of-the-tests", "/etc/gaudi3_scale/serving-key"
CONTROL, STATE = "/etc/gaudi3_scale/serving", "/var/lib/gaudi3_scale/serving"
FAULTS, ANSWERS = "/run/gaudi_simulated_engine", "/run/answers-of-the-tests"
PORT = 8080
INSTANCES = [
    {"name": name, "model": "served@production", "cards": 1, "port": 8000 + number} for number, name in enumerate("ab")
]
SERVING: dict[str, Any] = {
    "gaudi_serving_registry": REGISTRY,
    "gaudi_serving_instances": INSTANCES,
    "gaudi_serving_key_file": KEY_FILE,
    "gaudi_serving_drain_timeout": 60,
    "gaudi_serving_proxy_hosts": ["node2"],
    "gaudi_serving_proxy_health_timeout": 5,
    "gaudi_hosts": "node2",
}
# One streamed completion after the other, by the node's own Python; what is not a whole answer is kept.
CLIENT = f"""
import http.client, json, sys

def ask(tokens):
    connection = http.client.HTTPConnection("127.0.0.1", {PORT}, timeout=120)
    body = json.dumps(dict(model="served", prompt="The", max_tokens=tokens, stream=True))
    headers = dict(Authorization="Bearer {KEY}")
    headers["Content-Type"] = "application/json"
    try:
        connection.request("POST", "/v1/completions", body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        is_whole = answer.status == 200 and text.strip().endswith("[DONE]")
        return "whole" if is_whole else str(answer.status) + " " + text[-300:]
    except Exception as error:
        return repr(error)
    finally:
        connection.close()

if len(sys.argv) > 1:
    while True:
        with open(sys.argv[1], "a") as file:
            print(ask(12), file=file)
print(ask(2))
"""


@pytest.fixture(scope="module")
def node(nodes: dict[str, Host], version: str) -> Host:
    """The one that serves here; the model is in the registry that both nodes see."""
    assert version
    nodes["node2"].check_output(f"umask 077; mkdir -p /etc/gaudi3_scale {ANSWERS}; echo {KEY} > {KEY_FILE}")
    nodes["node2"].check_output(f"mkdir -p {FAULTS}")
    return nodes["node2"]


@contextmanager
def load(node: Host) -> Iterator[None]:
    """Three clients; each answer has to be whole."""
    node.check_output(f"rm -f {ANSWERS}/*; printf %s {shlex.quote(CLIENT)} > {ANSWERS}/client")
    names = ["one", "two", "three"]
    for name in names:
        node.check_output(f"systemd-run --unit=client-{name} python3 {ANSWERS}/client {ANSWERS}/{name}")
    try:
        yield
    finally:
        # The last one may be at half.
        said = node.check_output(f"cat {' '.join(f'{ANSWERS}/{name}' for name in names)}")
        node.check_output(f"systemctl stop {' '.join(f'client-{name}' for name in names)}")
    answers = said.splitlines()
    assert {*answers} == {"whole"} and len(answers) > 10, said[-2000:]


def control(node: Host, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(node.file(f"{CONTROL}/{name}.json").content_string)
    return found


def admitted(node: Host) -> dict[str, bool]:
    servers = json.loads(node.file("/etc/gaudi3_scale/serving_proxy/state.json").content_string)["servers"]
    return {one["name"]: one["admitted"] for one in servers}


@pytest.fixture(scope="module", autouse=True)
def alias_goes_back(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is in production here when these tests are through is what the other files expect."""
    yield
    moved = play_in(
        tmp_path_factory.mktemp("back"),
        "publish_model",
        gaudi_model_host="node1",
        gaudi_model_name="served",
        gaudi_model_registry=REGISTRY,
        gaudi_model_version=version,
        gaudi_model_alias="production",
    )
    assert moved.status == "successful", moved.screen


def test_a_proxy_answers_for_two_instances_and_a_second_run_changes_nothing(
    play: Callable[..., Played], node: Host
) -> None:
    first = play("serving", **SERVING)
    assert first.status == "successful", first.screen
    assert admitted(node) == {"node2:a": True, "node2:b": True}
    again = play("serving", **SERVING)
    assert (again.status, again.changed) == ("successful", 0), again.screen
    with load(node):
        node.check_output("sleep 5")


def test_another_version_comes_to_all_without_a_lost_answer(
    play: Callable[..., Played], node: Host, version: str
) -> None:
    published = play(
        "publish_model",
        gaudi_model_host="node1",
        gaudi_model_name="served",
        gaudi_model_registry=REGISTRY,
        gaudi_model_path=EXPORT,
        gaudi_model_license="of the tests",
        gaudi_model_alias="production",
    )
    assert published.status == "successful", published.screen
    with load(node):
        rolled = play("roll_serving", **SERVING)
    assert rolled.status == "successful" and "a changed, b changed" in rolled.screen, rolled.screen
    assert {control(node, name)["version"] for name in "ab"} != {version}
    assert admitted(node) == {"node2:a": True, "node2:b": True}
    again = play("roll_serving", **SERVING)
    assert (again.status, again.changed) == ("successful", 0), again.screen


@pytest.mark.long
def test_one_that_is_slower_than_the_limit_goes_back_and_the_other_is_left_alone(
    play: Callable[..., Played], node: Host
) -> None:
    node.check_output(f"echo '{{\"slow\": 0.4}}' > {FAULTS}/8000.json")
    changed = [{**one, "flags": {"max-num-batched-tokens": 1024}} for one in INSTANCES]
    try:
        with load(node):
            rolled = play(
                "roll_serving", **{**SERVING, "gaudi_serving_instances": changed, "gaudi_serving_limit_ms": 100}
            )
    finally:
        node.check_output(f"rm {FAULTS}/8000.json")
    said = " ".join(rolled.messages)
    assert "slower than the limit of 100 ms. The previous one answers again." in said, rolled.screen
    units = node.check_output("systemctl cat gaudi3-scale-serving-a gaudi3-scale-serving-b")
    assert "1024" not in units
    assert admitted(node) == {"node2:a": True, "node2:b": True}
    assert not node.file(f"{STATE}/before/a.json").exists


def test_one_that_answers_otherwise_than_its_record_says_goes_back(play: Callable[..., Played], node: Host) -> None:
    before = control(node, "a")
    copy = "/srv/otherwise"
    node.check_output(
        f"rm -rf {copy}; cp -r {before['model']} {copy}; rm {copy}/gaudi3_scale_model.json {copy}/model.sig"
    )
    record = json.loads(node.file(f"{copy}/gaudi3_scale_export.json").content_string)
    token, value = record["answers"]["windows"][1]["top"][0]
    record["answers"]["windows"][1]["top"][0] = [token, value - 2]
    node.check_output(f"printf %s {shlex.quote(json.dumps(record))} > {copy}/gaudi3_scale_export.json")
    other = [{**INSTANCES[0], "model": copy}, INSTANCES[1]]
    with load(node):
        rolled = play("roll_serving", **{**SERVING, "gaudi_serving_instances": other})
    assert f"(32 tokens): token {token} has the log-probability" in " ".join(rolled.messages), rolled.screen
    assert control(node, "a") == before
    assert admitted(node) == {"node2:a": True, "node2:b": True}


def test_an_interrupted_change_is_continued(play: Callable[..., Played], node: Host) -> None:
    """What a run leaves that ended between draining an instance and putting it back."""
    keep = f"{STATE}/before/a.json"
    node.check_output(f"mkdir -p {STATE}/before; printf '{{}}' > {keep}")
    node.check_output(
        "sed -i 's/^\\(    server node2:a .*\\)$/\\1 disabled/' /etc/gaudi3_scale/serving_proxy/haproxy.cfg; "
        "systemctl reload gaudi3-scale-serving-proxy"
    )
    rolled = play("roll_serving", **SERVING)
    assert rolled.status == "successful" and "a changed" in rolled.screen, rolled.screen
    assert not node.file(keep).exists
    assert "disabled" not in node.file("/etc/gaudi3_scale/serving_proxy/haproxy.cfg").content_string


def test_an_engine_that_hangs_is_answered_for_by_the_other(node: Host) -> None:
    node.check_output(f"echo '{{\"hang\": true}}' > {FAULTS}/8000.json")
    try:
        node.check_output("sleep 1")
        for _number in range(4):
            assert node.check_output(f"python3 -c {shlex.quote(CLIENT)}") == "whole"
    finally:
        node.check_output(f"rm {FAULTS}/8000.json")


def test_what_is_to_serve_no_more_takes_the_proxy_with_it(play: Callable[..., Played], node: Host) -> None:
    removed = play("serving", **{**SERVING, "gaudi_serving_state": "absent"})
    assert removed.status == "successful" and removed.changed > 0, removed.screen
    assert not node.service("gaudi3-scale-serving-proxy").is_running
    assert node.run("ls /etc/gaudi3_scale/serving_proxy/haproxy.cfg").rc != 0
