# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The client of measure_serving.yml beside ``vllm bench serve``, and its search beside trying all loads.

    python -m benchmarks.serving_client [--requests 1000] [--turns 3]

Both clients ask a server whose times are known, in a process of its own and in turns; the figures are the best of all
turns, since a busy machine only adds to them. It installs a real vLLM first (tests/vllm_server.py), 2 GB. The search is
compared with trying each number of clients, over servers of six kinds.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plugins.module_utils._serving.load.run import Load, measure
from plugins.module_utils._serving.load.search import found_level, levels, next_level
from plugins.module_utils._serving.load.target import Target
from tests.tiny_llama import write_tiny_llama
from tests.vllm_server import ROOT, vllm_environment, vllm_program

TOKEN_S, CLIENTS = 0.1, 20
SERVERS, HIGHEST = 2000, 512
# Ours, theirs, and whether less is better.
FIGURES: Mapping[str, tuple[Callable[[Mapping[str, Any]], float], str, bool]] = {
    "requests/s": (lambda found: found["requests_per_s"], "request_throughput", False),
    "output tokens/s": (lambda found: found["output_tokens_per_s"], "output_throughput", False),
    "first token, median (ms)": (lambda found: found["first_token_ms"]["p50"], "median_ttft_ms", True),
    "between tokens, mean (ms)": (lambda found: found["between_tokens_ms"]["mean"], "mean_itl_ms", True),
    "per token, mean (ms)": (lambda found: found["per_token_ms"]["mean"], "mean_tpot_ms", True),
    "whole answer, median (ms)": (lambda found: found["request_ms"]["p50"], "median_e2el_ms", True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.requests} requests by {CLIENTS} clients, {1e3 * TOKEN_S:.0f} ms a token, best of {options.turns}")
    with tempfile.TemporaryDirectory() as scratch:
        load = Load(CLIENTS, options.requests, 32, 8, 300)
        compared = compare(load, write_tiny_llama(Path(scratch, "model")), Path(scratch), options.turns)
    for name, (our, their) in compared.items():
        print(f"{name:28} ours {our:9.2f}   vllm bench serve {their:9.2f}   {our / their - 1:+.2%}")
    worst, most, mean = search_against_all()
    print(f"search over {HIGHEST} clients, {SERVERS} servers: at most {worst:.1%} below the best")
    print(f"in at most {most} runs, {mean:.1f} on average")


def compare(load: Load, tokenizer: Path, scratch: Path, turns: int) -> dict[str, tuple[float, float]]:
    """Figure -> (ours, theirs), each the best of its turns."""
    ours, theirs = [], []
    with stub_server() as port:
        for _turn in range(turns):
            theirs.append(bench(port, tokenizer, scratch, load))
            ours.append(measure(Target("127.0.0.1", port), load))
    found = {}
    for name, (our, their, is_less_better) in FIGURES.items():
        best = min if is_less_better else max
        found[name] = best(our(one) for one in ours), best(one[their] for one in theirs)
    return found


@contextmanager
def stub_server() -> Iterator[int]:
    """Its port; a server in a process of its own, which takes ``TOKEN_S`` for each token of an answer."""
    code = (
        "import sys, time\nfrom tests.unit.plugins.module_utils._serving.load.stub_server import StubServer\n"
        f"with StubServer(token_s={TOKEN_S}) as server:\n    print(server.port, flush=True)\n    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        yield int(process.stdout.readline() if process.stdout else 0)
    finally:
        process.kill()
        process.wait()


def bench(port: int, tokenizer: Path, scratch: Path, load: Load) -> dict[str, float]:
    """The figures of ``vllm bench serve``."""
    given = {
        "backend": "openai",
        "base-url": f"http://127.0.0.1:{port}",
        "model": "stub",
        "tokenizer": tokenizer,
        "dataset-name": "random",
        "random-input-len": load.input_tokens,
        "random-output-len": load.output_tokens,
        "num-prompts": load.requests,
        "max-concurrency": load.concurrency,
        "temperature": 0,
        "percentile-metrics": "ttft,tpot,itl,e2el",
        "metric-percentiles": "50,95,99",
        "result-dir": scratch,
        "result-filename": "bench.json",
    }
    words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    command = [str(vllm_program()), "bench", "serve", *words, "--ignore-eos", "--save-result", "--disable-tqdm"]
    done = subprocess.run(command, env=vllm_environment(scratch), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-4000:])
    figures: dict[str, float] = json.loads((scratch / "bench.json").read_text(encoding="utf-8"))
    if figures["completed"] != load.requests:
        raise RuntimeError(f"vllm bench serve completed {figures['completed']} of {load.requests} requests")
    return figures


def search_against_all() -> tuple[float, int, float]:
    """(how far below the best of all loads the search ended at most, its runs at most, and on average)."""
    chance, all_levels = random.Random(0), levels(HIGHEST)
    worst, runs = 0.0, []
    for number in range(SERVERS):
        curve = server(number, chance)
        tried: dict[int, float] = {}
        while (level := next_level(all_levels, tried, 64)) is not None:
            tried[level] = curve(level)
        best = max((clients for clients in range(1, HIGHEST + 1) if curve(clients) <= 1), default=0)
        if best:
            worst = max(worst, 1 - found_level(all_levels, tried) / best)
        runs.append(len(tried))
    return worst, max(runs), sum(runs) / len(runs)


def server(number: int, chance: random.Random) -> Callable[[int], float]:
    """How many times its limit the latency is with so many clients: in proportion, with a knee, a wall, an end."""
    knee, scale, power = chance.randint(1, 600), chance.uniform(0.001, 2), chance.uniform(0.1, 3)
    curves: tuple[Callable[[int], float], ...] = (
        lambda clients: scale * clients,
        lambda clients: 0.2 + max(0, clients - knee) * scale,
        lambda clients: 0.01 if clients <= knee else 50.0,
        lambda clients: float((clients / knee) ** power),
        lambda clients: 0.9 if clients <= knee else float("inf"),
        lambda clients: 0.1 / max(1e-3, 1 - clients / (knee + 1)),
    )
    return curves[number % len(curves)]


if __name__ == "__main__":
    main()
