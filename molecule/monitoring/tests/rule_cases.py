# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""For each alert what has to raise it and what must not, as promtool's own test of rules has it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

# As Prometheus asks the nodes.
INTERVAL_S = 10
PER_MINUTE = 60 // INTERVAL_S


@dataclass(frozen=True)
class Case:
    """``series`` are values of promtool's notation by metric, one each ``every_s`` seconds; looked at after so many
    ``minutes``. ``node`` is the only one that is named, where that is what it is about."""

    alert: str
    fires: bool
    what: str
    series: dict[str, str]
    minutes: int
    every_s: int = INTERVAL_S
    node: str = ""


def steady(value: float, minutes: float) -> str:
    return f"{value}+0x{round(minutes * PER_MINUTE)}"


def rising(by: float, minutes: float, start: float = 0) -> str:
    """By so much a minute."""
    return f"{start}{by / PER_MINUTE:+}x{round(minutes * PER_MINUTE)}"


def unknown(minutes: int) -> str:
    """No value."""
    return f"_x{minutes * PER_MINUTE}"


def each(minutes: int, times: int, start: int = 0) -> str:
    """When something was done last that is done each so many ``minutes``, and never before the first time."""
    moments = (60 * (start + minutes * turn) for turn in range(1, times + 1))
    return " ".join([unknown(minutes), *(f"{moment}+0x{minutes * PER_MINUTE - 1}" for moment in moments)])


def card(metric: str, number: int = 0) -> str:
    return f'gaudi_card_{metric}{{instance="gaudi-01", card="{number}"}}'


def on_node(metric: str, more: str = "") -> str:
    return f'{metric}{{instance="gaudi-01"{more}}}'


def of_job(metric: str, node: str = "gaudi-01") -> str:
    return f'gaudi_job_{metric}{{instance="{node}", training="llama"}}'


def used_of(share: float | None, memory: float) -> dict[str, str]:
    """A share of the cards' peak, and one of a card's memory."""
    told = {} if share is None else {of_job("mfu_ratio"): steady(share, 60)}
    limit, used = of_job("memory_limit_bytes"), of_job("memory_used_bytes")
    return {**told, limit: steady(1e11, 60), used: steady(memory * 1e11, 60)}


def of_serving(metric: str, more: str = "") -> str:
    return f'gaudi_server_{metric}{{instance="gaudi-01", serving="chat"{more}}}'


SERVES = {
    of_serving("running"): steady(1, 400),
    of_serving("answers"): steady(1, 400),
    of_serving("started_timestamp_seconds"): steady(1, 400),
}
RUNNING = {of_job("running"): steady(1, 400)}
TRAINS = {
    **RUNNING,
    of_job("step_timestamp_seconds"): rising(60, 400),
    of_job("step_interval_seconds"): steady(60, 400),
}
# It had rank 0 before, and still tells what it knows; the job runs well on another node.
ELSEWHERE = {of_job("running"): steady(0, 400), of_job("running", "gaudi-02"): steady(1, 400)}
CLOCKS = {card("clock_max_hertz", number): steady(1.65e9, 60) for number in range(8)}
BUSY = {card("utilization_ratio", number): steady(0.98, 60) for number in range(8)}
FULL_SPEED = {card("clock_hertz", number): steady(1.65e9, 60) for number in range(8)}
PORTS = {
    on_node("gaudi_port_up", f', card="{number}", port="{port}"'): steady(1, 30)
    for number in range(8)
    for port in (8, 22, 23)
}
DISK = ', job="gaudi", mountpoint="/var", fstype="ext4"'
SIZE = {on_node("node_filesystem_size_bytes", DISK): steady(1e12, 420)}


def silent_since(minute: int, about: str) -> dict[str, str]:
    read = on_node("gaudi_collector_last_success_timestamp_seconds", f', about="{about}"')
    every = on_node("gaudi_collector_interval_seconds", f', about="{about}"')
    return {read: f"{rising(60, minute)} {steady(minute * 60, 20)}", every: steady(INTERVAL_S, 60)}


def stalls(minute: int, step_minutes: int) -> dict[str, str]:
    """A line of steps each so many minutes, or each two seconds, and none from that minute on."""
    steps = each(step_minutes, minute // step_minutes - 1) if step_minutes else rising(60, minute)
    return {
        **RUNNING,
        of_job("step_timestamp_seconds"): f"{steps} {steady(60 * minute, 400)}",
        of_job("step_interval_seconds"): steady(60 * step_minutes or 2, 400),
    }


def cards(present: str, driven: str) -> dict[str, str]:
    """Of eight."""
    wanted = {"present": present, "driven": driven, "expected": steady(8, 60)}
    return {on_node(f"gaudi_cards_{name}"): values for name, values in wanted.items()}


UPGRADE = f"{steady(8, 20)} {steady(0, 10)} {steady(8, 30)}"
STEPS = of_job("step_timestamp_seconds")
BETWEEN = of_job("step_interval_seconds")
STARTED = of_job("started_timestamp_seconds")
CHECKPOINT = of_job("checkpoint_timestamp_seconds")
LAUNCHED = {**RUNNING, STARTED: steady(0, 400)}


CASES = [
    Case("GaudiCardMissing", True, "one is gone from the bus", cards(steady(7, 60), steady(7, 60)), 1),
    Case("GaudiCardMissing", False, "all eight", cards(steady(8, 60), steady(8, 60)), 5),
    Case("GaudiCardMissing", False, "an upgrade of ten minutes", cards(steady(8, 60), UPGRADE), 25),
    Case("GaudiCardMissing", False, "without a driver for an hour", cards(steady(8, 60), steady(0, 60)), 55),
    Case("GaudiCardWithoutDriver", True, "for an hour", cards(steady(8, 60), steady(0, 60)), 55),
    Case("GaudiCardWithoutDriver", True, "one of eight for an hour", cards(steady(8, 60), steady(7, 60)), 55),
    Case("GaudiCardWithoutDriver", False, "an upgrade of ten minutes", cards(steady(8, 60), UPGRADE), 25),
    Case("GaudiCardWithoutDriver", False, "a build of half an hour", cards(steady(8, 60), steady(0, 60)), 30),
    Case("GaudiCardWithoutDriver", False, "one is gone from the bus", cards(steady(7, 60), steady(7, 60)), 55),
    Case("GaudiCardNotOperational", True, "the driver says no", {card("operational"): steady(0, 5)}, 3),
    Case(
        *("GaudiCardNotOperational", False, "a driver that starts its cards"),
        {card("operational"): f"{steady(0, 1.5)} {steady(1, 3)}"},
        1,
    ),
    Case(
        *("GaudiCardNotOperational", False, "a reset that takes a sample"),
        {card("operational"): f"{steady(1, 1)} 0 {steady(1, 3)}"},
        2,
    ),
    Case("GaudiCardCold", True, "0 degrees", {card("temperature_celsius"): steady(0, 5)}, 1),
    Case("GaudiCardCold", False, "a cold morning", {card("temperature_celsius"): steady(12, 5)}, 5),
    Case(
        *("GaudiCardHot", True, "at its limit"),
        {card("temperature_celsius"): steady(83, 5), card("temperature_limit_celsius"): steady(83, 5)},
        2,
    ),
    Case(
        *("GaudiCardHot", False, "under load, below it"),
        {card("temperature_celsius"): steady(75, 5), card("temperature_limit_celsius"): steady(83, 5)},
        5,
    ),
    Case(
        "GaudiCardMemoryErrors", True, "one more", {card("ecc_uncorrected_total"): f"{steady(2, 5)} {steady(3, 5)}"}, 7
    ),
    Case("GaudiCardMemoryErrors", True, "the first it ever had", {card("ecc_uncorrected_total"): steady(3, 5)}, 1),
    Case("GaudiCardMemoryErrors", False, "those of long ago", {card("ecc_uncorrected_total"): steady(3, 60)}, 50),
    Case("GaudiCardMemoryErrors", False, "none", {card("ecc_uncorrected_total"): steady(0, 60)}, 50),
    Case(
        *("GaudiCardMemoryErrors", False, "those of long ago, and nobody watched for half an hour"),
        {card("ecc_uncorrected_total"): f"{steady(2, 120)} {unknown(30)} {steady(2, 60)}"},
        155,
    ),
    Case(
        *("GaudiCardMemoryErrors", False, "those of long ago, and nobody watched for a night"),
        {card("ecc_uncorrected_total"): "2+0x1200 _x600 2+0x60"},
        1805,
        every_s=60,
    ),
    Case(
        *("GaudiCardMemoryErrors", True, "one more while nobody watched for half an hour"),
        {card("ecc_uncorrected_total"): f"{steady(2, 120)} {unknown(30)} {steady(3, 60)}"},
        155,
    ),
    Case(
        *("GaudiCardCorrectedErrorsGrow", True, "a quiet day, and then many"),
        {card("ecc_corrected_total"): f"{steady(5, 300)} {rising(2, 60, 5)}"},
        345,
    ),
    Case(
        *("GaudiCardCorrectedErrorsGrow", False, "as many each hour"),
        {card("ecc_corrected_total"): rising(0.1, 400)},
        390,
    ),
    Case(
        *("GaudiCardCorrectedErrorsGrow", False, "one after a quiet day, and no value at the moment of the look"),
        {card("ecc_corrected_total"): "5+0x2800 6+0x600"},
        355,
        every_s=7,
    ),
    Case("GaudiCardWasReset", True, "once", {card("resets_total"): f"{steady(0, 5)} {steady(1, 5)}"}, 7),
    Case("GaudiCardWasReset", False, "long ago", {card("resets_total"): steady(1, 60)}, 50),
    Case(
        *("GaudiCardResetAgain", True, "twice, half an hour apart"),
        {card("resets_total"): f"{steady(3, 90)} {steady(4, 30)} {steady(5, 10)}"},
        125,
    ),
    Case(
        *("GaudiCardResetAgain", False, "by two tries at the same failure"),
        {card("resets_total"): f"{steady(3, 90)} {steady(4, 3)} {steady(5, 40)}"},
        100,
    ),
    Case(
        *("GaudiCardResetAgain", False, "the first one, after some of days ago"),
        {card("resets_total"): "3+0x1500 4+0x60"},
        1510,
        every_s=60,
    ),
    Case(
        *("GaudiCardResetAgain", False, "not again since yesterday"),
        {card("resets_total"): f"{steady(3, 90)} {steady(4, 30)}"},
        118,
    ),
    Case(
        *("GaudiCardThrottles", True, "all cards at 1.2 GHz under load"),
        {**CLOCKS, **BUSY, **{name: steady(1.2e9, 60) for name in FULL_SPEED}},
        10,
    ),
    Case(
        *("GaudiCardThrottles", False, "idle cards rest"),
        {**CLOCKS, **{name: steady(0.6e9, 60) for name in FULL_SPEED}, **{name: steady(0, 60) for name in BUSY}},
        30,
    ),
    Case(
        *("GaudiCardBelowItsPeers", True, "one at 1.2 GHz"),
        {**CLOCKS, **BUSY, **FULL_SPEED, card("clock_hertz", 3): steady(1.2e9, 60)},
        10,
    ),
    Case("GaudiCardBelowItsPeers", False, "all alike", {**CLOCKS, **BUSY, **FULL_SPEED}, 30),
    Case(
        *("GaudiPortDown", True, "one of 24"),
        {**PORTS, on_node("gaudi_port_up", ', card="2", port="22"'): steady(0, 30)},
        2,
    ),
    Case("GaudiPortDown", False, "a site without the ports", {name: steady(0, 30) for name in PORTS}, 20),
    Case(
        *("GaudiPortFlaps", True, "down and up each minute"),
        {on_node("gaudi_port_carrier_changes_total", ', card="0", port="8"'): rising(2, 30)},
        15,
    ),
    Case(
        *("GaudiPortFlaps", False, "once, as a switch boots"),
        {on_node("gaudi_port_carrier_changes_total", ', card="0", port="8"'): f"{steady(2, 10)} {steady(4, 20)}"},
        15,
    ),
    Case(
        *("GaudiPortFlaps", False, "down, up and down, and no value at the moment of the look"),
        {on_node("gaudi_port_carrier_changes_total", ', card="0", port="8"'): "0+0x120 1 2 3+0x100"},
        20,
        every_s=7,
    ),
    Case("GaudiNodeSilent", True, "not scraped", {on_node("up", ', job="gaudi"'): steady(0, 5)}, 1),
    Case(
        "GaudiNodeSilent",
        False,
        "one scrape lost",
        {on_node("up", ', job="gaudi"'): f"{steady(1, 1)} 0 {steady(1, 3)}"},
        2,
    ),
    Case("GaudiCollectorSilent", True, "hl-smi hangs for a minute", silent_since(5, "cards"), 6 + 1),
    Case("GaudiCollectorSilent", False, "a reset that holds it for a look or two", silent_since(10, "cards"), 10),
    Case(
        *("GaudiDriverDrift", True, "one of three has another release, and says that it has a third one, too"),
        {
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-01", release="1.24.1"}': steady(1, 60),
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-02", release="1.24.1"}': steady(1, 60),
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-03", release="1.23.0"}': steady(1, 60),
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-03", release="1.24.1", liar="1"}': steady(1, 60),
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-03", release="1.24.1", liar="2"}': steady(1, 60),
        },
        20,
        node="gaudi-03",
    ),
    Case(
        *("GaudiDriverDrift", False, "an upgrade that is under way for ten minutes"),
        {
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-01", release="1.24.1"}': steady(1, 60),
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-02", release="1.23.0"}': f"{steady(1, 10)} _x100",
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-02", release="1.24.1"}': f"_x40 {steady(1, 40)}",
        },
        40,
    ),
    Case(
        *("GaudiFirmwareDrift", True, "two versions on one board"),
        {
            'gaudi_card_info{job="gaudi", instance="gaudi-01", card="0", board="HL-325L", firmware="a"}': steady(1, 60),
            'gaudi_card_info{job="gaudi", instance="gaudi-02", card="0", board="HL-325L", firmware="b"}': steady(1, 60),
        },
        20,
    ),
    Case(
        *("GaudiFirmwareDrift", False, "two boards"),
        {
            'gaudi_card_info{job="gaudi", instance="gaudi-01", card="0", board="HL-325L", firmware="a"}': steady(1, 60),
            'gaudi_card_info{job="gaudi", instance="gaudi-02", card="0", board="HL-225", firmware="b"}': steady(1, 60),
        },
        40,
    ),
    Case(
        *("GaudiRecipeCacheFull", True, "nearly what eight ranks may have"),
        {
            on_node("gaudi_recipe_cache_bytes"): steady(7.6e9, 20),
            on_node("gaudi_recipe_cache_limit_bytes"): steady(1e9, 20),
            on_node("gaudi_cards_expected"): steady(8, 20),
        },
        10,
    ),
    Case(
        *("GaudiRecipeCacheFull", True, "beside a node that tells twice how many cards it is to have"),
        {
            on_node("gaudi_recipe_cache_bytes"): steady(7.6e9, 20),
            on_node("gaudi_recipe_cache_limit_bytes"): steady(1e9, 20),
            on_node("gaudi_cards_expected"): steady(8, 20),
            'gaudi_cards_expected{instance="gaudi-02"}': steady(8, 20),
            'gaudi_cards_expected{instance="gaudi-02", by="nobody"}': steady(8, 20),
        },
        10,
    ),
    Case(
        *("GaudiRecipeCacheFull", False, "no limit"),
        {
            on_node("gaudi_recipe_cache_bytes"): steady(7.6e9, 20),
            on_node("gaudi_recipe_cache_limit_bytes"): steady(0, 20),
            on_node("gaudi_cards_expected"): steady(8, 20),
        },
        15,
    ),
    Case(
        *("GaudiDiskFills", True, "as in the last six hours, full in eleven"),
        {**SIZE, on_node("node_filesystem_avail_bytes", DISK): rising(-4e11 / 600, 420, 7e11)},
        400,
    ),
    Case(
        *("GaudiDiskFills", True, "full in three hours"),
        {**SIZE, on_node("node_filesystem_avail_bytes", DISK): rising(-4e11 / 240, 120, 4e11)},
        60,
    ),
    Case(
        *("GaudiDiskFills", False, "full in eighteen hours, by the pace of the first hour in which anybody looked"),
        {**SIZE, on_node("node_filesystem_avail_bytes", DISK): rising(-2e10 / 60, 120, 4e11)},
        100,
    ),
    Case(
        *("GaudiDiskFills", False, "data that were copied in an hour"),
        {
            **SIZE,
            on_node("node_filesystem_avail_bytes", DISK): f"{steady(4.9e11, 300)} {rising(-8e10 / 60, 60, 4.9e11)}",
        },
        358,
    ),
    Case(
        *("GaudiDiskFills", False, "a checkpoint each hour, the old one removed"),
        {**SIZE, on_node("node_filesystem_avail_bytes", DISK): " ".join([steady(4e11, 30), steady(3.9e11, 30)] * 7)},
        400,
    ),
    Case(
        *("GaudiServingSilent", True, "it has answered for an hour"),
        {**SERVES, of_serving("answers"): f"{steady(1, 60)} {steady(0, 20)}"},
        64,
    ),
    Case(
        *("GaudiServingSilent", False, "it was started again, and warms up"),
        {
            **SERVES,
            of_serving("answers"): f"{steady(1, 60)} {steady(0, 20)}",
            of_serving("started_timestamp_seconds"): f"{steady(1, 60)} {steady(3600, 20)}",
        },
        75,
    ),
    Case(
        *("GaudiServingSilent", False, "it was stopped"),
        {
            of_serving("running"): f"{steady(1, 60)} {steady(0, 20)}",
            of_serving("answers"): f"{steady(1, 60)} {steady(0, 20)}",
        },
        70,
    ),
    Case("GaudiServingFailed", True, "systemd has given it up", {of_serving("failed"): steady(1, 20)}, 5),
    Case("GaudiServingFailed", False, "it is stopped", {of_serving("failed"): steady(0, 20)}, 5),
    Case(
        *("GaudiServingWarmsUp", True, "an hour and a half after its start"),
        {**SERVES, of_serving("answers"): steady(0, 120)},
        90,
    ),
    Case(
        *("GaudiServingWarmsUp", False, "half an hour after its start"),
        {**SERVES, of_serving("answers"): steady(0, 120)},
        30,
    ),
    Case(
        "GaudiServingWarmsUp",
        False,
        "it has answered, and is silent since",
        {
            **SERVES,
            of_serving("answers"): f"{steady(1, 80)} {steady(0, 20)}",
        },
        95,
    ),
    Case(
        *("GaudiServingStalled", True, "four requests run, and none gets a token"),
        {
            **SERVES,
            of_serving("requests_running"): steady(4, 60),
            of_serving("generated_tokens_total"): f"{rising(600, 30)} {steady(18000, 30)}",
        },
        36,
    ),
    Case(
        *("GaudiServingStalled", False, "four requests run, and get their tokens"),
        {
            **SERVES,
            of_serving("requests_running"): steady(4, 60),
            of_serving("generated_tokens_total"): rising(600, 60),
        },
        36,
    ),
    Case(
        *("GaudiServingStalled", False, "nobody asks"),
        {
            **SERVES,
            of_serving("requests_running"): steady(0, 60),
            of_serving("generated_tokens_total"): steady(18000, 60),
        },
        36,
    ),
    Case("GaudiServingDiffers", True, "one weight is another", {of_serving("differs"): steady(1, 20)}, 5),
    Case("GaudiServingDiffers", False, "it answers as it was trained", {of_serving("differs"): steady(0, 20)}, 5),
    Case(
        *("GaudiServingQueue", True, "more wait than run"),
        {of_serving("requests_running"): steady(32, 60), of_serving("requests_waiting"): steady(40, 60)},
        15,
    ),
    Case(
        *("GaudiServingQueue", False, "a few wait"),
        {of_serving("requests_running"): steady(32, 60), of_serving("requests_waiting"): steady(5, 60)},
        30,
    ),
    Case(
        *("GaudiServingQueue", False, "for a minute"),
        {
            of_serving("requests_running"): steady(32, 60),
            of_serving("requests_waiting"): f"{steady(0, 20)} {steady(60, 1)} {steady(0, 40)}",
        },
        24,
    ),
    Case(
        "GaudiServingCacheFull",
        True,
        "full for a quarter of an hour",
        {of_serving("cache_ratio"): steady(0.99, 60)},
        15,
    ),
    Case("GaudiServingCacheFull", False, "half of it", {of_serving("cache_ratio"): steady(0.5, 60)}, 15),
    Case(
        *("GaudiServingErrors", True, "one of twenty"),
        {
            of_serving("requests_total", ', reason="error"'): rising(5, 60),
            of_serving("requests_total", ', reason="stop"'): rising(95, 60),
        },
        20,
    ),
    Case(
        *("GaudiServingErrors", False, "clients give half of them up"),
        {
            of_serving("requests_total", ', reason="error"'): steady(0, 60),
            of_serving("requests_total", ', reason="abort"'): rising(50, 60),
            of_serving("requests_total", ', reason="stop"'): rising(50, 60),
        },
        20,
    ),
    *(
        Case("GaudiJobStalled", True, f"{minutes} minutes after a step each two seconds", stalls(90, 0), 90 + minutes)
        for minutes in (13, 100, 300)
    ),
    Case("GaudiJobStalled", True, "13 minutes after a line of steps each minute", stalls(90, 1), 103),
    Case("GaudiJobStalled", False, "8 minutes after a line of steps each minute", stalls(90, 1), 98),
    Case("GaudiJobStalled", True, "45 minutes after a step each four minutes", stalls(88, 4), 133),
    Case("GaudiJobStalled", False, "steps go on", TRAINS, 200),
    Case(
        *("GaudiJobStalled", False, "a slow one, with a step each four minutes"),
        {**RUNNING, STEPS: each(4, 50), BETWEEN: steady(240, 400)},
        195,
    ),
    Case(
        *("GaudiJobStalled", False, "a slow one, with a line each ten minutes, of which two are known"),
        {**RUNNING, STEPS: each(10, 40), BETWEEN: f"{unknown(30)} {steady(600, 370)}"},
        28,
    ),
    Case(
        *("GaudiJobStalled", True, "two hours after its second step"),
        {**RUNNING, STEPS: f"_ 60+0x{PER_MINUTE} {steady(120, 300)}"},
        122,
    ),
    Case(
        *("GaudiJobStalled", False, "a larger model under the same name, with a line each eight minutes"),
        {
            of_job("running"): f"{steady(1, 200)} {steady(0, 5)} {steady(1, 200)}",
            STARTED: f"{steady(0, 205)} {steady(60 * 205, 200)}",
            STEPS: f"{rising(60, 200)} {steady(60 * 200, 5)} {each(8, 20, 205)}",
            BETWEEN: f"{steady(2, 205)} {unknown(24)} {steady(480, 180)}",
        },
        220,
    ),
    Case(
        *("GaudiJobStalled", False, "Slurm has just started it again, and its last step is from before"),
        {
            of_job("running"): f"{steady(1, 100)} {steady(0, 60)} {steady(1, 60)}",
            STARTED: f"{steady(0, 160)} {steady(60 * 160, 60)}",
            STEPS: f"{rising(60, 100)} {steady(60 * 100, 120)}",
            BETWEEN: steady(2, 220),
        },
        170,
    ),
    Case(
        *("GaudiJobStalled", False, "it has ended"),
        {of_job("running"): steady(0, 400), STEPS: steady(100, 400), BETWEEN: steady(2, 400)},
        100,
    ),
    Case(
        *("GaudiJobStalled", False, "it goes on elsewhere"),
        {**stalls(90, 1), **ELSEWHERE, of_job("step_timestamp_seconds", "gaudi-02"): rising(60, 400)},
        120,
    ),
    Case(
        *("GaudiJobSlow", True, "a tenth less than in the hours before"),
        {**RUNNING, of_job("tokens_per_second"): f"{steady(1e6, 200)} {steady(9e5, 60)}"},
        230,
    ),
    Case(
        *("GaudiJobSlow", False, "a larger model under the same name"),
        {
            **RUNNING,
            of_job("tokens_per_second"): f"{steady(1e6, 200)} {steady(5e5, 60)}",
            of_job("started_timestamp_seconds"): f"{steady(1, 200)} {steady(12000, 60)}",
        },
        230,
    ),
    Case(
        *("GaudiJobSlow", True, "another node tells start after start of a training of that name"),
        {
            **RUNNING,
            of_job("tokens_per_second"): f"{steady(1e6, 200)} {steady(9e5, 60)}",
            of_job("started_timestamp_seconds"): steady(1, 260),
            of_job("started_timestamp_seconds", "gaudi-02"): rising(60, 260),
            of_job("running", "gaudi-02"): steady(1, 260),
        },
        230,
    ),
    Case(
        *("GaudiJobSlow", False, "it has always varied by more"),
        {**RUNNING, of_job("tokens_per_second"): " ".join(["1e6 0.7e6 1.2e6 0.9e6"] * 400)},
        300,
    ),
    Case(
        *("GaudiJobSlow", False, "it goes on elsewhere"),
        {**ELSEWHERE, of_job("tokens_per_second"): f"{steady(1e6, 200)} {steady(9e5, 60)}"},
        230,
    ),
    Case(
        "GaudiJobWaitsForData", True, "a tenth of a step", {**RUNNING, of_job("data_wait_ratio"): steady(0.1, 60)}, 30
    ),
    Case("GaudiJobWaitsForData", False, "a hundredth", {**RUNNING, of_job("data_wait_ratio"): steady(0.01, 60)}, 30),
    Case(
        *("GaudiJobWaitsForData", False, "it goes on elsewhere"),
        {**ELSEWHERE, of_job("data_wait_ratio"): steady(0.1, 60)},
        30,
    ),
    *(
        Case(alert, fires, what, {**jobs, **used_of(share, memory)}, 45)
        for alert, fires, what, jobs, share, memory in (
            ("GaudiJobLowUtilization", True, "a tenth of the peak with half the memory", RUNNING, 0.1, 0.5),
            ("GaudiJobLowUtilization", False, "a tenth of the peak with all of the memory", RUNNING, 0.1, 0.9),
            ("GaudiJobLowUtilization", False, "two fifths of the peak", RUNNING, 0.4, 0.5),
            ("GaudiJobLowUtilization", False, "it goes on elsewhere", ELSEWHERE, 0.1, 0.5),
            ("GaudiJobMemoryFull", True, "99 % of a card's memory", RUNNING, 0.4, 0.99),
            ("GaudiJobMemoryFull", False, "what the batch-size probe leaves free", RUNNING, 0.4, 0.96),
            ("GaudiJobMemoryFull", False, "it goes on elsewhere", ELSEWHERE, 0.4, 0.99),
        )
    ),
    Case("GaudiJobLowUtilization", False, "nobody knows the peak", {**RUNNING, **used_of(None, 0.5)}, 45),
    Case(
        "GaudiJobMemoryFull", False, "no card limits it", {**RUNNING, of_job("memory_used_bytes"): steady(1e11, 60)}, 30
    ),
    Case("GaudiJobLossIsNoNumber", True, "NaN", {**RUNNING, of_job("loss"): " ".join(["3.2"] * 8 + ["NaN"] * 20)}, 5),
    Case("GaudiJobLossIsNoNumber", False, "a loss", {**RUNNING, of_job("loss"): steady(3.2, 20)}, 15),
    Case(
        *("GaudiJobLossIsNoNumber", False, "it goes on elsewhere"),
        {**ELSEWHERE, of_job("loss"): " ".join(["NaN"] * 28)},
        4,
    ),
    Case(
        *("GaudiCheckpointOld", True, "none for two hours after one each half hour"),
        {**LAUNCHED, CHECKPOINT: f"{each(30, 4)} {steady(60 * 120, 200)}"},
        240,
    ),
    Case(
        *("GaudiCheckpointOld", False, "one each half hour"),
        {**LAUNCHED, CHECKPOINT: each(30, 12)},
        385,
    ),
    Case(
        *("GaudiCheckpointOld", True, "none for 30 hours after one each ten minutes"),
        {
            of_job("running"): "1+0x2000",
            STARTED: "0+0x2000",
            CHECKPOINT: "_x10 600+0x9 1200+0x9 1800+0x9 2400+0x9 3000+0x9 3600+0x1900",
        },
        60 + 30 * 60,
        every_s=60,
    ),
    Case(
        *("GaudiCheckpointOld", False, "one each half hour, and the first one after the next launch"),
        {
            of_job("running"): f"{steady(1, 240)} {steady(0, 30)} {steady(1, 100)}",
            STARTED: f"{steady(0, 270)} {steady(60 * 270, 100)}",
            CHECKPOINT: f"{each(30, 8)} {each(30, 3, 270)}",
        },
        270 + 55,
    ),
    Case(
        *("GaudiCheckpointOld", False, "one each two hours, and each ten minutes before this launch"),
        {
            **RUNNING,
            STARTED: f"{steady(0, 100)} {steady(60 * 100, 300)}",
            CHECKPOINT: f"{each(10, 9)} {each(120, 2, 100)}",
        },
        335,
    ),
    Case(
        *("GaudiCheckpointOld", True, "none for an hour after one each ten minutes, and each hour before this launch"),
        {
            **RUNNING,
            STARTED: f"{steady(0, 240)} {steady(60 * 240, 160)}",
            CHECKPOINT: f"{each(60, 3)} {each(10, 4, 240)} {steady(60 * 280, 100)}",
        },
        345,
    ),
    Case("GaudiCheckpointOld", False, "its first one is not there yet", LAUNCHED, 200),
    Case(
        *("GaudiCheckpointOld", False, "Slurm has just started it again, and its last one is two days old"),
        {**LAUNCHED, CHECKPOINT: steady(-2 * 86400, 400)},
        30,
    ),
    Case(
        *("GaudiCheckpointOld", False, "it goes on elsewhere"),
        {**ELSEWHERE, STARTED: steady(0, 400), CHECKPOINT: f"{each(30, 4)} {steady(60 * 120, 200)}"},
        265,
    ),
    Case("GaudiJobRestarts", True, "each ten minutes", {of_job("restarts_total"): rising(0.1, 60)}, 55),
    Case(
        "GaudiJobRestarts",
        False,
        "one that was planned",
        {of_job("restarts_total"): f"{steady(0, 20)} {steady(1, 60)}"},
        60,
    ),
    Case(
        *("GaudiJobRestarts", False, "two, and no value at the moment of the look"),
        {of_job("restarts_total"): "0+0x600 1+0x80 2+0x200"},
        100,
        every_s=7,
    ),
]

VENDOR = 'instance="gaudi-01", job="gaudi_vendor"'
# What the vendor's exporter says -> what its rule makes of it; nothing of a 0 that it says where it could not read.
OF_THE_VENDOR = (
    ("temperature_onchip", 61, "gaudi_card_temperature_celsius", 61),
    ("temperature_onchip", 0, "gaudi_card_temperature_celsius", None),
    ("temperature_onchip", 505712272, "gaudi_card_temperature_celsius", None),
    ("temperature_threshold_slowdown", 100, "gaudi_card_temperature_limit_celsius", 100),
    ("power_mW", 412000, "gaudi_card_power_watts", 412),
    ("power_mW", 0, "gaudi_card_power_watts", None),
    ("power_mW", 4294967295, "gaudi_card_power_watts", None),
    ("power_default_limit_mW", 850000, "gaudi_card_power_limit_watts", 850),
    ("energy", 5000000, "gaudi_card_energy_joules_total", 5000),
    ("clock_soc_mhz", 1650, "gaudi_card_clock_hertz", 1.65e9),
    ("clock_soc_max_mhz", 1750, "gaudi_card_clock_max_hertz", 1.75e9),
    ("memory_total_bytes", 1e11, "gaudi_card_memory_bytes", 1e11),
    ("memory_used_bytes", 0, "gaudi_card_memory_used_bytes", 0),
    ("utilization", 98, "gaudi_card_utilization_ratio", 0.98),
)
CASES += [
    Case("GaudiVendorExporterEmpty", True, "it answers without cards", {f"up{{{VENDOR}}}": steady(1, 10)}, 5),
    Case(
        "GaudiVendorExporterEmpty",
        False,
        "it tells of a card",
        {f"up{{{VENDOR}}}": steady(1, 10), f'habanalabs_device_config{{{VENDOR}, Serial="A1"}}': steady(1, 10)},
        5,
    ),
]

FIRING = '(count(ALERTS{{alertname="{alert}", alertstate="firing"{nodes}}}) > bool 0) or vector(0)'


def document(rules: str, alerts: Collection[str]) -> dict[str, Any]:
    """promtool's own file of tests for one file of rules, which has these alerts."""
    return {
        "rule_files": [rules],
        # Four times as often is four times the work, and no rule of these is about less than a minute.
        "evaluation_interval": "1m",
        "tests": [
            {
                "name": f"{case.alert}: {case.what}",
                "interval": f"{case.every_s}s",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "promql_expr_test": [
                    {
                        "expr": FIRING.format(alert=case.alert, nodes=nodes),
                        "eval_time": f"{case.minutes}m",
                        "exp_samples": [{"labels": "{}", "value": int(fires)}],
                    }
                    for nodes, fires in (
                        ("", case.fires),
                        *([(f', instance!="{case.node}"', False)] if case.node else []),
                    )
                ],
            }
            for case in CASES
            if case.alert in alerts
        ],
    }


def recorded(rules: str) -> dict[str, Any]:
    """The same for what rules make of the vendor's exporter, one value at a time beside a card that could be read, and
    beside a node that tells the same card twice."""
    labels = f'{VENDOR}, Serial="A1"'
    twice = [f'instance="gaudi-02", job="gaudi_vendor", Serial="B1", card="{card}"' for card in (0, 1)]
    everywhere = (labels, *twice)
    readable = [{"series": f"habanalabs_memory_total_bytes{{{one}}}", "values": steady(1e11, 5)} for one in everywhere]
    return {
        "rule_files": [rules],
        "evaluation_interval": f"{INTERVAL_S}s",
        "tests": [
            {
                "name": f"{said} {value}",
                "interval": f"{INTERVAL_S}s",
                "input_series": [
                    *([] if said == "memory_total_bytes" else readable),
                    *({"series": f"habanalabs_{said}{{{one}}}", "values": steady(value, 5)} for one in everywhere),
                ],
                "promql_expr_test": [
                    {
                        "expr": f'{name}{{instance="gaudi-01"}}',
                        "eval_time": "3m",
                        "exp_samples": []
                        if wanted is None
                        else [{"labels": f'{name}{{{labels}, card="A1"}}', "value": wanted}],
                    }
                ],
            }
            for said, value, name, wanted in OF_THE_VENDOR
        ],
    }
