# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whole answers of the modules that work step by step, as a node that is sound gives them."""

from __future__ import annotations


def probe_trial(size: int, **more) -> dict:
    return {
        "batch_size": size,
        "outcome": "ok",
        "peak_memory_bytes": size << 20,
        "limit_bytes": 64 << 20,
        "step_seconds": 0.5,
        "message": "",
        **more,
    }


def probe_answer(size, *sizes, cached=False, remarks=(), **more) -> dict:
    return {
        "batch_size": size,
        "certified": size is not None,
        "verified": False,
        "within": None,
        "why": "measured",
        "next": None if size else {"batch_size": 16, "why": "twice the size"},
        "global_batch": None,
        "trials": [probe_trial(one) for one in sizes],
        "cached": cached,
        "remarks": list(remarks),
        "key": "5d0b6a3c7f1e2d48",
        "fields": {"device": "hpu"},
        "cache_file": "/var/lib/gaudi3_scale/probe/5d0b6a3c7f1e2d48.json",
        **more,
    }


def comparison_verdict(name: str, **more) -> dict:
    speed = {"estimate": 1.2, "low": 1.1, "high": 1.3, "level": 0.95}
    measured = dict.fromkeys(
        ("samples_per_second", "step_seconds", "peak_memory_bytes", "memory", "loss", "loss_change")
    )
    reported = {"name": name, "verdict": "helps", "why": "samples/s +20.0%", "rounds": 4, "notes": [], "plain": []}
    return {**reported, "speed": speed, "step_time": None, **measured, **more}


def comparison_answer(runs, following=None, names=("a",), **more) -> dict:
    made = [
        {"round": number, "name": "base", "outcome": "ok", "step_seconds": 0.5, "message": ""} for number in range(runs)
    ]
    return {
        "verdicts": [comparison_verdict(name) for name in names],
        "base": {"samples_per_second": 2.0, "step_seconds": 0.5, "peak_memory_bytes": None, "loss": None},
        "base_notes": [],
        "rounds": 4,
        "level": 0.99,
        "confidence": 0.95,
        "fields": {"device": "hpu"},
        "settings": {},
        "rates": {"base": [2.0], **{name: [2.4] for name in names}},
        "changes": [],
        "regressions": [],
        "runs": made,
        "next": following,
        "remarks": [],
        "cached": False,
        **more,
    }
