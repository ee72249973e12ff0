# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an instance was is kept until its change is over, and put back word for word."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._serving import change
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.asking import Endpoint
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.change_step import STEPS, StepOptions, take
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import Control, ServingPaths


@pytest.fixture
def paths(tmp_path):
    """An instance that is set up."""
    for name in ("etc", "units"):
        (tmp_path / name).mkdir()
    here = ServingPaths("chat", str(tmp_path / "etc"), str(tmp_path / "state"), str(tmp_path / "units"))
    write(here, "before")
    return here


def write(paths, word):
    control = Control("chat", "127.0.0.1", 1, "m", "/models/m", word, (0,), "0.26.0", paths.unit)
    for path, text in ((paths.control, control.text()), (paths.environment, word), (paths.unit_file, word)):
        Path(path).write_text(text)


def read(path):
    return Path(path).read_text()


def step(paths, name, run=None, check_mode=False, **more):
    options = StepOptions(**{"step": name, "instances": ("chat",), "paths": paths, **more})
    return take(options, run or nothing, check_mode)


def nothing(argv, *, timeout=None, env=None):
    return CommandResult(0, "", "")


def test_what_was_is_kept_once_until_the_change_is_over(paths):
    assert step(paths, "look") == {"changed": False, "kept": False, "exists": True}
    assert step(paths, "keep", check_mode=True)["changed"] and not step(paths, "look")["kept"]
    assert step(paths, "keep")["changed"]
    # A second run after an interruption finds half of the change, which is not what to go back to.
    write(paths, "half")
    assert not step(paths, "keep")["changed"]
    assert step(paths, "look")["kept"]
    texts = read(change.kept_file(paths))
    assert "before" in texts and "half" not in texts
    assert step(paths, "done")["changed"] and not step(paths, "done")["changed"]


def test_it_is_put_back_word_for_word(paths, monkeypatch):
    monkeypatch.setattr(change, "completes", lambda *_: True)
    asked = []

    def run(argv, *, timeout=None, env=None):
        asked.append(" ".join(argv))
        return CommandResult(0, "", "")

    step(paths, "keep")
    before = {path: read(path) for path in (paths.control, paths.environment, paths.unit_file)}
    write(paths, "after")
    step(paths, "restore", run)
    assert {path: read(path) for path in before} == before
    assert asked == [
        "systemctl daemon-reload",
        f"systemctl reset-failed {paths.unit}",
        f"systemctl restart {paths.unit}",
    ]


def test_there_is_nothing_to_go_back_to_for_a_new_one(paths):
    with pytest.raises(GaudiError, match="instance chat was not there before, so there is nothing to go back to"):
        step(paths, "restore")


def test_a_previous_one_that_does_not_start_either_is_told(paths):
    step(paths, "keep")

    def run(argv, *, timeout=None, env=None):
        return CommandResult(1, "", "") if argv[1:2] == ["restart"] else CommandResult(0, "RuntimeError: no card\n", "")

    with pytest.raises(GaudiError, match="instance chat did not start"):
        step(paths, "restore", run)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"step": "admit", "instances": ("other",)}, "this node has no instance other; it has chat"),
        ({"step": "admit", "limit_ms": -1.0}, "limit_ms is -1; give milliseconds"),
        ({"step": "keep", "instances": ()}, "step is keep, which is of one instance; give its name alone"),
        ({"step": "idle", "instances": ("a", "b")}, "step is idle, which is of one instance"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(paths, given, said):
    with pytest.raises(GaudiError) as raised:
        take(StepOptions(**{"instances": ("chat",), "paths": paths, **given}), nothing, False)
    assert said in str(raised.value)


def test_check_mode_asks_no_instance(paths):
    for name in STEPS:
        step(paths, name, check_mode=True)


def test_one_that_does_not_run_is_not_admitted_and_says_so(paths):
    def run(argv, *, timeout=None, env=None):
        return CommandResult(3, "", "")

    (row,) = step(paths, "admit", run)["instances"]
    assert not row["admitted"]
    assert row["reason"] == f"instance chat is not admitted: {paths.unit} does not run."


def test_a_model_without_a_record_is_not_admitted_and_says_so(paths):
    (row,) = step(paths, "admit")["instances"]
    assert row["reason"].startswith("instance chat is not admitted: ") and "/models/m" in row["reason"]


METRICS = b"""# HELP vllm:num_requests_running Number of requests
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0"} 2.0
vllm:request_success_total{finished_reason="stop"} 8.0
"""


def test_the_engine_counts_its_requests_itself():
    class Engine(BaseHTTPRequestHandler):
        def log_message(self, *_words):
            pass

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(METRICS)))
            self.end_headers()
            self.wfile.write(METRICS)

    with ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert change.requests_of(Endpoint("127.0.0.1", server.server_address[1])) == 5
        server.shutdown()
    assert change.requests_of(Endpoint("127.0.0.1", 1)) == 0
