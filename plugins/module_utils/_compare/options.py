# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The options of the module ``hpu_compare_settings`` as the values that the core works with; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping

from .._batch.probe.batch_probe import parse_size
from .._batch.trial import Workload
from .._errors import GaudiError
from .._flags.explanation import listed
from .._job.variables import variables_from
from .baseline import Baseline, read_baseline
from .comparison import BASE, Comparison, Setting, read_setting
from .flags import FlagTarget
from .runs import Node

Options = Mapping[str, Any]


def asked(options: Options) -> Comparison:
    """Base and settings alone, of options that need not have all defaults; raises GaudiError for one that is none."""
    return Comparison(
        workload=Workload(function=options.get("workload") or "", options=options.get("workload_options") or {}),
        base=read_setting(options["base"], BASE),
        settings=[
            *(Setting(name, {name: value}) for name, value in listed(options.get("flags") or []).items()),
            *map(read_setting, options.get("settings") or []),
        ],
    )


def comparison(options: Options) -> Comparison:
    """The comparison; raises GaudiError for a setting or a size that cannot be read."""
    limit = options["memory_limit"]
    return replace(
        asked(options),
        workload=Workload(
            function=options["workload"],
            options=options["workload_options"],
            steps=options["steps"],
            device=options["device"],
            memory_limit=None if limit is None else parse_size(limit),
            processes=options["processes"],
            warm_up=options["warm_up"],
        ),
        rounds=options["rounds"],
        precision=options["precision"],
        confidence=options["confidence"],
        loss_tolerance=options["loss_tolerance"],
    )


def node(options: Options) -> Node:
    """Where it is asked."""
    for option in ("timeout", "processes"):
        if options[option] < 1:
            raise GaudiError(f"{option} is {options[option]}; give at least 1.")
    if options["warm_up"] < 0:
        raise GaudiError(f"warm_up is {options['warm_up']}; give 0 or more.")
    return Node(
        venv=options["venv"],
        timeout=options["timeout"],
        environment_files=tuple(options["environment_files"]),
        environment=variables_from("environment", options["environment"]),
        state_directory=options["state_directory"],
        lock_timeout=options["lock_timeout"],
        user=options["user"],
    )


def target(options: Options) -> FlagTarget:
    """What the flags are for."""
    return FlagTarget(
        options["venv"], options["release"], options["release_overrides"], options["profile"], options["network"]
    )


def baseline(options: Options) -> Baseline | None:
    """What was measured before; None where nothing is given."""
    if options["baseline"] is None:
        return None
    return read_baseline(options["baseline"], options["baseline_file"], options["baseline_node"], options["tolerance"])
