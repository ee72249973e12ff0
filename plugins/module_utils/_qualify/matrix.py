# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The tests of ``hl_qual`` that a node runs, as data: which, for how long, on which boards, and what a failure means.

Options and durations are those of the vendor's pages on its qualification library and of the catalogs in
dell/omnia and intel/gaudi-reference-cloud. Tests of PCIe and SerDes come first, as there, then power and functional
ones. What those catalogs leave out on a board is an exception here, with its reason.

What a test needs before it says anything of the cards is here too; where it is not there, the test is left out or its
failure is unknown. ``timeout_locked=0``, Gaudi 2 alone: Power_Stress_Tests_Plugin and Memory_Stress_Tests_Plugin on
docs.habana.ai (power, EDP, HBM); dell/omnia also runs SerDes errors so, and functional and NIC tests without it; the
manual of HL-288E for 1.23.0 (HabanaAI/vllm-fork, pull request 2222) wants it for all of them but bandwidth.
``__python_cmd``: Bandwidth_Tests_Plugin, and that manual for functional tests. Groups of cards: that manual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .environment import PYTHON
from .results import ISOLATE, RESET

QUICK, FULL, BURN_IN = "quick", "full", "burn_in"
LEVELS = (QUICK, FULL, BURN_IN)
GAUDI2, GAUDI3 = "gaudi2", "gaudi3"
_HL288E, _HL338 = "HL-288E", "HL-338"


@dataclass(frozen=True)
class Call:
    """``words`` after ``hl_qual -gaudiN -c <cards> -dis_mon``, and the seconds that they take."""

    words: tuple[str, ...]
    seconds: int


@dataclass(frozen=True)
class Test:
    """``calls`` by level; a level that is not there leaves the test out.

    ``needs_unlocked``, ``unlocked_boards``: generations and boards on which the driver has to be loaded with
    ``timeout_locked=0``. ``unlocked_by_some``: generations on which one source wants it so and another does not: the
    test runs without it, and what fails then is unknown. ``environment``: variables that it needs. ``by_group``: the
    cards are joined while it runs, so on boards in groups it runs for each. ``since``: generation or board -> the first
    release of which it is known there. ``exceptions``: board -> why the test is left out there. ``action``: what a
    failure asks for.
    """

    name: str
    calls: Mapping[str, Call]
    needs_unlocked: tuple[str, ...] = ()
    unlocked_boards: tuple[str, ...] = ()
    unlocked_by_some: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    by_group: bool = False
    since: Mapping[str, str] = field(default_factory=dict)
    exceptions: Mapping[str, str] = field(default_factory=dict)
    action: str = ISOLATE


def _alike(words: str, seconds: int, *levels: str) -> dict[str, Call]:
    return dict.fromkeys(levels, Call(tuple(words.split()), seconds))


def _timed(words: str, **seconds: int) -> dict[str, Call]:
    """The same test, longer with each level."""
    return {level: Call((*words.split(), "-t", str(time)), time) for level, time in seconds.items()}


_MAKERS = "it fails on healthy Gaudi 3 servers of some makers (intel/gaudi-reference-cloud leaves it out for that)"
# Bandwidth and functional tests start scripts with it.
_SCRIPTS = (PYTHON,)
# The first release whose manual is known to have -c quad_N.
_GROUPS_SINCE = {_HL288E: "1.23.0", _HL338: "1.23.0"}


def _between_cards(name: str, calls: Mapping[str, Call], environment: tuple[str, ...] = ()) -> Test:
    return Test(
        name,
        calls,
        unlocked_boards=(_HL288E,),
        unlocked_by_some=(GAUDI2,),
        environment=environment,
        by_group=True,
        since=_GROUPS_SINCE,
    )


MATRIX: tuple[Test, ...] = (
    Test("pcie", _timed("-rmod serial -p", quick=10, full=60, burn_in=600), environment=_SCRIPTS),
    # The vendor wants bandwidth over PCIe measured card by card. Gaudi 3 has no SRAM that -sramOnly could reach
    # (Bandwidth_Tests_Plugin); both catalogs ask -pciOnly alone.
    Test("pcie-bandwidth", _alike("-rmod serial -mb -b -pciOnly", 120, FULL, BURN_IN), environment=_SCRIPTS),
    Test("serdes-errors", _alike("-rmod parallel -ser", 60, *LEVELS), (GAUDI2,)),
    Test(
        "memory-bandwidth",
        _alike("-rmod parallel -mb -memOnly", 60, *LEVELS),
        environment=_SCRIPTS,
        action=RESET,
    ),
    _between_cards("nic-pairs", _alike("-rmod parallel -i 50 -nic_base -test_type pairs", 120, FULL, BURN_IN)),
    _between_cards(
        "nic-all-reduce", _alike("-rmod parallel -i 50 -ep 100 -nic_base -test_type allreduce", 180, FULL, BURN_IN)
    ),
    _between_cards(
        "functional", _timed("-rmod parallel -f2 -l extreme", quick=60, full=240, burn_in=14400), environment=_SCRIPTS
    ),
    Test("power", _timed("-rmod parallel -s", full=120, burn_in=7200), (GAUDI2,), exceptions={"HL-325L": _MAKERS}),
    Test(
        "edp", _timed("-rmod parallel -e -Tw 3 -Ts 1", full=40, burn_in=600), (GAUDI2,), exceptions={"HL-325L": _MAKERS}
    ),
    Test("hbm-dma", _alike("-rmod parallel -i 1 -hbm_dma_stress", 120, FULL, BURN_IN), (GAUDI2,), action=RESET),
    Test("hbm-tpc", _alike("-rmod parallel -i 1 -hbm_tpc_stress full_rw", 60, FULL, BURN_IN), (GAUDI2,), action=RESET),
    # It resets the cards at its end.
    Test("hbm-data", _alike("-rmod parallel -full_hbm_data_check_test", 600, BURN_IN), (GAUDI2,), action=RESET),
)
