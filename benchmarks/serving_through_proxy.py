# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real vLLM asked through our proxy and asked itself, in turns.

    python -m benchmarks.serving_through_proxy [--requests 200] [--turns 7] [--clients 4]

Both are the same process on this machine's processor with a tiny model, so that what the proxy adds is a larger part of
each answer than with any model that people serve. The figures are the medians of all turns. It installs a real vLLM
first (tests/vllm_server.py), 2 GB, and needs haproxy.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.serving_client import FIGURES
from benchmarks.serving_proxies import Ours
from plugins.module_utils._serving.load.run import Load, measure
from plugins.module_utils._serving.load.target import Target
from tests.local_haproxy import MISSING
from tests.tiny_llama import write_tiny_llama
from tests.vllm_server import VllmServer

MODEL = "tiny"
INPUT, OUTPUT, SECONDS = 64, 128, 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    if MISSING:
        parser.error(MISSING)
    load = Load(options.clients, options.requests, INPUT, OUTPUT, SECONDS)
    print(
        f"{options.requests} requests of {OUTPUT} tokens by {options.clients} clients, median of {options.turns} turns"
    )
    through, bare = compare(load, options.turns)
    for name, (value, _theirs, _is_less_better) in FIGURES.items():
        one, other = median(map(value, through)), median(map(value, bare))
        print(f"{name:28} through the proxy {one:9.2f}   itself {other:9.2f}   {one / other:.3f} x")


def compare(load: Load, turns: int) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """(through the proxy, itself), a measurement a turn."""
    through: list[Mapping[str, Any]] = []
    bare: list[Mapping[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        model = write_tiny_llama(scratch / "model")
        with VllmServer(model, scratch, ["--served-model-name", MODEL]) as server:
            proxy = Ours(scratch / "proxy", MODEL)
            try:
                proxy.start({"one": server.port})
                for _turn in range(turns):
                    bare.append(measure(Target("127.0.0.1", server.port), load))
                    through.append(measure(Target("127.0.0.1", proxy.port), load))
            finally:
                proxy.close()
    return through, bare


if __name__ == "__main__":
    main()
