# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The page of a training job: what was measured, how it came about, and with what; pure."""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.launch import is_part
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import is_number, merge, rate_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.json_lines import mapping_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import (
    duration,
    metric_line,
    short_seconds,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.plan import NUMA
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import TORCHRUN
from ansible_collections.gaudi3.scale.plugins.module_utils._job.job_secrets import masked
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, short_bytes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.sweep_report import (
    merged_sweep,
    sweep_charts,
    sweep_notes,
    sweep_section,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_charts import training_charts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_row import rate_column, training_row
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.usage_report import COLUMNS as USAGE_COLUMNS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.usage_report import (
    log_section,
    usage_charts,
    usage_note,
    usage_of,
    usage_row,
)

# From this multiple of the median node's own work on, a node is called slow.
# In seconds since 1970: calendars end with the year 9999.
NO_TIME = 253402300800
SLOW = 1.2
# Kinds of lines that are no event: one comes at each checkpoint, or each few steps.
_ROUTINE = ("checkpoint", "upload", "validation")
# Parts of a description in the words of launch_training.yml, in the order of the page.
_CONFIGURATION = {
    "engine": "engine",
    "bind": "binding",
    "hosts": "hosts",
    "spares": "spares",
    "processes_per_node": "ranks per node",
    "modules": "modules",
    "command": "command",
    "global_batch_size": "global batch",
    "device": "device",
    "venv": "venv",
    "user": "user",
    "working_directory": "working directory",
    "checkpoint_directory": "checkpoint directory",
    "environment_files": "environment files",
}

Host = Mapping[str, Any]
Run = Mapping[str, Any]


def training_report(
    hosts: Sequence[Host], release: str | None = None, leader: str = "", left_out: Collection[str] = ()
) -> dict[str, Any]:
    """What ``gaudi3.scale.report`` takes but for title and path.

    ``hosts`` are the variables of the job's nodes in the order of their ranks, with ``__gaudi_training_info`` and
    ``__gaudi_training_history`` as the modules returned them. ``leader`` is the one of rank 0, where that is not the
    first; ``left_out`` are those without which it was begun.
    """
    # A host that was left out has none.
    reported = [
        host["__gaudi_training_history"] for host in hosts if "runs" in (host.get("__gaudi_training_history") or {})
    ]
    history, sweep = merge(reported), merged_sweep(reported)
    runs = history["runs"]
    leader_first = sorted(hosts, key=lambda host: host["inventory_hostname"] != leader)
    infos = [host.get("__gaudi_training_info") or {} for host in leader_first]
    first: Mapping[str, Any] = next((info for info in infos if info.get("description")), {})
    state = first.get("state", "absent")
    steps = [{"kind": "step", **point} for run in runs for point in run["points"]]
    usage = usage_of(hosts)
    rows = [
        {**training_row(host, {**first, "metrics": steps}, left_out), **usage_row(usage[host["inventory_hostname"]])}
        for host in hosts
    ]
    seen = () if steps or sweep else tuple(column for column in USAGE_COLUMNS if any(row[column] for row in rows))
    sections = [
        sweep_section(sweep, state),
        _nodes(runs),
        _runs(runs),
        _events(history["events"], runs),
        log_section(hosts),
        _configuration(first),
        _binding(hosts),
        _flags(first, runs),
        _versions(runs, release),
    ]
    return {
        "columns": ["node", "state", "ranks", *(seen or ("loss", rate_column(steps))), "checkpoints", "logs"],
        "rows": rows,
        "notes": sweep_notes(sweep, state) if sweep else _notes(first, runs, steps) or [_unmeasured(first, usage)],
        "charts": [*sweep_charts(sweep), *training_charts(runs), *usage_charts(usage, _starts(history["events"]))],
        "sections": [section for section in sections if section["rows"]],
        "data": {
            "state": state,
            "last_metrics": first.get("last_metrics") or {},
            "failure": first.get("failure"),
        },
    }


def _notes(info: Mapping[str, Any], runs: Sequence[Run], steps: Sequence[Run]) -> list[str]:
    if not steps:
        return []
    last, lost = next(run["last"] for run in reversed(runs) if run["last"]), sum(run["lost"] for run in runs)
    total = last.get("max_steps")
    counted = [(rate, unit) for rate, unit in map(rate_of, steps) if rate is not None]
    times = [step["seconds"]["step"] for step in steps if is_number((step.get("seconds") or {}).get("step"))]
    world = next((run["start"].get("world_size") for run in reversed(runs) if run["start"]), None)
    notes = [f"at step {last['step']:,}" + (f" of {total:,}" if is_number(total) and total else "")]
    if counted:
        rate, unit = statistics.median(rate for rate, _unit in counted), counted[0][1]
        card = f", {quantity(rate / world)} a card" if is_number(world) and world else ""
        notes.append(f"{quantity(rate)} {unit}/s{card}: the median over the job")
    elif times:
        notes.append(f"{short_seconds(statistics.median(times))} a step: the median over the job")
    if len(runs) > 1:
        again = f", {lost:,} step(s) were repeated" if lost else ""
        notes.append(f"started {len(runs)} times{again}; lines in the charts mark the restarts")
    unreal = [step["step"] for step in steps if "loss" in step and not is_number(step["loss"])]
    if unreal:
        notes.append(f"the loss is not a number from step {unreal[0]:,} on: the training has diverged")
    failed = [line for run in runs for line in run["remarks"] if line.get("kind") == "checkpoint_failed"]
    if failed:
        count = "a checkpoint was" if len(failed) == 1 else f"{len(failed)} checkpoints were"
        notes.append(f"{count} not written; last at step {failed[-1].get('step')}: {failed[-1].get('message')}")
    left = last.get("seconds_left")
    if info.get("state") == "running" and is_number(left):
        notes.append(f"{duration(left)} left, by the speed of the last lines")
    return notes


def _unmeasured(info: Mapping[str, Any], usage: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    engine = (info.get("description") or {}).get("engine", TORCHRUN)
    return usage_note(usage, engine == TORCHRUN)


def _starts(events: Sequence[Mapping[str, Any]]) -> list[float]:
    """When ranks were started again."""
    begun = [event for event in events if event.get("kind") == "run" and event.get("generation") not in (None, 1)]
    return [event["time"] for event in begun if is_number(event.get("time"))]


def _section(title: str, columns: Sequence[str], rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"title": title, "columns": list(columns), "rows": rows, **more}


def _nodes(runs: Sequence[Run]) -> dict[str, Any]:
    """The newest line about the nodes; a single node has none to be compared with."""
    reported = next((run["nodes"] for run in reversed(runs) if run["nodes"]), None) or {}
    nodes = {name: mapping_of(node) for name, node in mapping_of(reported.get("nodes")).items()}
    busy = [node["busy_seconds"] for node in nodes.values() if is_number(node.get("busy_seconds"))]
    # Of two nodes the faster one: their mean would hide half of what the other is behind.
    median = statistics.median_low(busy) if busy else 0.0
    rows = [_node(name, node, median) for name, node in nodes.items()]
    columns = ["node", "ranks", "own work", "of the median", "slowest rank", "data", "forward", "backward"]
    over = f"averages per step over {reported.get('steps', 0)} steps up to {reported.get('step')}"
    notes = [f"{over}; own work is data and forward, in which ranks do not wait for each other"]
    return _section("Speed of each node", [*columns, "optimizer", "communication", "memory"], rows, notes=notes)


def _node(name: str, node: Mapping[str, Any], median: float) -> dict[str, Any]:
    busy, parts = node.get("busy_seconds"), mapping_of(node.get("seconds"))
    ratio = busy / median if isinstance(busy, (int, float)) and median else None
    # "slow" is a word by which the page colors a cell.
    verdict = None if ratio is None else f"slow: {ratio:.2f}" if ratio >= SLOW else f"{ratio:.2f}"
    slowest = node.get("slowest_busy_seconds")
    return {
        "node": name,
        "ranks": node.get("ranks"),
        "own work": _seconds(busy),
        "of the median": verdict,
        "slowest rank": f"{node.get('slowest_rank')} ({_seconds(slowest)})" if is_number(slowest) else None,
        "memory": short_bytes(node["memory_bytes"]) if is_number(node.get("memory_bytes")) else None,
        **{part: _seconds(parts.get(part)) for part in ("data", "forward", "backward", "optimizer", "communication")},
    }


def _runs(runs: Sequence[Run]) -> dict[str, Any]:
    rows = [] if len(runs) < 2 else [_run(run) for run in runs]
    return _section("Runs", ["started", "from step", "to step", "ranks", "nodes", "repeated", "loss"], rows)


def _run(run: Run) -> dict[str, Any]:
    start, points = run["start"] or {}, run["points"]
    losses = [point["loss"] for point in points if is_number(point.get("loss"))]
    return {
        "started": clock((start or next(iter(points), {})).get("time")),
        "from step": start.get("step"),
        "to step": points[-1]["step"] + run["lost"] if points else None,
        "ranks": start.get("world_size"),
        "nodes": start.get("hosts") or start.get("nodes"),
        "repeated": f"{run['lost']:,} step(s)" if run["lost"] else None,
        "loss": f"{losses[0]:.3f} to {losses[-1]:.3f}" if losses else None,
    }


def _events(events: Sequence[Mapping[str, Any]], runs: Sequence[Run]) -> dict[str, Any]:
    """What the supervisors noted, and what the trainer said besides its steps."""
    said = [line for run in runs for line in run["remarks"] if line.get("kind") not in _ROUTINE]
    rows = [
        {**{key: event.get(key) for key in ("kind", "host", "text")}, "time": event.get("time")} for event in events
    ] + [{"kind": line.get("kind"), "host": None, "text": metric_line(line), "time": line.get("time")} for line in said]
    rows.sort(key=lambda row: row["time"] if is_number(row["time"]) else 0.0)
    return _section("Events", ["time", "kind", "host", "text"], [{**row, "time": clock(row["time"])} for row in rows])


def _configuration(info: Mapping[str, Any]) -> dict[str, Any]:
    described = info.get("description") or {}
    # Whoever has a whole node has said nothing of cards.
    modules = info.get("modules") or [] if is_part(info) else []
    known = {"engine": TORCHRUN, "bind": NUMA, **described, "modules": modules}
    rows = [
        {"option": label, "value": _words(known[key])}
        for key, label in _CONFIGURATION.items()
        if described and known.get(key) not in (None, "", [], 0)
    ]
    return _section("Configuration", ["option", "value"], rows, on_screen=False)


def _binding(hosts: Sequence[Host]) -> dict[str, Any]:
    """What the ranks of each node were bound to when the job was started there."""
    rows = [
        {
            "node": host["inventory_hostname"],
            "local rank": worker_group.get("local_rank"),
            "NUMA node": worker_group.get("numa_node"),
            "CPUs": worker_group.get("cpus"),
            "cores": worker_group.get("cores"),
        }
        for host in hosts
        for worker_group in (host.get("__gaudi_training_info") or {}).get("binding") or []
    ]
    return _section("Binding", ["node", "local rank", "NUMA node", "CPUs", "cores"], rows, on_screen=False)


def _flags(info: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """The job's own variables, and what rank 0 found set of those that the catalog knows."""
    given = mapping_of((info.get("description") or {}).get("environment"))
    found = mapping_of(next((run["start"].get("flags") for run in reversed(runs) if run["start"]), None))
    rows = [
        {"variable": name, "value": value, "from": "the job" if name in given else "the node"}
        for name, value in sorted(masked({**given, **found}).items())
    ]
    return _section("Flags and environment", ["variable", "value", "from"], rows, on_screen=False)


def _versions(runs: Sequence[Run], release: str | None) -> dict[str, Any]:
    found = mapping_of(next((run["start"].get("versions") for run in reversed(runs) if run["start"]), None))
    named = {"release (wanted)": release, **found}
    rows = [{"what": what, "version": version} for what, version in named.items() if version]
    return _section("Versions", ["what", "version"], rows, on_screen=False)


def clock(seconds: object) -> str | None:
    """A Unix time as the controller's clock shows it."""
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < NO_TIME:
        return None
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _seconds(value: object) -> str | None:
    return short_seconds(value) if isinstance(value, (int, float)) and is_number(value) else None


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
