# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisors and torchrun as real processes, on nodes that each keep a program's checkpoints on their own disk."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.unit.supervised import Cluster

TORCHRUN = Path(sys.executable).parent / "torchrun"


class OwnDisks(Cluster):
    """``program``: the words of the program, in which {directory} stands for the node's own directory."""

    def __init__(self, directory, hosts, spares=(), *, program, **rules):
        super().__init__(directory, hosts, spares, processes=1, lost_after=6.0, join_timeout=60, **rules)
        self.program = program

    def kept(self, name):
        return self.place(name) / "checkpoints"

    def own(self, place):
        (place / "checkpoints").mkdir(exist_ok=True)
        return {"checkpoint_directory": str(place / "checkpoints")}

    def stand_in(self, place):
        return [
            str(TORCHRUN),
            *("--nnodes", "@NNODES@", "--node-rank", "@NODE_RANK@", "--nproc-per-node", "1"),
            *("--rdzv-backend", "static", "--rdzv-id", "test", "--max-restarts", "0"),
            *("--master-addr", "@MASTER_ADDRESS@", "--master-port", str(self.port)),
            *("--log-dir", str(place / "ranks"), "--redirects", "3"),
            *(str(word).format(directory=place / "checkpoints", control=self.control) for word in self.program),
        ]

    def printed(self, name):
        """What the rank of this node has printed, in all its runs."""
        logs = sorted((self.place(name) / "ranks").glob("*/attempt_0/0/*.log"), key=lambda log: log.stat().st_ctime)
        return "".join(log.read_text() for log in logs)

    def texts(self, kind, name="a"):
        return [event["text"] for event in self.events(name) if event["kind"] == kind]
