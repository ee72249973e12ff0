# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of instances on nodes, asked of a real vLLM: answers, figures, metrics, its end."""

from __future__ import annotations

import http.client
import json
import signal
from pathlib import Path

import pytest

from benchmarks.serving_client import FIGURES, TOKEN_S, compare
from plugins.module_utils._errors import GaudiError
from plugins.module_utils._exporter.server_metrics import CACHE, HISTOGRAMS, SUMS, parse_metrics
from plugins.module_utils._serving.admission import examine
from plugins.module_utils._serving.asking import HEALTH, Endpoint, ask
from plugins.module_utils._serving.expected import parse_expected
from plugins.module_utils._serving.load.run import Load, measure
from plugins.module_utils._serving.load.target import Target
from tests.rulebook_process import waits
from tests.tiny_llama import write_tiny_llama
from tests.vllm_server import VllmServer

from .conftest import KEY

LOAD = Load(concurrency=4, requests=40, input_tokens=32, output_tokens=8, timeout=300)
# Where a machine is busy, their times grow more than ours: benchmarks/serving_client.py has both of an idle one.
TURNS, NEAR = 3, 0.03


def endpoint(server: VllmServer, key: str = KEY) -> Endpoint:
    return Endpoint("127.0.0.1", server.port, key=key)


def get(server: VllmServer, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_key_opens_what_it_must(server: VllmServer) -> None:
    assert [get(server, path)[0] for path in (HEALTH, "/metrics", "/version", "/v1/models")] == [200, 200, 200, 401]
    with pytest.raises(GaudiError, match="status 401: Unauthorized"):
        measure(Target("127.0.0.1", server.port, key="another"), LOAD)


def test_it_answers_as_the_exporter_recorded_and_another_model_does_not(server: VllmServer, model: Path) -> None:
    record = json.loads((model / "gaudi3_scale_export.json").read_text(encoding="utf-8"))
    verdict = examine(endpoint(server), "tiny", parse_expected(record), "float32", 512)
    assert verdict.reason == ""
    record["answers"]["windows"][0]["top"][0][1] -= 0.5
    assert "has the log-probability" in examine(endpoint(server), "tiny", parse_expected(record), "float32", 512).reason


def test_our_client_measures_it_and_its_metrics_say_the_same(server: VllmServer) -> None:
    before = parse_metrics(get(server, "/metrics")[1])
    found = measure(Target("127.0.0.1", server.port, key=KEY, vocabulary=512), LOAD)
    after = parse_metrics(get(server, "/metrics")[1])
    assert (found["model"], found["version"], found["failed"]) == ("tiny", "0.32.0", 0)
    assert found["output_tokens_per_s"] == pytest.approx(8 * found["requests_per_s"])
    assert found["input_tokens_per_s"] == pytest.approx(32 * found["requests_per_s"])
    # One more asks before the run.
    generated = after.values["generation_tokens_total"] - before.values["generation_tokens_total"]
    assert generated == 8 * (LOAD.requests + 1)
    assert sum(after.finished.values()) - sum(before.finished.values()) == LOAD.requests + 1
    assert {*SUMS, CACHE, *(f"{name}_sum" for name in HISTOGRAMS)} <= after.values.keys()
    assert set(after.histograms) == set(HISTOGRAMS)


@pytest.mark.parametrize("requests", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_our_client_adds_no_more_than_vllm_bench_serve_and_hides_nothing(
    model: Path, tmp_path: Path, requests: int
) -> None:
    """Of a server whose times are known, since a real one has others at each run."""
    compared = compare(Load(20, requests, 32, 8, 300), model, tmp_path, TURNS)
    for name, (our, their) in compared.items():
        _value, _theirs, is_less_better = FIGURES[name]
        assert our / their <= 1 + NEAR if is_less_better else our / their >= 1 - NEAR, compared
    assert compared["first token, median (ms)"][0] >= 1e3 * TOKEN_S
    assert compared["between tokens, mean (ms)"][0] >= 1e3 * TOKEN_S
    assert compared["requests/s"][0] <= 20 / (8 * TOKEN_S)


def completion(server: VllmServer, **more: object) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    body = {"model": "tiny", "prompt": [5, 6, 7], "temperature": 0, "ignore_eos": True, **more}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    return connection.getresponse()


def test_while_it_drains_it_ends_what_runs_and_aborts_what_comes(tmp_path: Path) -> None:
    """What the simulated engine, and the proxy's order of steps, stand on."""
    model = write_tiny_llama(tmp_path / "model", seed=1)
    flags = ["--served-model-name", "tiny", "--shutdown-timeout", "240"]
    with VllmServer(model, tmp_path, flags, KEY) as server:
        # As many as it computes at a time: one alone is answered before the next one can come.
        running = [completion(server, max_tokens=500, stream=True) for _each in range(16)]
        for one in running:
            one.readline()
        server.process.send_signal(signal.SIGTERM)
        assert waits(lambda: "start mode=drain" in server.log.read_text(encoding="utf-8"), seconds=30)
        late = json.loads(completion(server, max_tokens=4).read())["choices"][0]
        assert (late["finish_reason"], late["text"]) == ("abort", "")
        assert ask(endpoint(server), HEALTH) is not None
        for one in running:
            assert one.read().rstrip().endswith(b"data: [DONE]")
        assert server.process.wait(60) == 0
