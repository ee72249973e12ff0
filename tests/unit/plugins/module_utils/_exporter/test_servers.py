# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the collector tells of instances that serve models."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.server_families import server_families
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.server_metrics import (
    MOST_BUCKETS,
    ServerMetrics,
    parse_metrics,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.server_readings import ServerReading, read_servers
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.admission import Verdict

TEXT = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a \\"model\\", }"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:generation_tokens_total{engine="0",model_name="m"} 1.5e+06
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 10.0
vllm:request_success_total{engine="0",finished_reason="of its own",model_name="m"} 7.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="m"} 8.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 10.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 4.5
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="m"} 70.0
vllm:num_requests_waiting{engine="0",model_name="m"} NaN
vllm:num_preemptions_total{engine="0",model_name="m"} -1.0
vllm:unheard_of{engine="0"} 1.0
python_gc_objects_collected_total{generation="0"} 12475.0
"""
PARSED = ServerMetrics(
    {
        "num_requests_running": 5.0,
        "kv_cache_usage_perc": 0.5,
        "generation_tokens_total": 1.5e6,
        "time_to_first_token_seconds_sum": 4.5,
        "e2e_request_latency_seconds_sum": 70.0,
    },
    {"stop": 10.0},
    {"time_to_first_token_seconds": {"0.001": 0.0, "0.5": 8.0, "+Inf": 10.0}},
)


def test_known_values_of_all_engines_are_read_and_nothing_else() -> None:
    assert parse_metrics(TEXT) == PARSED


@pytest.mark.parametrize("text", ["", "\0", "vllm:", "vllm:num_requests_running{", "x" * 100_000, "{}\n" * 1000])
def test_what_is_no_metric_is_nothing(text: str) -> None:
    assert parse_metrics(text) == ServerMetrics()


def test_a_server_cannot_make_series_without_end() -> None:
    lines = [f'vllm:inter_token_latency_seconds_bucket{{le="{bound}"}} 1' for bound in range(10_000)]
    (buckets,) = parse_metrics("\n".join(lines)).histograms.values()
    assert len(buckets) == MOST_BUCKETS


class Handler(BaseHTTPRequestHandler):
    hangs = False

    def do_GET(self) -> None:
        if self.hangs:
            time.sleep(4)
        self.send_response(200)
        data = TEXT.encode() if self.path == "/metrics" else b""
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(Handler, "hangs", False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


class Systemd:
    """Answers for each unit with its state, as if it had been started ten seconds ago."""

    def __init__(self, **states: str) -> None:
        self.states = states
        self.started = int((time.monotonic() - 10) * 1e6)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        name = argv[2].removeprefix("gaudi3-scale-serving-").removesuffix(".service")
        state = self.states.get(name, "inactive")
        started = self.started if state == "active" else 0
        return CommandResult(0, f"ActiveState={state}\nExecMainStartTimestampMonotonic={started}\n", "")


def instance(directory: Path, name: str, port: int, **more: object) -> None:
    told = {"address": "0.0.0.0", "port": port, "served_name": name, "model": "/m", "version": "9" * 64}
    told |= {"modules": [0, 1], "engine": "0.26.0", **more}
    (directory / f"{name}.json").write_text(json.dumps(told))


def alike(*_arguments: object) -> Verdict:
    return Verdict("", 2, 3.0)


def test_an_instance_is_told_with_what_it_counts(tmp_path: Path, port: int) -> None:
    instance(tmp_path, "chat", port)
    (reading,) = read_servers(Systemd(chat="active"), 1e6, directory=str(tmp_path), compare=alike)
    assert reading.started == pytest.approx(1e6 - 10, abs=1)
    assert (reading.answers, reading.metrics, reading.differs) == (True, PARSED, "")
    lines = text_of(server_families([reading])).splitlines()
    for line in (
        f'gaudi_server_info{{serving="chat",model="chat",version="999999999999",engine="0.26.0",port="{port}"}} 1',
        'gaudi_server_card{serving="chat",card="1"} 1',
        'gaudi_server_running{serving="chat"} 1',
        'gaudi_server_failed{serving="chat"} 0',
        'gaudi_server_answers{serving="chat"} 1',
        'gaudi_server_differs{serving="chat"} 0',
        'gaudi_server_requests_running{serving="chat"} 5',
        'gaudi_server_cache_ratio{serving="chat"} 0.5',
        'gaudi_server_requests_total{serving="chat",reason="stop"} 10',
        'gaudi_server_first_token_seconds_bucket{serving="chat",le="0.5"} 8',
        'gaudi_server_first_token_seconds_sum{serving="chat"} 4.5',
    ):
        assert line in lines


def test_a_prometheus_reads_it() -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    reading = reading_of()
    names = {family.name for family in parser.text_string_to_metric_families(text_of(server_families([reading])))}
    assert {"gaudi_server_answers", "gaudi_server_generated_tokens"} <= names


def reading_of() -> ServerReading:
    from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import Control

    control = Control("chat", "::", 1, 'a "name"', "/m", "", (0,), "0.26.0", "u.service")
    return ServerReading(control, 1.0, True, PARSED, "token 5 has another")


def test_one_that_differs_says_so() -> None:
    assert 'gaudi_server_differs{serving="chat"} 1' in text_of(server_families([reading_of()]))
    unknown = replace(reading_of(), differs=None)
    assert "gaudi_server_differs" not in text_of(server_families([unknown]))


def test_one_that_is_stopped_or_given_up_is_asked_nothing(tmp_path: Path, port: int) -> None:
    instance(tmp_path, "chat", port)
    instance(tmp_path, "draft", port)
    found = read_servers(Systemd(chat="failed"), 1e6, directory=str(tmp_path), compare=alike)
    assert [(one.started, one.answers, one.has_failed) for one in found] == [(None, False, True), (None, False, False)]
    text = text_of(server_families(found))
    assert 'gaudi_server_running{serving="draft"} 0' in text
    assert "gaudi_server_requests_running" not in text


def test_instances_that_hang_do_not_add_up(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "hangs", True)
    names = [f"chat-{number}" for number in range(6)]
    for name in names:
        instance(tmp_path, name, port)
    begun = time.monotonic()
    found = read_servers(Systemd(**dict.fromkeys(names, "active")), 1e6, directory=str(tmp_path), compare=alike)
    assert time.monotonic() - begun < 6
    assert [one.answers for one in found] == [False] * 6


def test_answers_are_compared_after_a_start_and_once_an_hour(tmp_path: Path, port: int) -> None:
    instance(tmp_path, "chat", port)
    asked = []

    def compared(*_arguments: object) -> Verdict | None:
        asked.append(True)
        return None if len(asked) == 1 else Verdict("another", 1, 0.0)

    systemd, begun = Systemd(chat="active"), time.monotonic()
    before: list[ServerReading] = []

    def look(seconds: float) -> tuple[int, str | None]:
        nonlocal before
        clock = begun + seconds
        before = read_servers(systemd, 1e6 + seconds, before, str(tmp_path), compared, lambda: clock)
        return len(asked), before[0].differs

    assert [look(seconds) for seconds in (0, 60, 3000)] == [(1, None)] * 3
    assert [look(seconds) for seconds in (3700, 3800)] == [(2, "another")] * 2
    systemd.started += 3_801_000_000
    assert [look(seconds) for seconds in (3820, 3900)] == [(3, "another")] * 2


def test_a_key_that_is_gone_is_an_instance_that_does_not_answer(tmp_path: Path, port: int) -> None:
    instance(tmp_path, "chat", port, key_file=str(tmp_path / "gone"))
    (found,) = read_servers(Systemd(chat="active"), 1e6, directory=str(tmp_path), compare=alike)
    assert (found.answers, found.started is not None) == (False, True)


def test_a_node_without_instances_tells_nothing(tmp_path: Path) -> None:
    assert read_servers(Systemd(), 1e6, directory=str(tmp_path)) == []
    assert text_of(server_families([])) == ""
