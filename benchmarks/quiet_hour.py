# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a training that is well raises an alert: with checkpoints, and one restart that was planned.

    .venv/bin/python -m benchmarks.quiet_hour --minutes 60

Makes a sandbox of its own with a real Prometheus and the defaults of monitoring.yml, trains the built-in model over
both nodes, stops it at the half as an operator would, goes on from its checkpoint, and asks for each alert that fired.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.watched import OTHER, SERVER, play, watched

JOB = "quiet"
# Of a step on two processors that are all nodes at once, so that the training has not ended before.
STEPS = 10_000_000


def main() -> int:
    """Print what fired; returns 1 where anything did, or nothing was trained."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=60, help="of training (default 60)")
    minutes = options.parse_args().minutes
    with watched(("driver", "venv", "flags")) as nodes, tempfile.TemporaryDirectory() as place:
        half = minutes * 30
        step = 0.0
        for part in ("first half", "second half"):
            started = launch(Path(place))
            time.sleep(max(0.0, half - (time.monotonic() - started)))
            reached = asked(nodes, f'max(gaudi_job_step{{training="{JOB}"}})')
            print(f"{part}: step {reached:.0f}, checkpoints until {checkpoint_age(nodes):.0f} s ago", flush=True)
            if reached <= step:
                print("It did not go on.")
                return 1
            step = reached
            stop(Path(place))
        fired = alerts(nodes, minutes)
    print(f"alerts that fired in {minutes:.0f} minutes: {', '.join(fired) or 'none'}")
    return int(bool(fired))


def launch(place: Path) -> float:
    """From its last checkpoint, if there is one; returns when."""
    play(
        place,
        "launch_training",
        gaudi_training_name=JOB,
        gaudi_training_follow=False,
        gaudi_training_processes_per_node=1,
        gaudi_training_arguments=["--checkpoint-every", "200"],
        gaudi_training_max_steps=STEPS,
        gaudi_training_batch_size=4,
    )
    return time.monotonic()


def stop(place: Path) -> None:
    play(place, "stop_training", gaudi_training_name=JOB)


def asked(nodes: Any, query: str) -> float:
    from tests.alert_receiver import ask

    found = ask(nodes[SERVER], query)
    return float(found[0]["value"][1]) if found else 0.0


def checkpoint_age(nodes: Any) -> float:
    return asked(nodes, f'time() - max(gaudi_job_checkpoint_timestamp_seconds{{training="{JOB}"}})')


def alerts(nodes: Any, minutes: float) -> list[str]:
    """Each alert that fired at any time, with its node."""
    from tests.alert_receiver import ask

    fired = ask(
        nodes[SERVER],
        f'max by (alertname, instance) (max_over_time(ALERTS{{alertstate="firing"}}[{minutes + 30:.0f}m]))',
    )
    return sorted(f"{one['metric']['alertname']} ({one['metric'].get('instance', OTHER)})" for one in fired)


if __name__ == "__main__":
    sys.exit(main())
