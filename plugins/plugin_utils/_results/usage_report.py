# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a job uses, seen from outside its program: a line on the screen, columns, notes and charts of its page; pure."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import duration
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.usage import together
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import short_bytes
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import COLORS

# In place of those of the loss and the speed.
COLUMNS = ("cores", "memory", "cards", "power")
GIB = 1 << 30
# A longer course has its hours at the axis.
MOST_MINUTES = 180
# Curves: title, label of the axis, what of a sample, and in what unit.
_CURVES = (
    ("Processor of each node", "busy cores", "cores", 1.0),
    ("Memory of each node's ranks", "GiB", "memory_bytes", GIB),
    ("Cards of each node: busy", "per cent, the mean of its cards", "utilization", 1.0),
    ("Cards of each node: memory", "GiB, the fullest card", "card_memory_bytes", GIB),
    ("Cards of each node: power", "watts on the 54 V rail, all cards", "watts", 1.0),
)

Sample = Mapping[str, Any]
# By node, its samples in the order of time.
Usage = Mapping[str, Sequence[Sample]]


def usage_of(hosts: Sequence[Mapping[str, Any]]) -> Usage:
    """Of what ``training_job_history`` returned on each host; ``hosts`` are their variables."""
    return {
        host["inventory_hostname"]: (host.get("__gaudi_training_history") or {}).get("usage") or [] for host in hosts
    }


def usage_words(sample: Sample) -> str:
    """``3.9 of 160 cores, 41.2 GiB, 8 cards 87 % busy (the least busy one 80 %), the fullest with 61.0 GiB, 4,120 W``.

    Empty where nothing is known.
    """
    parts = (_cores(sample), _memory(sample), _cards(sample), _power(sample))
    return ", ".join(part for part in parts if part)


def outside_line(host: str, info: Mapping[str, Any]) -> str | None:
    """A line for a job that has told no step so far; ``info`` is what ``training_job_info`` returned on ``host``."""
    used = usage_words(info.get("usage") or {})
    said = (info.get("rank_log") or {}).get("lines") or ()
    words = f'"{one_line(str(said[-1])).strip()}"' if said else ""
    reported = [part for part in (used, words and f"the first rank's last line: {words}") if part]
    return f"no step reported yet; process activity on {host}: {'; '.join(reported)}" if reported else None


def usage_note(usage: Usage, is_supervised: bool) -> str:
    """Instead of what steps would tell."""
    if not is_supervised:
        return "no step was measured; the resource usage of a job is measured only with gaudi_training_engine torchrun"
    known = [samples for samples in usage.values() if samples]
    if not known:
        return "no step was measured"
    over = max(samples[-1]["time"] for samples in known) - min(samples[0]["time"] for samples in known)
    a_node = "a node uses " if len(known) > 1 else ""
    words = usage_words(together([together(samples) for samples in known]))
    return (
        f"the program reports no steps; process activity over {duration(over)} (averages, and peak memory): "
        f"{a_node}{words}"
    )


def usage_row(samples: Sequence[Sample]) -> dict[str, str | None]:
    """The columns of a node."""
    sample = together(samples) if samples else {}
    return dict(zip(COLUMNS, (part(sample) or None for part in (_cores, _memory, _busy, _power))))


def usage_charts(usage: Usage, restarts: Sequence[float]) -> list[dict[str, Any]]:
    """A line a node over the time since the first sample; ``restarts``: when ranks were started again, in Unix time."""
    times = [sample["time"] for samples in usage.values() for sample in samples]
    if not times:
        return []
    begun = min(times)
    unit, label = (3600.0, "hours") if max(times) - begun > 60 * MOST_MINUTES else (60.0, "minutes")
    marks = [
        {"axis": "x", "value": (when - begun) / unit, "label": "", "tone": "plain"}
        for when in restarts
        if begun <= when <= max(times)
    ]
    charts = []
    for title, y_label, key, size in _CURVES:
        series = [
            {"label": node, "points": [[(one["time"] - begun) / unit, one[key] / size] for one in samples]}
            for node, samples in ((node, _with(key, samples)) for node, samples in usage.items())
            if len(samples) > 1
        ]
        drawn = _outermost(series)
        some = f" ({len(drawn)} of {len(series)}: the lowest and the highest)" if len(drawn) < len(series) else ""
        if drawn:
            charts.append(
                {
                    "title": title + some,
                    "x_label": f"{label} since the first ranks were seen",
                    "y_label": y_label,
                    "series": drawn,
                    "stacked": False,
                    "y_from_zero": True,
                    "marks": marks,
                }
            )
    return charts


def log_section(hosts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last lines of each node's first rank, of what ``training_job_info`` returned on each host."""
    logs = {
        host["inventory_hostname"]: (host.get("__gaudi_training_info") or {}).get("rank_log") or {} for host in hosts
    }
    rows = [
        {"node": node, "line": one_line(str(line).strip())}
        for node, log in logs.items()
        for line in log.get("lines") or ()
    ]
    notes = [f"{node}: {log['path']}" for node, log in logs.items() if log.get("path")]
    title = "Last lines of each node's first rank"
    return {"title": title, "columns": ["node", "line"], "rows": rows, "notes": notes, "on_screen": False}


def _with(key: str, samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.get(key) is not None]


def _outermost(series: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many as there are colors, those that are on average the lowest and the highest, in their own order."""
    if len(series) <= COLORS:
        return series
    order = sorted(series, key=lambda one: sum(y for _x, y in one["points"]) / len(one["points"]))
    kept = [*order[: COLORS // 2], *order[-(COLORS - COLORS // 2) :]]
    return [one for one in series if one in kept]


def _cores(sample: Sample) -> str:
    if sample.get("cores") is None:
        return ""
    return f"{sample['cores']:.1f}{' of {:.0f}'.format(sample['of_cores']) if sample.get('of_cores') else ''} cores"


def _memory(sample: Sample) -> str:
    return "" if sample.get("memory_bytes") is None else short_bytes(sample["memory_bytes"])


def _busy(sample: Sample) -> str:
    if sample.get("utilization") is None:
        return ""
    return f"{sample.get('cards') or 0:.0f} cards {sample['utilization']:.0f} % busy"


def _cards(sample: Sample) -> str:
    lowest, full = sample.get("lowest_utilization"), sample.get("card_memory_bytes")
    least = "" if lowest is None else f" (the least busy one {lowest:.0f} %)"
    held = sample.get("held_memory_bytes")
    of_job = "" if held is None else f" ({short_bytes(held)} held by the job)"
    most = "" if full is None else f", the fullest with {short_bytes(full)}{of_job}"
    return f"{_busy(sample)}{least}{most}" if _busy(sample) else ""


def _power(sample: Sample) -> str:
    return "" if sample.get("watts") is None else f"{sample['watts']:,.0f} W"
