# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Cards of a node that take a limit, refuse it, hang or are in use; what was set, and what is said of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._power import cards
from ansible_collections.gaudi3.scale.plugins.module_utils._power.plan import PowerOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._power.state import converge

from tests.unit.healthy_node import ADDRESSES, write_kernel
from tests.unit.sandbox.simulated import loaded
from tests.unit.sandbox.simulated_hlml import build_in

ALL = range(len(ADDRESSES))


@dataclass
class PowerSmi:
    """An hl-smi with a limit a card. Of the cards some ignore it, some are too slow, and some are mute about it."""

    limits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ADDRESSES, 850))
    ignoring: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()
    mute: tuple[str, ...] = ()
    query: CommandResult | None = None
    was_set: list[tuple[str, int]] = field(default_factory=list)

    def __call__(self, argv, *, timeout=None, env=None):
        if argv[1] == "-Q":
            assert argv == ("hl-smi", "-Q", "bus_id,power.max", "-f", "csv")
            cells = {one: "N/A" if one in self.mute else f"{watts} W" for one, watts in self.limits.items()}
            lines = ["bus_id, power.max [W]", *(f"{one}, {cell}" for one, cell in cells.items())]
            return self.query or CommandResult(0, "\n".join(lines), "")
        program, _i, address, _p, watts = argv
        assert (program, _i, _p, timeout) == ("hl-smi", "-i", "-p", 45)
        self.was_set.append((address, int(watts)))
        if address in self.slow:
            return CommandResult(124, "", "hl-smi: timed out after 45 s")
        if address not in self.ignoring:
            self.limits[address] = int(watts)
        return CommandResult(0, "", "")


@pytest.fixture
def root(tmp_path):
    return write_kernel(tmp_path / "kernel")


def capped(root, smi, watts=600, check_mode=False, **options):
    return converge(PowerOptions(watts, **options), smi, check_mode, str(root), str(root.parent / "proc"))


def limits(result, name):
    return {row["module_id"]: row[name] for row in result["cards"]}


def held(root, device):
    """A process that has this device open."""
    process = root.parent / "proc/4711"
    (process / "fd").mkdir(parents=True)
    (process / "fd/5").symlink_to(root.resolve() / "dev/accel" / device)
    (process / "comm").write_text("python3\n")
    (process / "cgroup").write_text("0::/system.slice/gaudi3-scale-job-llama.service\n")


def test_each_card_is_set_and_a_second_run_sets_none(root):
    smi = PowerSmi()
    first = capped(root, smi)
    assert first["changed"] and smi.was_set == [(address, 600) for address in ADDRESSES]
    assert limits(first, "before") == dict.fromkeys(ALL, 850)
    assert limits(first, "after") == dict.fromkeys(ALL, 600)
    assert first["watts"] == 600 and all(row["taken"] for row in first["cards"])
    assert "card 3 (0000:5d:00.0): 850 W\n" in first["diff"][0]["before"]
    assert "card 3 (0000:5d:00.0): 600 W\n" in first["diff"][0]["after"]
    second = capped(root, smi)
    assert not second["changed"] and second["diff"] == [] and len(smi.was_set) == len(ADDRESSES)
    assert limits(second, "before") == limits(second, "after") == dict.fromkeys(ALL, 600)


def test_check_mode_says_the_same_and_sets_none(root):
    smi = PowerSmi()
    foreseen = capped(root, smi, check_mode=True)
    assert smi.was_set == [] and smi.limits == dict.fromkeys(ADDRESSES, 850)
    assert foreseen == capped(root, smi)


def test_only_the_cards_that_are_named_are_set(root):
    smi = PowerSmi()
    done = capped(root, smi, cards=[2])
    assert smi.was_set == [(ADDRESSES[2], 600)]
    assert limits(done, "after") == {2: 600}


@pytest.mark.parametrize("trouble", ["ignoring", "slow"])
def test_a_card_that_does_not_take_it_stops_no_other_and_is_named(root, trouble):
    smi = PowerSmi(**{trouble: (ADDRESSES[3],)})
    with pytest.raises(GaudiError) as refused:
        capped(root, smi)
    said = "nothing" if trouble == "ignoring" else "hl-smi: timed out after 45 s"
    assert str(refused.value) == (
        f"1 of 8 cards did not accept 600 W: card 3 (0000:5d:00.0) shows 850 W (hl-smi said: {said}); the others have "
        "it. Look at `hl-smi -q -d POWER` and `dmesg`, or leave them out by cards (gaudi_power_cards)."
    )
    assert refused.value.facts["changed"] is True
    assert "card 3 (0000:5d:00.0): 850 W\n" in refused.value.facts["diff"][0]["after"]
    after = {**dict.fromkeys(ALL, 600), 3: 850}
    assert limits(refused.value.facts, "after") == after == dict(zip(ALL, smi.limits.values()))
    assert limits(refused.value.facts, "taken") == {number: number != 3 for number in ALL}


def test_a_card_that_tells_no_limit_is_not_set_and_is_named(root):
    smi = PowerSmi(mute=(ADDRESSES[5],))
    with pytest.raises(
        GaudiError, match=r"^1 of 8 cards would not accept 600 W: card 5 .* reports no limit; the others would"
    ):
        capped(root, smi, check_mode=True)
    with pytest.raises(
        GaudiError, match=r"^1 of 8 cards did not accept 600 W: card 5 .* reports no limit; the others have"
    ):
        capped(root, smi)
    assert ADDRESSES[5] not in dict(smi.was_set)
    assert smi.limits[ADDRESSES[0]] == 600


def test_where_no_card_takes_it_nothing_is_said_of_others(root):
    with pytest.raises(GaudiError, match=r"^8 of 8 cards did not accept .*\. Look at") as refused:
        capped(root, PowerSmi(ignoring=ADDRESSES))
    assert "others" not in str(refused.value) and refused.value.facts["changed"] is False


def test_the_driver_tells_the_limit_where_hl_smi_knows_no_such_field(root):
    unknown = CommandResult(1, "", 'hl-smi: Field "power.max" is not a valid field to query.')
    smi = PowerSmi(query=unknown)
    for device in root.glob("sys/class/accel/accel*/device"):
        (device / "max_power").write_text("600000\n")
    done = capped(root, smi)
    assert not done["changed"] and limits(done, "before") == dict.fromkeys(ALL, 600)


def test_an_hl_smi_that_hangs_is_asked_nothing_more(root):
    smi = PowerSmi(query=CommandResult(124, "", "hl-smi: timed out after 90 s"))
    with pytest.raises(
        GaudiError, match=r"The power limits cannot be read \(hl-smi: timed out after 90 s\); look at `dmesg`"
    ):
        capped(root, smi)
    assert smi.was_set == []


def test_an_hl_smi_that_hangs_afterwards_leaves_every_card_named(root):
    smi = PowerSmi()

    def run(argv, **more):
        return CommandResult(124, "", "no end") if argv[1] == "-Q" and smi.was_set else smi(argv, **more)

    with pytest.raises(GaudiError, match="8 of 8 cards did not accept 600 W") as refused:
        capped(root, run)
    assert refused.value.facts["changed"] is True and set(limits(refused.value.facts, "after").values()) == {None}


def test_a_node_without_a_driver_is_told_so(tmp_path):
    root = write_kernel(tmp_path / "kernel", driver=False)
    with pytest.raises(GaudiError, match=r"No driver has a card of this node.*; run driver\.yml first\."):
        capped(root, PowerSmi())


def test_a_card_in_use_is_refused_before_any_is_set_unless_that_is_wanted(root):
    held(root, "accel4")  # the accel index runs the other way: it is module 3
    smi = PowerSmi()
    for check_mode in (True, False):
        with pytest.raises(
            GaudiError, match=r"card 3 .* by process 4711 \(python3\) in gaudi3-scale-job-llama.service"
        ):
            capped(root, smi, check_mode=check_mode)
    assert smi.was_set == []
    capped(root, smi, while_busy=True)
    assert set(smi.limits.values()) == {600}


def test_who_only_watches_a_card_is_in_nobodys_way(root):
    held(root, "accel_controlD4")
    assert capped(root, PowerSmi())["changed"]


@pytest.mark.parametrize("options", [{"watts": 300}, {"cards": [9]}, {"range": [850, 450]}, {"range": [450, 500]}])
def test_what_cannot_be_meant_touches_no_card(root, options):
    smi = PowerSmi()
    with pytest.raises(GaudiError):
        capped(root, smi, **options)
    assert smi.was_set == []


def test_a_gaudi_2_that_tells_its_range_needs_none_of_the_site(tmp_path, monkeypatch):
    library = build_in(tmp_path)
    addresses = [one.card.pci_address for one in library.show(loaded("gaudi2"))]
    root = write_kernel(tmp_path / "kernel", addresses, pci_id="0x1020")
    smi = PowerSmi(dict.fromkeys(addresses, 600))

    def run(argv, *, timeout=None, env=None):
        return (smi if argv[0] == "hl-smi" else run_process)(argv, timeout=timeout, env=env)

    monkeypatch.setattr(cards, "ask_hlml", partial(ask_hlml, libraries=(library.path,), lock=""))
    with pytest.raises(GaudiError, match=r"\(HLML\) is 350 to 600 W; give watts within it"):
        capped(root, run, 300)
    assert smi.was_set == []
    assert capped(root, run, 400)["changed"] and len(smi.was_set) == 8
    monkeypatch.setattr(cards, "ask_hlml", partial(ask_hlml, libraries=(str(tmp_path / "none"),)))
    with pytest.raises(GaudiError, match="Which power limits Gaudi 2 takes is not published"):
        capped(root, run, 400)
