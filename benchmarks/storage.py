# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What `measure_storage.yml` says of a disk beside a bare `fio`, run by hand on the same disk, in turns.

    .venv/bin/python -m benchmarks.storage

Makes a sandbox of its own, with one node whose disk keeps a rate by the kernel's cgroups, and removes it again. Bare
fio lays out its files first and reads them with one process and its own defaults for all but size and block.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.playbook_run import ROOT, SANDBOX, run, sandbox

NODE, PLACE = "node1", "/mnt/bench_disk"
READ, WRITE, SECONDS = 150_000_000, 60_000_000, 15
KINDS = {"write": ("write", "1M"), "read": ("read", "1M"), "random_read": ("randread", "128k")}


def main() -> int:
    """Print each turn's rates, and the median of the ratios; returns 1 where one is more than 5 % off."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--turns", type=int, default=3, help="of both (default 3)")
    turns = options.parse_args().turns
    ratios: dict[str, list[float]] = {name: [] for name in KINDS}
    try:
        sandbox("up", "--nodes", "1", "--no-repository")
        device = _asked(["disk", NODE, f"--read-rate={READ}", f"--write-rate={WRITE}"])
        run("storage", gaudi_storage_mounts=[{"path": PLACE, "source": device, "type": "ext4"}])
        _in_node(["chown", "nobody", PLACE])
        print(f"{'turn':>4} {'phase':12} {'fio (MB/s)':>11} {'ours (MB/s)':>12} {'ratio':>7}")
        for turn in range(1, turns + 1):
            ours = _ours()
            for name in KINDS:
                by_hand = _fio(name)
                ratios[name].append(ours[name] / by_hand)
                print(f"{turn:4} {name:12} {by_hand / 1e6:11.2f} {ours[name] / 1e6:12.2f} {ratios[name][-1]:7.3f}")
    finally:
        sandbox("down")
    for name, found in ratios.items():
        print(f"median ratio, {name}: {median(found):.3f}")
    return int(any(abs(median(found) - 1) > 0.05 for found in ratios.values()))


def _ours() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        run(
            "measure_storage",
            gaudi_storage_directory=PLACE,
            gaudi_storage_user="nobody",
            gaudi_storage_files=2,
            gaudi_storage_size="256M",
            gaudi_storage_seconds=SECONDS,
            gaudi_report_target=directory,
        )
        rates = json.loads(Path(directory, "measure_storage.json").read_text())["data"]["rates"]
    return {name: rates[name][NODE]["bytes_per_s"] for name in KINDS}


def _fio(name: str) -> float:
    """Bytes a second by fio's own sum."""
    kind, block = KINDS[name]
    words = [
        *("fio", "--name=by_hand", f"--rw={kind}", f"--bs={block}", "--size=512M", f"--directory={PLACE}"),
        *("--direct=1", "--ioengine=libaio", "--iodepth=4", "--time_based", f"--runtime={SECONDS}"),
        *("--end_fsync=1", "--eta=never", "--output-format=json"),
    ]
    said = _in_node(words)
    job = json.loads(said[said.index("{") :])["jobs"][0]
    return float(job["write" if name == "write" else "read"]["bw_bytes"])


def _in_node(command: Sequence[str]) -> str:
    done = subprocess.run(["podman", "exec", f"{SANDBOX}-{NODE}", *command], check=True, capture_output=True, text=True)
    return done.stdout


def _asked(arguments: Sequence[str]) -> str:
    command = [sys.executable, "-m", "sandbox", *arguments, "--name", SANDBOX]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
