# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A sandbox of the benchmarks' own whose second node watches both, as monitoring.yml leaves it with its defaults."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.playbook_run import SANDBOX, sandbox

# Read when tests.sandbox_nodes is imported.
os.environ["GAUDI_SANDBOX"] = SANDBOX

OTHER, SERVER = "node1", "node2"


@contextmanager
def watched(layers: Sequence[str] = ("driver",), **options: Any) -> Iterator[Mapping[str, Any]]:
    """The nodes by name; ``layers`` are played before, ``options`` are those of monitoring.yml."""
    from tests.alert_receiver import URL, receiver
    from tests.sandbox_nodes import hosts

    try:
        sandbox("up", "--nodes", "2")
        with tempfile.TemporaryDirectory() as place:
            inventory = Path(place, "monitoring.json")
            inventory.write_text(json.dumps({"monitoring": {"hosts": {SERVER: {}}}}))
            for playbook in (*layers, "monitoring"):
                wanted = {"gaudi_monitoring_webhooks": [{"url": URL}], **options} if playbook == "monitoring" else {}
                play(Path(place), playbook, inventory=[str(inventory)], **wanted)
            nodes = hosts()
            with receiver(nodes[SERVER]):
                yield nodes
    finally:
        sandbox("down")


def play(place: Path, playbook: str, **options: Any) -> None:
    """Run a playbook on both nodes; ends the benchmark with what it printed last, where it failed."""
    from tests.sandbox_nodes import run

    done = run(place, playbook, **options)
    if done.status != "successful":
        raise SystemExit(done.stdout.read()[-4000:])
