# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The tests of ``hl_qual`` that a node runs, as data: which, for how long, on which boards, and what a failure means.

Options and durations are those of the vendor's pages on its qualification library and of the catalogues in
dell/omnia and intel/gaudi-reference-cloud. Tests of PCIe and SerDes come first, as there, then power and functional
ones. What those catalogues leave out on a board is an exception here, with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .results import ISOLATE, RESET

QUICK, FULL, BURN_IN = "quick", "full", "burn_in"
LEVELS = (QUICK, FULL, BURN_IN)
GAUDI2, GAUDI3 = "gaudi2", "gaudi3"


@dataclass(frozen=True)
class Call:
    """``words`` after ``hl_qual -gaudiN -c all -dis_mon``, and the seconds that they take."""

    words: tuple[str, ...]
    seconds: int


@dataclass(frozen=True)
class Test:
    """``calls`` by level; a level that is not there leaves the test out.

    ``needs_unlocked``: generations on which the driver has to be loaded with ``timeout_locked=0``. ``exceptions``:
    board -> why the test is left out there. ``action``: what a failure asks for.
    """

    name: str
    calls: Mapping[str, Call]
    needs_unlocked: tuple[str, ...] = ()
    exceptions: Mapping[str, str] = field(default_factory=dict)
    action: str = ISOLATE


def _alike(words: str, seconds: int, *levels: str) -> dict[str, Call]:
    return dict.fromkeys(levels, Call(tuple(words.split()), seconds))


def _timed(words: str, **seconds: int) -> dict[str, Call]:
    """The same test, longer with each level."""
    return {level: Call((*words.split(), "-t", str(time)), time) for level, time in seconds.items()}


_MAKERS = "it fails on healthy Gaudi 3 servers of some makers (intel/gaudi-reference-cloud leaves it out for that)"

MATRIX: tuple[Test, ...] = (
    Test("pcie", _timed("-rmod serial -p", quick=10, full=60, burn_in=600)),
    # The vendor wants bandwidth over PCIe measured card by card.
    Test("pcie-bandwidth", _alike("-rmod serial -mb -b -pciOnly -sramOnly", 120, FULL, BURN_IN)),
    Test("serdes-errors", _alike("-rmod parallel -ser", 60, *LEVELS)),
    Test("memory-bandwidth", _alike("-rmod parallel -mb -memOnly", 60, *LEVELS), action=RESET),
    Test("nic-pairs", _alike("-rmod parallel -i 50 -nic_base -test_type pairs", 120, FULL, BURN_IN)),
    Test("nic-all-reduce", _alike("-rmod parallel -i 50 -ep 100 -nic_base -test_type allreduce", 180, FULL, BURN_IN)),
    Test("functional", _timed("-rmod parallel -f2 -l extreme", quick=60, full=240, burn_in=14400)),
    Test("power", _timed("-rmod parallel -s", full=120, burn_in=7200), exceptions={"HL-325L": _MAKERS}),
    Test("edp", _timed("-rmod parallel -e -Tw 3 -Ts 1", full=40, burn_in=600), exceptions={"HL-325L": _MAKERS}),
    Test("hbm-dma", _alike("-rmod parallel -i 1 -hbm_dma_stress", 120, FULL, BURN_IN), (GAUDI2,), action=RESET),
    Test("hbm-tpc", _alike("-rmod parallel -i 1 -hbm_tpc_stress full_rw", 60, FULL, BURN_IN), (GAUDI2,), action=RESET),
    # It resets the cards at its end.
    Test("hbm-data", _alike("-rmod parallel -full_hbm_data_check_test", 600, BURN_IN), action=RESET),
)
