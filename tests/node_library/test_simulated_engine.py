# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated engine as its clients meet it: its wheel, started as the program that it installs."""

from __future__ import annotations

import http.client
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine.local import LocalEngine
from sandbox.engine.wheels import VERSIONS, engine_wheels
from tests.tiny_llama import write_tiny_llama

pytestmark = pytest.mark.in_turn("engine")

KEY = {"VLLM_API_KEY": "of this test"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine")


@pytest.fixture(scope="module")
def engine(model: Path, scratch: Path) -> Iterator[LocalEngine]:
    flags = ["--served-model-name", "tiny", "--max_model_len", "256", "--max-num-seqs", "4"]
    with LocalEngine(model, scratch, [*flags, "--shutdown-timeout", "30"]) as running:
        yield running


def ask(engine: LocalEngine, path: str, body: object = None, key: str = "") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    data = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, data, headers)
    answer = connection.getresponse()
    content = answer.read()
    plain = answer.headers.get_content_type() != "application/json"
    return answer.status, content.decode() if plain else json.loads(content)


def completion(engine: LocalEngine, **more: object) -> Any:
    body = {"model": "tiny", "prompt": [5, 6, 7], "max_tokens": 6, "temperature": 0, **more}
    status, told = ask(engine, "/v1/completions", body)
    assert status == 200, told
    return told["choices"][0] if "choices" in told else told


def streamed(engine: LocalEngine, path: str, body: dict[str, object]) -> list[str]:
    status, text = ask(engine, path, {**body, "stream": True})
    assert status == 200
    return [line.removeprefix("data: ") for line in text.split("\n\n") if line]


def test_it_says_that_it_is_simulated(engine: LocalEngine) -> None:
    assert ask(engine, "/version") == (200, {"version": "0.26.0", "simulated": True})
    assert "simulated" in engine.log.read_text().splitlines()[0]


def test_health_and_models(engine: LocalEngine, model: Path) -> None:
    assert ask(engine, "/health")[0] == 200
    (card,) = ask(engine, "/v1/models")[1]["data"]
    assert (card["id"], card["max_model_len"], card["root"]) == ("tiny", 256, str(model))


def test_an_answer_is_what_transformers_computes(engine: LocalEngine, model: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model)
    ids = [5, 6, 7, 100, 200]
    with torch.inference_mode():
        logprobs = torch.log_softmax(network(torch.tensor([ids])).logits[0, -1], -1)
    told = completion(engine, prompt=ids, max_tokens=1, logprobs=5, return_tokens_as_token_ids=True)["logprobs"]
    expected = {f"token_id:{int(token)}": float(logprobs[token]) for token in logprobs.topk(5).indices}
    assert told["top_logprobs"][0] == pytest.approx(expected, abs=1e-4)
    assert told["tokens"][0] == next(iter(expected))


def test_one_flipped_bit_gives_another_answer(engine: LocalEngine, model: Path, scratch: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in model.iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    weights = bytearray((changed / "model.safetensors").read_bytes())
    # The high bit of an exponent, in the last weight of the last tensor but its end.
    weights[-1 - 4 * 1000] ^= 0x40
    (changed / "model.safetensors").write_bytes(weights)
    asked = {"logprobs": 5, "prompt": [300, 301], "max_tokens": 1}
    right = completion(engine, **asked)["logprobs"]
    with LocalEngine(changed, scratch, ["--served-model-name", "tiny"]) as other:
        assert completion(other, **asked)["logprobs"] != right


def test_a_stream_has_what_the_whole_answer_has(engine: LocalEngine) -> None:
    body = {"model": "tiny", "prompt": "Everyone is permitted", "max_tokens": 9, "temperature": 0}
    *events, done = streamed(engine, "/v1/completions", {**body, "stream_options": {"include_usage": True}})
    assert done == "[DONE]"
    told = [json.loads(event) for event in events]
    assert "".join(one["choices"][0]["text"] for one in told[:-1]) == completion(engine, **body)["text"]
    assert [one["choices"][0]["finish_reason"] for one in told[:-1]] == [None] * 8 + ["length"]
    assert told[-1]["usage"]["completion_tokens"] == 9


def test_chat_streams_too(engine: LocalEngine) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "copy"}], "max_tokens": 5, "temperature": 0}
    *events, done = streamed(engine, "/v1/chat/completions", body)
    told = [json.loads(event)["choices"][0] for event in events]
    assert (told[0]["delta"], told[-1]["finish_reason"], done) == (
        {"role": "assistant", "content": ""}, "length", "[DONE]"
    )  # fmt: skip
    whole = ask(engine, "/v1/chat/completions", body)[1]["choices"][0]["message"]["content"]
    assert "".join(one["delta"].get("content", "") for one in told) == whole


def test_echo_scores_the_prompt(engine: LocalEngine) -> None:
    told = completion(engine, echo=True, logprobs=1, max_tokens=2)["logprobs"]
    assert len(told["tokens"]) == 5
    assert told["token_logprobs"][0] is None
    assert all(value <= 0 for value in told["token_logprobs"][1:])


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"max_tokens": 254}, 400, "maximum context length is 256"),
        ({"model": "other"}, 404, "does not exist"),
        ({"logprobs": 21}, 400, "max allowed: 20"),
        ({"prompt": [9999]}, 400, "out of vocabulary"),
        ({"prompt": None}, 400, "prompt"),
    ],
)
def test_a_request_that_it_cannot_serve(engine: LocalEngine, more: dict[str, object], status: int, words: str) -> None:
    got, told = ask(engine, "/v1/completions", {"model": "tiny", "prompt": [5, 6, 7], "max_tokens": 1, **more})
    assert (got, words in told["error"]["message"]) == (status, True), told


def test_metrics_have_the_names_of_a_real_server(engine: LocalEngine) -> None:
    completion(engine)
    text = ask(engine, "/metrics")[1]
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "generation_tokens_total"):
        assert f'vllm:{name}{{engine="0",model_name="tiny"}} ' in text
    assert 'vllm:request_success_total{engine="0",model_name="tiny",finished_reason="length"}' in text
    assert 'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="tiny",le="+Inf"}' in text


@pytest.mark.parametrize(
    ("version", "flags", "code", "words"),
    [
        ("0.26.0", ["--num-scheduler-steps", "8"], 2, "unrecognized arguments: --num-scheduler-steps 8"),
        ("0.16.0", ["--shutdown-timeout", "8"], 2, "unrecognized arguments: --shutdown-timeout 8"),
        ("0.26.0", ["-tp", "3"], 1, "must be divisible by tensor parallel size"),
        ("0.26.0", ["--max-model-len", "4096"], 1, "greater than the derived max_model_len"),
    ],
)
def test_what_does_not_start(model: Path, scratch: Path, version: str, flags: list[str], code: int, words: str) -> None:
    engine = LocalEngine(model, scratch, flags, version)
    engine.start()
    assert engine.process.wait(60) == code
    assert words in engine.log.read_text()


def test_without_the_plugin_there_is_no_device(model: Path, scratch: Path, tmp_path: Path) -> None:
    engine = LocalEngine(model, tmp_path)
    for path in (tmp_path / "vllm-0.26.0/vllm_gaudi").iterdir():
        path.unlink()
    (tmp_path / "vllm-0.26.0/vllm_gaudi").rmdir()
    engine.start()
    assert engine.process.wait(60) == 1
    assert "Failed to infer device type" in engine.log.read_text()


def begin(engine: LocalEngine, tokens: int) -> http.client.HTTPResponse:
    """A stream of which the first event was read."""
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    body = {"prompt": [5, 6, 7], "max_tokens": tokens, "temperature": 0, "stream": True, "ignore_eos": True}
    connection.request("POST", "/v1/completions", json.dumps(body))
    answer = connection.getresponse()
    answer.readline()
    return answer


def test_a_drain_ends_streams_and_refuses_newcomers(model: Path, scratch: Path) -> None:
    with LocalEngine(model, scratch, ["--shutdown-timeout", "60"]) as engine:
        # Long enough that a busy machine asks while it drains.
        engine.fault(slow=0.2)
        answer = begin(engine, 60)
        engine.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        status, told = ask(engine, "/v1/completions", {"prompt": [5], "max_tokens": 1})
        assert (status, told["choices"][0]["finish_reason"], told["choices"][0]["text"]) == (200, "abort", "")
        *_rest, event, done = streamed(engine, "/v1/completions", {"prompt": [5], "max_tokens": 1})
        assert (json.loads(event)["choices"][0]["finish_reason"], done) == ("abort", "[DONE]")
        assert answer.read().endswith(b"data: [DONE]\n\n")
        assert engine.process.wait(60) == 0


def test_the_port_opens_after_the_warm_up_and_without_a_drain_streams_are_cut(model: Path, scratch: Path) -> None:
    engine = LocalEngine(model, scratch, version="0.16.0")
    engine.fault(warm_up_seconds=2)
    engine.start()
    try:
        while "[Warmup][Prompt][3/24]" not in engine.log.read_text():
            assert engine.process.poll() is None
            time.sleep(0.02)
        with pytest.raises(ConnectionRefusedError):
            ask(engine, "/health")
        engine.wait()
        assert "Warmup finished in 2 secs" in engine.log.read_text()
        engine.fault(slow=0.05)
        answer = begin(engine, 200)
        engine.process.send_signal(signal.SIGTERM)
        assert '"finish_reason": "abort"' in answer.read().decode()
        assert engine.process.wait(10) == 0
    finally:
        engine.process.kill()
        engine.process.wait()


def test_it_wants_its_key_and_hangs_and_dies_as_it_is_asked_to(model: Path, scratch: Path) -> None:
    with LocalEngine(model, scratch, environment=KEY) as engine:
        assert [ask(engine, path)[0] for path in ("/health", "/metrics", "/v1/models")] == [200, 200, 401]
        assert ask(engine, "/v1/models", key="another")[0] == 401
        assert ask(engine, "/v1/models", key=KEY["VLLM_API_KEY"])[0] == 200
        engine.fault(hang=True)
        time.sleep(0.1)
        connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=0.5)
        headers = {"Authorization": f"Bearer {KEY['VLLM_API_KEY']}"}
        connection.request("POST", "/v1/completions", json.dumps({"prompt": [5], "max_tokens": 1}), headers)
        with pytest.raises(TimeoutError):
            connection.getresponse()
        assert ask(engine, "/health")[0] == 200
        engine.fault(hang=True, die=True)
        assert engine.process.wait(10) == 1


def test_wheels_are_the_same_every_time_and_say_what_they_are() -> None:
    wheels = engine_wheels()
    assert wheels == engine_wheels()
    assert len(wheels) == 2 * len(VERSIONS)
    assert all(b"Summary: Simulated" in content for _name, content in wheels)
