# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet that answers as nodes do, without any: who is bad, how, and what was asked."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import Collectives
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import JOB, LOOK, Ranks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Limits
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.funnel import Wishes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import Over
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.self_test import LOOK as LOOK_ALONE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.self_test import START
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import STAGES

GOOD_RATE = 10.0


def reached(stage: str, ranks: int) -> dict[str, Any]:
    """What a node tells whose ranks have all reached a stage."""
    stages = ("started", "met", "measuring")
    done = stages[: stages.index(stage) + 1] if stage else ()
    return {name: ranks if name in done else 0 for name in stages} | {"since": 1000.0 if "met" in done else None}


class Fleet:
    """``rates``: GB/s of a node, 10 where it is not named; a group is as fast as its slowest. ``cut``: pairs between
    which nothing passes. ``alone``: node -> what its self test says. ``wrong``: node -> rank whose card is wrong.
    ``slow_cards``: (node, rank) -> TFLOPS. ``hung``: nodes whose ranks never end with others. ``deaf``: nodes that do
    not answer. ``took``: seconds that good ranks need. ``late``: (job, node) -> how far its ranks are when their time
    is over. ``gone``: (job, node) that begin and answer no more. ``impatient``: (job, node) whose ranks gave up on the
    others.
    """

    def __init__(self, *names: str, **faults: Any) -> None:
        self.names = list(names)
        self.faults = faults
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.stopped: list[str] = []
        self.shown: list[str] = []
        self._jobs: dict[tuple[str, str], Mapping[str, Any]] = {}

    def over(self) -> Over:
        limits = Limits(300, "gaudi_qualify_group_timeout", "gaudi_qualify_start_timeout")
        ranks = Ranks("hpu", 2, 29540, 60, {"user": "gaudi"}, limits)
        return Over(Collectives([1024, 4096], ranks), {name: name for name in self.names}, self.ask, self.shown.append)

    def wishes(self, **changes: Any) -> Wishes:
        about: dict[str, Any] = {
            "stages": STAGES,
            "own": {name: {"level": "quick"} for name in self.names},
            "own_seconds": 60.0,
            "follow": True,
            "compute": (),
            "pair_rounds": 3,
            "tolerance": 0.15,
            "text": ("/etc/services",),
            "training_steps": 20,
            "training_seconds": 600,
        }
        return Wishes(**{**about, **changes})

    def groups(self, job: str) -> list[tuple[str, ...]]:
        """The groups over which a job was run, each once and in order."""
        return list(dict.fromkeys(hosts for name, hosts in self.asked if name == job))

    def ask(self, module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {node: copy.deepcopy(self._answer(module, node, dict(one))) for node, one in arguments.items()}

    def _answer(self, module: str, node: str, options: dict[str, Any]) -> dict[str, Any]:
        if node in self.faults.get("deaf", ()):
            return {"unreachable": True, "msg": "No route to host"}
        if module == START:
            held = self.faults.get("held", {}).get(node)
            return {"failed": True, "msg": held} if held else {"changed": True}
        if module == LOOK_ALONE:
            return self.self_test(node)
        if module == JOB:
            if options.get("state") == "stopped":
                self.stopped.append(node)
                return {"state": "stopped"}
            self.asked.append((options["name"], tuple(options["hosts"])))
            self._jobs[options["name"], node] = options
            return {"state": "running"}
        assert module == LOOK
        return self._ended(options["name"], node, self._jobs[options["name"], node])

    def self_test(self, node: str) -> dict[str, Any]:
        failing = self.faults.get("alone", {}).get(node)
        test = {
            "test": "functional",
            "stage": "cards",
            "state": "failed" if failing else "passed",
            "reasons": [failing] if failing else [],
            "remarks": [],
            "seconds": 60.0,
            "action": "isolate" if failing else "",
        }
        return {
            "state": "ended",
            "level": "quick",
            "release": "1.24.1",
            "generation": self.faults.get("generations", {}).get(node, "gaudi3"),
            "current": "",
            "done": 1,
            "total": 1,
            "tests": [test],
            "left_out": self.faults.get("left_out", {}),
        }

    def _ended(self, name: str, node: str, job: Mapping[str, Any]) -> dict[str, Any]:
        hosts = tuple(job["hosts"])
        about = {"description": {"processes_per_node": job["processes_per_node"]}}
        if (name, node) in self.faults.get("gone", ()):
            return {"unreachable": True, "msg": "no answer within 300 s"}
        if (name, node) in self.faults.get("impatient", ()):
            said = "The client socket has timed out after 600000ms while trying to connect"
            return {
                "state": "failed",
                "failure": {"exception": "DistNetworkError", "message": said, "echo": 1},
                **about,
            }
        late = self.faults.get("late", {})
        stages = [late[name, host] for host in hosts if (name, host) in late]
        # Nothing passes, so that the agents do not meet, and start no rank.
        stages += ["" for pair in self.faults.get("cut", ()) if {*pair} <= {*hosts}]
        stages += ["measuring" for _host in {*self.faults.get("hung", ())} & {*hosts} if len(hosts) > 1]
        if stages:
            return {"state": "running", "reached": reached(stages[0], job["processes_per_node"]), **about}
        return {
            **self._ended_well(name, node, hosts),
            "started": 1000.0,
            "ended": 1000.0 + self.faults.get("took", 4.0),
        }

    def _ended_well(self, name: str, node: str, hosts: tuple[str, ...]) -> dict[str, Any]:
        if name == "qualify-compute":
            return self._computed(node)
        if name == "qualify-training":
            step = {"loss": 2.5, "tokens_per_second": 5000.0}
            return {"state": "succeeded", "last_step": step, "first_loss": 5.5}
        rate = min(self.faults.get("rates", {}).get(host, GOOD_RATE) for host in hosts)
        for pair, slow in self.faults.get("slow_links", {}).items():
            if {*pair} <= {*hosts} and len(hosts) == 2:
                rate = min(rate, slow)
        lines = [{"bytes": size, "seconds": 0.1, "busbw_gb_per_s": rate} for size in (1024, 4096)]
        return {"state": "succeeded", "metrics": lines}

    def _computed(self, node: str) -> dict[str, Any]:
        wrong = self.faults.get("wrong", {}).get(node)
        slow = self.faults.get("slow_cards", {})
        ranks = [
            {
                "matmul_tflops": slow.get((node, rank), 400.0),
                "copy_gb_per_s": 2000.0,
                "wrong": 1.0 if rank == wrong else 0.0,
            }
            for rank in range(2)
        ]
        line = {"last_metrics": {"ranks": ranks}}
        if wrong is None:
            return {"state": "succeeded", **line}
        return {"state": "failed", "failure": {"message": f"the card of rank {wrong} computes wrongly"}, **line}
