# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the rules that look back for hours or a day cost a Prometheus that has watched for a day.

    .venv/bin/python -m benchmarks.rules_of_a_day --nodes 32

Writes a made-up day of what those rules read, a sample each ten seconds, into a real Prometheus of this machine, and
asks it what each of the rules asks. Cost grows with the nodes; a day of 512 takes half an hour to write.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import yaml

from benchmarks.processor_time import processor_seconds

RULES = Path(__file__).resolve().parents[1] / "roles/gaudi_monitoring/files/rules"
# Of this name are the groups whose rules do.
BY_DAY = "_by_day"
CARDS, DISKS, EVERY_S, HOURS = 8, 4, 10, 26
PORT = 9391
TURNS = 3
URL = f"http://127.0.0.1:{PORT}/api/v1/"


def main() -> int:
    """Print each rule with the processor seconds of one evaluation, the median of a few."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, default=32, help=f"of {CARDS} cards and {DISKS} disks (default 32)")
    nodes = options.parse_args().nodes
    with tempfile.TemporaryDirectory(prefix="rules-") as directory:
        place = Path(directory)
        end = int(time.time())
        with (place / "day").open("w") as day:
            write_day(day, nodes, end)
        made = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(place / "day"), str(place / "data")]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        with prometheus(place) as process:
            print(f"{'rule':28} {'processor s':>11} {'s':>6}   of {nodes} nodes")
            for name, question in questions().items():
                turns = sorted(asked(process, question, end - 60) for _ in range(TURNS))
                processor_s, wall_s = turns[TURNS // 2]
                print(f"{name:28} {processor_s:11.2f} {wall_s:6.2f}", flush=True)
    return 0


def questions() -> dict[str, str]:
    """Name of an alert -> its expression, for each that is asked once a minute because it looks back so far."""
    return {
        rule["alert"]: rule["expr"]
        for path in sorted(RULES.glob("*.yml"))
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
        if group["name"].endswith(BY_DAY)
        for rule in group["rules"]
    }


def write_day(day: TextIO, nodes: int, end: int) -> None:
    """What the rules read of so many nodes until ``end``, in OpenMetrics."""
    times = range(end - HOURS * 3600, end, EVERY_S)

    def write(family: str, kind: str, name: str, series: list[str], value: Callable[[int], float]) -> None:
        day.write(f"# TYPE {family} {kind}\n")
        for labels in series:
            day.writelines(f"{name}{{{labels}}} {value(at)} {times[at]}\n" for at in range(len(times)))

    on_nodes = [f'job="gaudi",instance="node{node}"' for node in range(nodes)]
    cards = [f'{node},card="{card}"' for node in on_nodes for card in range(CARDS)]
    disks = [f'{node},mountpoint="/{disk}",fstype="ext4"' for node in on_nodes for disk in range(DISKS)]
    # A job on each node, with a checkpoint each ten minutes.
    jobs = [f'{node},training="job{number}"' for number, node in enumerate(on_nodes)]
    corrected = "gaudi_card_ecc_corrected"
    write(corrected, "counter", f"{corrected}_total", cards, lambda at: at // 3000)
    write("node_filesystem_avail_bytes", "gauge", "node_filesystem_avail_bytes", disks, lambda at: 9e11 - 1000 * at)
    write("node_filesystem_size_bytes", "gauge", "node_filesystem_size_bytes", disks, lambda _at: 2e12)
    write("gaudi_job_running", "gauge", "gaudi_job_running", jobs, lambda _at: 1)
    begun = "gaudi_job_started_timestamp_seconds"
    write(begun, "gauge", begun, jobs, lambda _at: times[0])
    written = "gaudi_job_checkpoint_timestamp_seconds"
    write(written, "gauge", written, jobs, lambda at: times[at - at % 60])
    day.write("# EOF\n")


@contextmanager
def prometheus(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One that scrapes nothing and has that day."""
    (place / "prometheus.yml").write_text("global: {}\n")
    command = [
        "prometheus",
        f"--config.file={place / 'prometheus.yml'}",
        f"--storage.tsdb.path={place / 'data'}",
        f"--web.listen-address=127.0.0.1:{PORT}",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("Prometheus did not start; the distribution's package prometheus has it.")
            time.sleep(0.2)
        yield process
    finally:
        process.terminate()
        process.wait()


def ready() -> bool:
    try:
        with urllib.request.urlopen(f"{URL}status/buildinfo", timeout=5):
            return True
    except OSError:
        return False


def asked(process: subprocess.Popen[bytes], question: str, at: int) -> tuple[float, float]:
    """Processor and wall seconds of one evaluation."""
    said = urllib.parse.urlencode({"query": question, "time": at})
    before, began = processor_seconds(process.pid), time.monotonic()
    with urllib.request.urlopen(f"{URL}query?{said}", timeout=120) as answer:
        json.load(answer)
    return processor_seconds(process.pid) - before, time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
