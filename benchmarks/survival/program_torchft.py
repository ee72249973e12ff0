# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The training of ``program.py`` as torchft wants it: ranks that are left go on, and one that returns gets the state.

``program_torchft.py DIRECTORY SECONDS_A_STEP TIMEOUT``, each rank a replica group of its own.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torchft  # type: ignore[import-not-found]
from torchft.checkpointing.http_transport import HTTPTransport  # type: ignore[import-not-found]


class OfNode(HTTPTransport):  # type: ignore[misc]
    """Its state is at the address of its node: all of them are namespaces of a host with one name."""

    def __init__(self, address: str, timeout: timedelta) -> None:
        self._node = address
        super().__init__(timeout, num_chunks=0)

    def address(self) -> str:
        """As the others ask for it."""
        return str(super().address()).replace(socket.gethostname(), self._node, 1)


def main() -> None:
    directory, pause, timeout = Path(sys.argv[1]), float(sys.argv[2]), timedelta(seconds=float(sys.argv[3]))
    kept = {"step": 0}
    manager = torchft.Manager(
        pg=torchft.ProcessGroupGloo(timeout=timeout),
        load_state_dict=kept.update,
        state_dict=lambda: dict(kept),
        min_replica_size=2,
        use_async_quorum=False,
        timeout=timeout,
        quorum_timeout=timedelta(seconds=60),
        replica_id=directory.name,
        hostname=directory.name,
        checkpoint_transport=OfNode(directory.name, timeout),
    )
    with (directory / "steps.jsonl").open("a", buffering=1) as steps:
        while True:
            manager.start_quorum()
            time.sleep(pause)
            shared = torch.ones(1024)
            manager.allreduce(shared).wait()
            if manager.should_commit():
                kept["step"] += 1
                reported = {"time": time.time(), "step": kept["step"], "pid": os.getpid()}
                steps.write(json.dumps({**reported, "ranks": manager.num_participants()}) + "\n")


if __name__ == "__main__":
    main()
