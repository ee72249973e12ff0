# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor costs its node while nothing happens, by the number of nodes.

    .venv/bin/python -m benchmarks.supervisor_cost --nodes 8 64

One supervisor is the real program, with ranks of which none does anything. The others are real decisions and real
datagrams in one process, on addresses 127.0.0.x, without ranks. Its processor time is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection
from pathlib import Path

from benchmarks.processor_time import processor_seconds
from gaudi3_scale.core._job.supervision import launch_of
from gaudi3_scale.supervisor.datagram import Decoder, encode
from gaudi3_scale.supervisor.decision import advance, begin
from gaudi3_scale.supervisor.loop import clock
from gaudi3_scale.supervisor.state import Facts, Rules
from gaudi3_scale.supervisor.votes import first_votes
from gaudi3_scale.supervisor.words import tell

PORT = 29701
LOOK_S = 0.25
# Until all have agreed on the first generation, on a machine that plays all of them; then until all is quiet.
START_S = 120.0
SETTLE_S = 5.0


class Other:
    """A node whose ranks are said to run."""

    def __init__(self, rules: Rules, key: bytes) -> None:
        self.rules, self.key = rules, key
        self.decoder = Decoder(key, len(rules.names))
        self.state = begin(rules, 1, first_votes(rules), clock())
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address(rules.index), PORT))
        self.socket.setblocking(False)
        self.generation: int | None = None
        self.due = 0.0

    def turn(self) -> None:
        """One look, as the program has ten of a second."""
        messages = [message for message in map(self.decoder.take, self.came()) if message is not None]
        facts = Facts(generation=self.generation, alive=self.generation is not None, fit=True)
        number = self.state.committed.number
        self.state, order, _events = advance(self.state, self.rules, facts, messages, clock())
        if order.run is not None:
            self.generation = order.run.number
        if clock() >= self.due or number != self.state.committed.number or order.run is not None:
            self.due = clock() + self.rules.tell_every
            self.say(range(len(self.rules.names)))
        self.say(order.answer)

    def came(self) -> list[bytes]:
        found = []
        while True:
            try:
                found.append(self.socket.recv(2000))
            except OSError:
                return found

    def say(self, to: Collection[int]) -> None:
        if not to:
            return
        self.state, message = tell(self.state, self.rules, clock())
        for datagram in encode(message, self.key):
            for index in to:
                if index != self.rules.index:
                    self.socket.sendto(datagram, (address(index), PORT))


def address(index: int) -> str:
    return f"127.0.1.{index + 1}"


def measure(nodes: int, seconds: float) -> dict[str, float]:
    """The share of one core, in percent."""
    names, key = tuple(f"n{index}" for index in range(nodes)), secrets.token_bytes(32)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for name in ("progress", "ranks"):
            (place / name).mkdir()
        (place / "votes.json").write_text(json.dumps({"launch": launch_of(key)}))
        files = ("status", "events", "stop_requested", "votes", "agent_log")
        reported = {
            **{name: str(place / f"{name}.json") for name in files},
            "job": "cost",
            "host": "n0",
            "hosts": names,
            "addresses": {n: address(i) for i, n in enumerate(names)},
            "control_port": PORT,
            "key": key.hex(),
            "processes_per_node": 8,
            "rendezvous_port": PORT + 1,
            "progress_directory": str(place / "progress"),
            "ranks_directory": str(place / "ranks"),
            "log_directory": directory,
            "device": "cpu",
            "venv": sys.prefix,
            "argv": ["sleep", "3600"],
        }
        (place / "supervision.json").write_text(json.dumps(reported))
        argv = [sys.executable, "-I", "-m", "gaudi3_scale.supervisor", str(place / "supervision.json")]
        with (place / "log").open("w") as log, subprocess.Popen(argv, stdout=log, stderr=log) as supervisor:
            ended = threading.Event()
            others = [Other(Rules(names, nodes, index, 8, nodes), key) for index in range(1, nodes)]
            crowd = threading.Thread(target=live, args=(others, ended))
            crowd.start()
            try:
                wait_until_all_run(place, nodes)
                before, begun = processor_seconds(supervisor.pid), time.monotonic()
                time.sleep(seconds)
                used, took = processor_seconds(supervisor.pid) - before, time.monotonic() - begun
                lost = (place / "events.json").read_text().count("node_lost")
            finally:
                ended.set()
                crowd.join()
                supervisor.terminate()
        return {"nodes": nodes, "percent of a core": 100 * used / took, "nodes taken for lost": lost}


def wait_until_all_run(place: Path, nodes: int) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        time.sleep(1)
        status = json.loads((place / "status.json").read_text()) if (place / "status.json").exists() else {}
        if (status.get("state"), len(status.get("alive", ()))) == ("running", nodes):
            time.sleep(SETTLE_S)
            return
    sys.exit(f"{nodes} nodes do not run: {status}\n{(place / 'log').read_text()}")


def live(others: list[Other], ended: threading.Event) -> None:
    while not ended.is_set():
        begun = time.monotonic()
        for other in others:
            other.turn()
        ended.wait(max(0.0, LOOK_S - (time.monotonic() - begun)))
    for other in others:
        other.socket.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[2, 8, 64], metavar="N")
    options.add_argument("--seconds", type=float, default=60.0, help="how long each is measured")
    arguments = options.parse_args()
    print(f"{'nodes':>5}  {'% of a core':>11}  taken for lost")
    for nodes in arguments.nodes:
        figure = measure(nodes, arguments.seconds)
        print(f"{nodes:>5}  {figure['percent of a core']:>11.2f}  {figure['nodes taken for lost']:>14}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
