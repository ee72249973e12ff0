# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The trainer's options about a profile, and what of them is refused."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Mapping

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._profile.rules import FEWEST_STEPS
from gaudi3_scale.options import not_negative, positive
from gaudi3_scale.profiler.switched_off import refuse_switched_off

# Steps of a run in which graphs are compiled and caches filled; those that pass before a window that nobody has placed.
WARM_UP, USUAL_WAIT = 3, 10
WARMUP_OF_TRACE, ACTIVE_OF_TRACE = 1, 3
USUAL_STEPS = 24
FEWEST = FEWEST_STEPS + WARMUP_OF_TRACE + ACTIVE_OF_TRACE
# Traces of some hundred megabytes each, which somebody has to look at.
MOST_TRACES = 16
ROOM_OF_TRACE, ROOM_OF_RECORDS = 256 << 20, 16 << 20
ALL = "all"


def add_profile(profile: argparse._ArgumentGroup) -> None:
    profile.add_argument("--profile", action="store_true", help="find out why a step takes as long as it does")
    profile.add_argument(
        "--profile-first-step", type=positive, metavar="N", help="first step of it (default: the 11th of this run)"
    )
    profile.add_argument(
        "--profile-steps",
        type=positive,
        metavar="N",
        help=f"how many; the last {WARMUP_OF_TRACE + ACTIVE_OF_TRACE} are traced (default: {USUAL_STEPS})",
    )
    profile.add_argument(
        "--profile-ranks",
        type=_ranks,
        metavar="N,N|all",
        help="whose trace is written; all ranks are clocked (default: 0)",
    )
    profile.add_argument(
        "--profile-links", action="store_true", help="at its end time a few megabytes from each rank to the next"
    )


def check_profile(options: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Raises GaudiError for a window that cannot be, whatever the ranks and the checkpoint are."""
    if not options.profile:
        _refuse_without_profile(options)
        return
    refuse_switched_off(environment.get("HABANA_PROFILE"))
    steps = steps_of(options)
    if steps < FEWEST:
        raise GaudiError(
            f"--profile-steps {steps}: {FEWEST_STEPS} steps are clocked and {FEWEST - FEWEST_STEPS} traced at least; "
            f"give {FEWEST} or more."
        )
    first = options.profile_first_step or USUAL_WAIT + 1
    if first <= WARM_UP:
        raise GaudiError(
            f"--profile-first-step {first} is inside the warm-up: graphs are compiled in the first {WARM_UP} steps; "
            f"give {WARM_UP + 1} or more."
        )
    end = min(options.max_steps, options.stop_after_steps or options.max_steps)
    if first + steps - 1 > end:
        raise GaudiError(
            f"--profile: steps {first} to {first + steps - 1} end beyond step {end}, the last one; "
            "give a smaller --profile-first-step or --profile-steps, or more --max-steps."
        )


def _refuse_without_profile(options: argparse.Namespace) -> None:
    for name in ("profile_first_step", "profile_steps", "profile_ranks", "profile_links"):
        if getattr(options, name) not in (None, False):
            raise GaudiError(f"--{name.replace('_', '-')} is for --profile; give that too, or leave it out.")


def steps_of(options: argparse.Namespace) -> int:
    return int(options.profile_steps or USUAL_STEPS)


def traced_ranks(options: argparse.Namespace, world_size: int) -> tuple[int, ...]:
    """Raises GaudiError for ranks that do not exist, and for more traces than anybody reads."""
    asked: tuple[int, ...] = (0,) if options.profile_ranks is None else options.profile_ranks
    ranks = tuple(range(world_size)) if asked == () else asked
    missing = [rank for rank in ranks if rank >= world_size]
    if missing:
        raise GaudiError(
            f"--profile-ranks {','.join(map(str, ranks))}: there is no rank {missing[0]}, the ranks of this training "
            f"are 0 to {world_size - 1}."
        )
    if len(ranks) > MOST_TRACES:
        raise GaudiError(
            f"--profile-ranks: {len(ranks)} ranks would each write a trace; name at most {MOST_TRACES}, the others are "
            "clocked in any case."
        )
    return ranks


def require_room_for_traces(directory: Path, traces: int) -> None:
    """Raises GaudiError where the disk of ``directory`` has no room for them."""
    there = next(place for place in (directory, *directory.resolve().parents) if place.exists())
    needed, free = traces * ROOM_OF_TRACE + ROOM_OF_RECORDS, shutil.disk_usage(there).free
    if free < needed:
        raise GaudiError(
            f"{directory} has {free >> 20:,} MiB left and {traces} trace(s) may take {needed >> 20:,} MiB; make room, "
            "or name fewer --profile-ranks."
        )


def _ranks(text: str) -> tuple[int, ...]:
    """Empty for all of them."""
    if text == ALL:
        return ()
    return tuple(sorted({not_negative(number) for number in text.split(",")}))
