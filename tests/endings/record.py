# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs endings of ``program.py`` by the real torchrun, and keeps what it and the ranks printed, a file for each.

    python -m tests.endings.record [name ...]

Paths and the name of this machine are replaced; a run of many equal characters is kept as {{k*5000000}}. Libraries of
another version are taken from a first directory in PYTHONPATH, which has the repository as its last one.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from tests.endings.expected import EXPECTED

HERE = Path(__file__).parent
LIBRARIES = ("torch", "wandb", "pydantic", "transformers", "lightning", "accelerate", "rich", "requests", "tqdm")
REPEATED = re.compile(r"(.)\1{1999,}")


def run(name, place, port):
    """What the agent of this ending says, and the directory of its ranks' logs, which is below ``place``."""
    ranks, _first, _reason = EXPECTED[name]
    argv = [str(Path(sys.executable).parent / "torchrun"), "--nnodes", "1", "--nproc-per-node", str(ranks)]
    argv += ["--rdzv-backend", "static", "--master-port", str(port), "--max-restarts", "0"]
    argv += ["--log-dir", str(place), "--redirects", "3", str(HERE / "program.py"), name]
    agent = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, env=_environment(), timeout=300
    )
    return agent.stdout.decode(errors="replace"), next(Path(place).glob("*/attempt_0"))


def record(name):
    with tempfile.TemporaryDirectory() as place:
        agent_log, attempt = run(name, place, 20000 + os.getpid() % 9000)
        parts = {"agent.log": agent_log}
        for path in sorted(attempt.glob("*/*")):
            if path.suffix in (".log", ".json") and path.stat().st_size:
                parts[f"{path.parent.name}/{path.name}"] = path.read_text(errors="replace")
        text = "".join(f"=== {part}\n{_neutral(said, place)}\n" for part, said in parts.items())
    used = [f"{library} {importlib.metadata.version(library)}" for library in LIBRARIES if library in _imported(text)]
    header = f"# {EXPECTED[name][0]} ranks; printed by Python {sys.version.split()[0]}, {', '.join(used)}\n"
    (HERE / "recorded" / f"{name}.txt").write_text(header + text)


def _environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "COLUMNS": "100", "NO_COLOR": "1"}


def _imported(text):
    return {"torch", *(library for library in LIBRARIES if f"/{library}/" in text or f"{library}:" in text)}


def _neutral(text, place):
    for own, shown in {
        os.environ.get("PYTHONPATH", "").partition(":")[0] or place: "/opt/venv/lib/python3.11/site-packages",
        place: "/var/log/gaudi3_scale/jobs/demo/ranks",
        sysconfig.get_paths()["purelib"]: "/opt/venv/lib/python3.11/site-packages",
        str(HERE): "/opt/train",
        str(Path(sys.executable).parent): "/opt/venv/bin",
        sys.base_prefix: "/usr",
        os.uname().nodename: "node1",
    }.items():
        text = text.replace(own, shown)
        text = text.replace(str(Path(own).resolve()), shown) if own.startswith("/") else text
    return REPEATED.sub(lambda match: f"{{{{{match[1]}*{len(match[0])}}}}}", text)


if __name__ == "__main__":
    for one in sys.argv[1:] or EXPECTED:
        record(one)
        print(one, flush=True)
