# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors as real processes, each a node with an address 127.0.0.x of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from gaudi3_scale.core._job.rank_logs import attempt_directory
from gaudi3_scale.core._job.supervision import launch_of
from gaudi3_scale.core._node.process_tree import descendants, environment_of, parents
from gaudi3_scale.supervisor.processes import ranks_of
from gaudi3_scale.supervisor.waiting_rank import NAME as WAITING
from tests.whole_lines import whole_lines

HERE = Path(__file__).parent
SUPERVISOR = (sys.executable, "-I", "-m", "gaudi3_scale.supervisor")
STAND_IN = (sys.executable, str(HERE / "torchrun_stand_in.py"))


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def comm(pid):
    """The process's own name; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def waiting_below(pid):
    """The ranks that wait below this process."""
    return {child for child in descendants(pid) if comm(child) == WAITING}


class Cluster:
    """``hosts`` and ``spares`` by name; the rules are those of supervision.json, made short for tests."""

    def __init__(self, directory, hosts, spares=(), *, processes=2, argv=None, **rules):
        self.directory, self.names = Path(directory), (*hosts, *spares)
        self.control = self.directory / "control"
        self.control.mkdir()
        self.port = free_port()
        # Marks all that these supervisors start, so that what is left of it can be found.
        self.mark = secrets.token_hex(8)
        self.shared = {
            "job": "test",
            "hosts": list(hosts),
            "spares": list(spares),
            "addresses": {name: f"127.0.0.{10 + number}" for number, name in enumerate(self.names)},
            "control_port": free_port(socket.SOCK_DGRAM),
            "key": secrets.token_hex(32),
            "processes_per_node": processes,
            "rendezvous_port": self.port,
            "min_nodes": len(hosts),
            "max_restarts": 3,
            # As shipped: on a busy machine a supervisor may wait longer than a shorter one for its turn.
            "lost_after": 10.0,
            "join_timeout": 30,
            "stop_grace": 5,
            "failure_grace": 1.5,
            "device": "cpu",
            "venv": str(Path(sys.executable).parents[1]),
            "argv": argv,
            **rules,
        }
        self.processes = {}

    def place(self, name):
        return self.directory / name

    def start(self, *names):
        for name in names or self.names:
            place = self.place(name)
            (place / "progress").mkdir(parents=True, exist_ok=True)
            (place / "ranks").mkdir(exist_ok=True)
            given = {
                **self.shared,
                "host": name,
                "progress_directory": str(place / "progress"),
                "ranks_directory": str(place / "ranks"),
                "log_directory": str(place),
                "agent_log": str(place / "agent.log"),
                "status": str(place / "status.json"),
                "votes": str(place / "votes.json"),
                "events": str(place / "events.jsonl"),
                "stop_requested": str(place / "stop_requested"),
            }
            given["argv"] = self.shared["argv"] or self.stand_in(place)
            given.update(self.own(place))
            (place / "supervision.json").write_text(json.dumps(given))
            if not (place / "votes.json").exists():
                (place / "votes.json").write_text(json.dumps({"launch": launch_of(bytes.fromhex(self.shared["key"]))}))
            with (place / "agent.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [*SUPERVISOR, str(place / "supervision.json")],
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "GAUDI3_SCALE_PROGRESS_DIR": str(place / "progress"), "MARK": self.mark},
                )

    def own(self, place):
        """What only this node's supervision.json has."""
        return {}

    def stand_in(self, place):
        options = {
            "--nnodes": "@NNODES@",
            "--node-rank": "@NODE_RANK@",
            "--nproc-per-node": str(self.shared["processes_per_node"]),
            "--master-addr": "@MASTER_ADDRESS@",
            "--master-port": str(self.port),
            "--log-dir": str(place / "ranks"),
            "--control": str(self.control),
        }
        return [*STAND_IN, *(word for pair in options.items() for word in pair)]

    def status(self, name):
        try:
            return json.loads((self.place(name) / "status.json").read_text())
        except (OSError, ValueError):
            return {}

    def events(self, name):
        path = self.place(name) / "events.jsonl"
        return whole_lines(path.read_text()) if path.exists() else []

    def kinds(self, name):
        return [event["kind"] for event in self.events(name)]

    def wait(self, condition, seconds=120.0):
        """Seconds until it holds; AssertionError with what is known where it does not."""
        begun = time.monotonic()
        while time.monotonic() < begun + seconds:
            if condition():
                return time.monotonic() - begun
            time.sleep(0.02)
        reported = {name: self.status(name) for name in self.names}
        logs = {name: (self.place(name) / "agent.log").read_text()[-1500:] for name in self.processes}
        raise AssertionError(
            f"not within {seconds} s: {json.dumps(reported, indent=1)}\n" + "\n".join(map(str, logs.items()))
        )

    def wait_for_step(self, generation=1, *names):
        """Seconds until all ranks of these nodes have made a step of this generation."""
        return self.wait(lambda: all(self.has_stepped(name, generation) for name in names or self.shared["hosts"]))

    def has_stepped(self, name, generation):
        status = self.status(name)
        files = [self.place(name) / f"progress/{local}.json" for local in range(self.shared["processes_per_node"])]
        running = (status.get("generation"), status.get("state")) == (generation, "running")
        return running and all(file.exists() for file in files)

    def ranks(self, name=None):
        """Process by rank, of one node or of all; those that wait are none yet."""
        found = {}
        for own in [name] if name else self.processes:
            members = self.status(own).get("members") or []
            first = members.index(own) * self.shared["processes_per_node"] if own in members else 0
            for local, pid in ranks_of(self.processes[own].pid, waiting_below(self.processes[own].pid)).items():
                # What has waited has no rank in the environment that it was started with.
                found[int(environment_of(pid).get("RANK", first + local))] = pid
        return found

    def parent(self, pid):
        return parents()[pid]

    def stderr(self, name, local):
        """What this rank's log of the last run has."""
        return Path(f"{attempt_directory(str(self.place(name) / 'ranks'))}/{local}/stderr.log").read_text()

    def left(self):
        """Processes that the supervisors started and that are there still, without the supervisors themselves."""
        own = {process.pid for process in self.processes.values()}
        every = (int(place.name) for place in Path("/proc").glob("[0-9]*"))
        return [pid for pid in every if pid not in own and self.marked(pid)]

    def marked(self, pid):
        return environment_of(pid).get("MARK") == self.mark

    def belongs(self, pid, name):
        """Whether this node's supervisor has started it, or one that was started by it."""
        return environment_of(pid).get("GAUDI3_SCALE_PROGRESS_DIR") == str(self.place(name) / "progress")

    def wish(self, rank, text):
        (self.control / str(rank)).write_text(text)

    def finish(self):
        (self.control / "finish").write_text("x")

    def stop(self, *names, requested=True):
        for name in names or self.names:
            if requested:
                (self.place(name) / "stop_requested").write_text("x")
            self.processes[name].send_signal(signal.SIGTERM)

    def codes(self, *names, seconds=120.0):
        return {name: self.processes[name].wait(seconds) for name in names or self.processes}

    def port_is_free(self):
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("", self.port))
        return True

    def kill_all(self):
        for pid in [*self.left(), *(process.pid for process in self.processes.values())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes.values():
            process.wait()
