# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A model that was trained here is served as a unit: it answers, comes back, and is refused where a byte is another."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

UNIT = "gaudi3-scale-serving-chat.service"
STATE = "/var/lib/gaudi3_scale/serving"
KEY, KEY_FILE = "a-key-of-the-tests", "/etc/gaudi3_scale/serving-key"
CHAT = {"name": "chat", "model": "served@production", "cards": 1, "port": 8000}
SERVING: dict[str, Any] = {
    "gaudi_serving_registry": "/shared/models",
    "gaudi_serving_instances": [CHAT],
    "gaudi_serving_key_file": KEY_FILE,
    "gaudi_serving_drain_timeout": 5,
    "gaudi_hosts": "node1",
}
COMES_BACK_S = 120.0


# A client of the node's own Python.
ASK = """
import sys, urllib.request
url, key, body = sys.argv[1:]
headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
try:
    answer = urllib.request.urlopen(urllib.request.Request(url, body.encode() or None, headers), timeout=60)
except urllib.error.HTTPError as error:
    answer = error
except OSError:
    sys.exit(print(0))
print(answer.status)
print(answer.read().decode())
"""


def asked(node: Host, path: str, body: dict[str, Any] | None = None, key: str = KEY) -> tuple[int, dict[str, Any]]:
    """What a client on the node gets: the status, 0 where nobody answers, and the object."""
    words = ["python3", "-c", ASK, f"http://127.0.0.1:8000{path}", key, json.dumps(body) if body else ""]
    status, _line, text = node.check_output(shlex.join(words)).partition("\n")
    return int(status), json.loads(text) if text.startswith("{") else {}


def completion(node: Host, prompt: str = "The license") -> tuple[int, dict[str, Any]]:
    return asked(node, "/v1/completions", {"model": "served", "prompt": prompt, "max_tokens": 8, "temperature": 0})


def comes_back(node: Host) -> dict[str, Any]:
    """The next completion, once it answers."""
    end = time.monotonic() + COMES_BACK_S
    while time.monotonic() < end:
        status, body = completion(node)
        if status == 200:
            return body
        time.sleep(0.5)
    raise AssertionError(node.check_output(f"journalctl -u {UNIT} -n 50 --no-pager"))


def properties(node: Host, *names: str) -> dict[str, str]:
    said = node.check_output(f"systemctl show {UNIT} --property {','.join(names)}")
    return dict(line.split("=", 1) for line in said.splitlines())


def test_check_mode_on_a_node_that_serves_nothing_shows_the_unit_and_changes_nothing(
    play: Callable[..., Played], nodes: dict[str, Host], version: str
) -> None:
    node = nodes["node1"]
    node.check_output(f"umask 077; mkdir -p /etc/gaudi3_scale; echo {KEY} > {KEY_FILE}")
    shown = play("serving", **SERVING, arguments="--check --diff")
    assert shown.status == "successful" and shown.changed > 0, shown.screen
    assert f"+++ after: /etc/systemd/system/{UNIT}" in shown.screen
    assert "+ExecStart" in shown.screen and version in shown.screen
    assert not node.file("/etc/gaudi3_scale/serving").exists
    assert not node.file(f"/etc/systemd/system/{UNIT}").exists
    assert not node.user("gaudi-serving").exists


def test_a_model_that_was_trained_here_answers_and_a_second_run_changes_nothing(
    play: Callable[..., Played], nodes: dict[str, Host], version: str
) -> None:
    node = nodes["node1"]
    first = play("serving", **SERVING)
    assert first.status == "successful" and first.changed > 0, first.screen
    status, body = completion(node)
    assert (status, body["model"], bool(body["choices"][0]["text"])) == (200, "served", True)
    assert asked(node, "/v1/models", key="another")[0] == 401
    again = play("serving", **SERVING)
    assert (again.status, again.changed) == ("successful", 0), again.screen
    # Its copy is root's, and what it may write is its own alone.
    copy = node.file(f"{STATE}/models/{version}/model.safetensors")
    assert (copy.user, copy.mode & 0o022) == ("root", 0)
    assert node.file(f"{STATE}/instances/chat").mode == 0o700
    control = json.loads(node.file("/etc/gaudi3_scale/serving/chat.json").content_string)
    assert (control["version"], control["served_name"], control["modules"]) == (version, "served", [0])
    pid = properties(node, "MainPID")["MainPID"]
    assert KEY not in node.check_output(f"tr '\\0' ' ' < /proc/{pid}/cmdline")
    assert node.check_output(f"stat -c %U /proc/{pid}") == "gaudi-serving"


def test_a_killed_engine_is_started_again_by_its_unit_and_answers_the_same(nodes: dict[str, Host]) -> None:
    node = nodes["node1"]
    before = completion(node)[1]["choices"][0]["text"]
    node.check_output(f"kill -9 {properties(node, 'MainPID')['MainPID']}")
    assert comes_back(node)["choices"][0]["text"] == before
    assert properties(node, "NRestarts")["NRestarts"] == "1"


@pytest.mark.parametrize(
    "name",
    ["model.safetensors", *(pytest.param(name, marks=pytest.mark.long) for name in ("config.json", "tokenizer.json"))],
)
def test_a_byte_that_is_another_is_refused_at_the_next_start_and_by_the_next_run(
    play: Callable[..., Played], nodes: dict[str, Host], version: str, name: str
) -> None:
    node = nodes["node1"]
    damaged = f"{STATE}/models/{version}/{name}"
    node.check_output(f"printf '\\125' | dd of={damaged} bs=1 seek=20 conv=notrunc status=none")
    assert node.run(f"systemctl restart {UNIT}").rc != 0
    node.check_output(f"systemctl stop {UNIT}")
    log = node.check_output(f"journalctl -u {UNIT} -n 30 --no-pager")
    assert f"{name} is changed or damaged" in log
    refused = play("serving", **SERVING)
    assert f"is refused: {name} is changed or damaged" in " ".join(refused.messages)
    assert completion(node)[0] == 0
    # Without the copy the next run brings another.
    node.check_output(f"rm -r {STATE}/models/{version}")
    mended = play("serving", **SERVING)
    assert mended.status == "successful", mended.screen
    assert completion(node)[0] == 200


def test_a_taken_port_and_taken_cards_are_refused_and_what_runs_goes_on(
    play: Callable[..., Played], nodes: dict[str, Host]
) -> None:
    node = nodes["node1"]
    node.check_output("systemd-run --unit=other-server python3 -m http.server 8001 --bind 127.0.0.1")
    second = {**CHAT, "name": "draft", "port": 8001}
    try:
        refused = play("serving", **{**SERVING, "gaudi_serving_instances": [CHAT, second]})
        assert "port 8001 is held by python3" in " ".join(refused.messages)
        assert "other-server.service" in " ".join(refused.messages)
    finally:
        node.check_output("systemctl stop other-server")
    both = [{**CHAT, "cards": 0, "modules": [0]}, {**second, "cards": 8}]
    refused = play("serving", **{**SERVING, "gaudi_serving_instances": both})
    assert "cards is 8, and 7 of 8 cards are free" in " ".join(refused.messages)
    assert not node.file("/etc/gaudi3_scale/serving/draft.json").exists
    assert completion(node)[0] == 200


def test_what_is_to_serve_no_more_leaves_nothing_that_runs(play: Callable[..., Played], nodes: dict[str, Host]) -> None:
    node = nodes["node1"]
    removed = play("serving", **{**SERVING, "gaudi_serving_state": "absent"})
    assert removed.status == "successful" and removed.changed > 0, removed.screen
    assert not node.file(f"/etc/systemd/system/{UNIT}").exists
    assert not node.service(UNIT).is_running
    again = play("serving", **{**SERVING, "gaudi_serving_state": "absent"})
    assert (again.status, again.changed) == ("successful", 0), again.screen
