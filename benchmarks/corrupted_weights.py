# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real vLLM that serves other weights than were exported: does its model's record tell?

    python -m benchmarks.corrupted_weights [--runs 20] [--bytes 4096]

Each run zeroes a block of the weights' file at a place that is drawn, as a disk or a copy loses one, starts vLLM on it,
and compares its answers with the export's record, as an instance is before it gets requests. That each byte of the file
is compared too, before the engine starts, is left out here. It installs a real vLLM first (tests/vllm_server.py), 2 GB.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from plugins.module_utils._serving.admission import examine
from plugins.module_utils._serving.asking import Endpoint
from plugins.module_utils._serving.expected import parse_expected
from tests.tiny_llama import write_tiny_llama
from tests.vllm_server import VllmServer

MODEL, DTYPE, LENGTH = "tiny", "float32", 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=4096, help="that are lost in each (default: 4096)")
    options = parser.parse_args()
    told = 0
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        model = exported(scratch)
        if reason := reason_of(model, scratch, model):
            raise RuntimeError(f"the model as it was exported is refused: {reason}")
        for number in range(options.runs):
            damaged = scratch / f"damaged-{number}"
            shutil.copytree(model, damaged)
            place = damage(damaged / "model.safetensors", options.bytes, random.Random(number))
            reason = reason_of(damaged, scratch, model)
            told += bool(reason)
            print(f"{number + 1:3} of {options.runs}, bytes from {place} on: {reason or 'NOT told'}", flush=True)
    print(f"{told} of {options.runs} would get no request")


def exported(scratch: Path) -> Path:
    trained, directory = write_tiny_llama(scratch / "trained"), scratch / "exported"
    words = ["export", str(trained), str(directory), "--model", str(trained)]
    subprocess.run([sys.executable, "-m", "gaudi3_scale", *words], check=True, stdout=subprocess.DEVNULL)
    return directory


def damage(weights: Path, size: int, chance: random.Random) -> int:
    """Where in the file the bytes are that are zeros now; they had been some, and belong to weights."""
    content = bytearray(weights.read_bytes())
    data = 8 + int.from_bytes(content[:8], "little")
    while True:
        place = chance.randrange(data, len(content) - size)
        if any(content[place : place + size]):
            break
    content[place : place + size] = bytes(size)
    weights.write_bytes(content)
    return place


def reason_of(model: Path, scratch: Path, recorded: Path) -> str:
    """Why an engine with this model gets no requests; empty if it does."""
    record = json.loads((recorded / "gaudi3_scale_export.json").read_text(encoding="utf-8"))
    with VllmServer(model, scratch, ["--served-model-name", MODEL]) as server:
        endpoint = Endpoint("127.0.0.1", server.port)
        return examine(endpoint, MODEL, parse_expected(record), DTYPE, LENGTH).reason


if __name__ == "__main__":
    main()
