# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""For each alert what has to raise it and what must not, as promtool's own test of rules has it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

INTERVAL_S = 15
PER_MINUTE = 60 // INTERVAL_S


@dataclass(frozen=True)
class Case:
    """``series`` are values of promtool's notation by metric, one each 15 s; looked at after so many ``minutes``."""

    alert: str
    fires: bool
    what: str
    series: dict[str, str]
    minutes: int


def steady(value: float, minutes: float) -> str:
    return f"{value}+0x{round(minutes * PER_MINUTE)}"


def rising(by: float, minutes: float, start: float = 0) -> str:
    """By so much a minute."""
    return f"{start}{by / PER_MINUTE:+}x{round(minutes * PER_MINUTE)}"


def card(metric: str, number: int = 0) -> str:
    return f'gaudi_card_{metric}{{instance="gaudi-01", card="{number}"}}'


def on_node(metric: str, more: str = "") -> str:
    return f'{metric}{{instance="gaudi-01"{more}}}'


def of_job(metric: str) -> str:
    return f'gaudi_job_{metric}{{instance="gaudi-01", training="llama"}}'


RUNNING = {of_job("running"): steady(1, 400)}
TRAINS = {**RUNNING, of_job("step_timestamp_seconds"): rising(60, 400)}
CLOCKS = {card("clock_max_hertz", number): steady(1.65e9, 60) for number in range(8)}
BUSY = {card("utilization_ratio", number): steady(0.98, 60) for number in range(8)}
FULL_SPEED = {card("clock_hertz", number): steady(1.65e9, 60) for number in range(8)}
PORTS = {
    on_node("gaudi_port_up", f', card="{number}", port="{port}"'): steady(1, 30)
    for number in range(8)
    for port in (8, 22, 23)
}
DISK = ', job="gaudi", mountpoint="/var", fstype="ext4"'
SIZE = {on_node("node_filesystem_size_bytes", DISK): steady(1e12, 200)}


def silent_since(minute: int, about: str) -> dict[str, str]:
    read = on_node("gaudi_collector_last_success_timestamp_seconds", f', about="{about}"')
    every = on_node("gaudi_collector_interval_seconds", f', about="{about}"')
    return {read: f"0+15x{minute * PER_MINUTE} {minute * 60}+0x{20 * PER_MINUTE}", every: steady(15, 60)}


CASES = [
    Case(
        *("GaudiCardMissing", True, "seven of eight"),
        {on_node("gaudi_cards_driven"): steady(7, 5), on_node("gaudi_cards_expected"): steady(8, 5)},
        1,
    ),
    Case(
        *("GaudiCardMissing", False, "all eight"),
        {on_node("gaudi_cards_driven"): steady(8, 5), on_node("gaudi_cards_expected"): steady(8, 5)},
        5,
    ),
    Case("GaudiCardNotOperational", True, "the driver says no", {card("operational"): steady(0, 5)}, 1),
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
        *("GaudiCardCorrectedErrorsGrow", True, "a quiet day, and then many"),
        {card("ecc_corrected_total"): f"{steady(5, 300)} {rising(2, 60, 5)}"},
        345,
    ),
    Case(
        *("GaudiCardCorrectedErrorsGrow", False, "as many each hour"),
        {card("ecc_corrected_total"): rising(0.1, 400)},
        390,
    ),
    Case("GaudiCardWasReset", True, "once", {card("resets_total"): f"{steady(0, 5)} {steady(1, 5)}"}, 7),
    Case("GaudiCardWasReset", False, "long ago", {card("resets_total"): steady(1, 60)}, 50),
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
        *("GaudiDriverDrift", True, "two releases"),
        {
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-01", release="1.24.1"}': steady(1, 60),
            'gaudi_node_driver_info{job="gaudi", instance="gaudi-02", release="1.23.0"}': steady(1, 60),
        },
        20,
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
        *("GaudiRecipeCacheFull", False, "no limit"),
        {
            on_node("gaudi_recipe_cache_bytes"): steady(7.6e9, 20),
            on_node("gaudi_recipe_cache_limit_bytes"): steady(0, 20),
            on_node("gaudi_cards_expected"): steady(8, 20),
        },
        15,
    ),
    Case(
        *("GaudiDiskFills", True, "40 % left, full in ten hours"),
        {**SIZE, on_node("node_filesystem_avail_bytes", DISK): rising(-4e11 / 600, 200, 4e11)},
        100,
    ),
    Case(
        *("GaudiDiskFills", False, "a checkpoint each hour, the old one removed"),
        {**SIZE, on_node("node_filesystem_avail_bytes", DISK): " ".join(["4e11+0x119 3.9e11+0x119"] * 3)},
        170,
    ),
    Case(
        *("GaudiJobStalled", True, "nothing for ten minutes after a step a minute"),
        {**RUNNING, of_job("step_timestamp_seconds"): f"{rising(60, 90)} 5400+0x200"},
        103,
    ),
    Case("GaudiJobStalled", False, "steps go on", TRAINS, 300),
    Case(
        *("GaudiJobStalled", False, "a slow one, with a line each ten minutes"),
        {**RUNNING, of_job("step_timestamp_seconds"): " ".join(f"{600 * turn}+0x39" for turn in range(1, 31))},
        250,
    ),
    Case(
        *("GaudiJobStalled", False, "it has ended"),
        {of_job("running"): steady(0, 400), of_job("step_timestamp_seconds"): steady(100, 400)},
        300,
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
        *("GaudiJobSlow", False, "it has always varied by more"),
        {**RUNNING, of_job("tokens_per_second"): " ".join(["1e6 0.7e6 1.2e6 0.9e6"] * 400)},
        300,
    ),
    Case(
        "GaudiJobWaitsForData", True, "a tenth of a step", {**RUNNING, of_job("data_wait_ratio"): steady(0.1, 60)}, 30
    ),
    Case("GaudiJobWaitsForData", False, "a hundredth", {**RUNNING, of_job("data_wait_ratio"): steady(0.01, 60)}, 30),
    Case("GaudiJobLossIsNoNumber", True, "NaN", {**RUNNING, of_job("loss"): " ".join(["3.2"] * 8 + ["NaN"] * 20)}, 5),
    Case("GaudiJobLossIsNoNumber", False, "a loss", {**RUNNING, of_job("loss"): steady(3.2, 20)}, 15),
    Case(
        *("GaudiCheckpointOld", True, "none for two hours after one each half hour"),
        {
            **RUNNING,
            of_job("started_timestamp_seconds"): steady(0, 400),
            of_job("checkpoint_timestamp_seconds"): " ".join(
                [f"{1800 * turn}+0x119" for turn in range(1, 5)] + ["7200+0x600"]
            ),
        },
        265,
    ),
    Case(
        *("GaudiCheckpointOld", False, "one each half hour"),
        {
            **RUNNING,
            of_job("started_timestamp_seconds"): steady(0, 400),
            of_job("checkpoint_timestamp_seconds"): " ".join(f"{1800 * turn}+0x119" for turn in range(1, 13)),
        },
        350,
    ),
    Case("GaudiJobRestarts", True, "each ten minutes", {of_job("restarts_total"): rising(0.1, 60)}, 55),
    Case(
        "GaudiJobRestarts",
        False,
        "one that was planned",
        {of_job("restarts_total"): f"{steady(0, 20)} {steady(1, 60)}"},
        60,
    ),
]

VENDOR = 'instance="gaudi-01", job="gaudi_vendor"'
# What the vendor's exporter says -> what its rule makes of it; nothing of a 0 that it says where it could not read.
OF_THE_VENDOR = (
    ("temperature_onchip", 61, "gaudi_card_temperature_celsius", 61),
    ("temperature_onchip", 0, "gaudi_card_temperature_celsius", None),
    ("temperature_threshold_slowdown", 100, "gaudi_card_temperature_limit_celsius", 100),
    ("power_mW", 412000, "gaudi_card_power_watts", 412),
    ("power_mW", 0, "gaudi_card_power_watts", None),
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

FIRING = '(count(ALERTS{{alertname="{alert}", alertstate="firing"}}) > bool 0) or vector(0)'


def document(rules: str, alerts: Collection[str]) -> dict[str, Any]:
    """promtool's own file of tests for one file of rules, which has these alerts."""
    return {
        "rule_files": [rules],
        # Four times as often is four times the work, and no rule of these is about less than a minute.
        "evaluation_interval": "1m",
        "tests": [
            {
                "name": f"{case.alert}: {case.what}",
                "interval": f"{INTERVAL_S}s",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "promql_expr_test": [
                    {
                        "expr": FIRING.format(alert=case.alert),
                        "eval_time": f"{case.minutes}m",
                        "exp_samples": [{"labels": "{}", "value": int(case.fires)}],
                    }
                ],
            }
            for case in CASES
            if case.alert in alerts
        ],
    }


def recorded(rules: str) -> dict[str, Any]:
    """The same for what rules make of the vendor's exporter, one value at a time beside a card that could be read."""
    labels = f'{VENDOR}, Serial="A1"'
    readable = {"series": f"habanalabs_memory_total_bytes{{{labels}}}", "values": steady(1e11, 5)}
    return {
        "rule_files": [rules],
        "evaluation_interval": f"{INTERVAL_S}s",
        "tests": [
            {
                "name": f"{said} {value}",
                "interval": f"{INTERVAL_S}s",
                "input_series": [
                    *([] if said == "memory_total_bytes" else [readable]),
                    {"series": f"habanalabs_{said}{{{labels}}}", "values": steady(value, 5)},
                ],
                "promql_expr_test": [
                    {
                        "expr": name,
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
