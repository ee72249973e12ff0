# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What each dashboard shows: questions to Prometheus, in the words of docs/monitoring.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NUMBER, CURVE, TABLE = "stat", "timeseries", "table"
# Grafana's names of units.
WATTS, CELSIUS, HERTZ, BYTES, PART, SECONDS, PLAIN = "watt", "celsius", "hertz", "bytes", "percentunit", "s", "short"

NODE, JOB, SERVING = 'instance="$node"', 'training="$training"', 'serving="$serving"'
# Nodes on which the chosen training runs; its series has the names of both.
OF_JOB = f"* on (instance) group_left (training) (gaudi_job_running{{{JOB}}} == 1)"

# Of all nodes: those on which nothing trains or serves; the power of each training's; energy and unknown time of a day.
BUSY = "max by (instance) (gaudi_job_running) == 1 or max by (instance) (gaudi_server_running) == 1"
IDLE = f"(count(gaudi_cards_expected) - (count({BUSY}) or vector(0)))"
TRAINS = "on (instance) group_left (training) (gaudi_job_running == 1)"
RATE = "on (training) max by (training) (gaudi_job_tokens_per_second)"
KWH = "sum(increase(gaudi_card_energy_joules_total[1d])) / 3.6e6"
SERVING_RATE = f"rate(gaudi_server_generated_tokens_total{{{SERVING}}}[5m])"
SERVING_WATTS = (
    "sum by (instance, serving) (gaudi_card_power_watts * on (instance, card) group_right ()"
    f" gaudi_server_card{{{SERVING}}})"
)
UNKNOWN = (
    "sum(increase(gaudi_card_energy_gap_seconds_total[1d])) / (count(gaudi_card_energy_gap_seconds_total) * 86400)"
)


def _p95(name: str) -> str:
    """Of a histogram of the chosen serving, by node."""
    rate = f"sum by (instance, le) (rate(gaudi_server_{name}_seconds_bucket{{{SERVING}}}[5m]))"
    return f"histogram_quantile(0.95, {rate})"


@dataclass(frozen=True)
class Panel:
    """``width`` of 24 columns. A question with its legend in Grafana's braces, empty where there is one value."""

    title: str
    kind: str
    questions: Sequence[tuple[str, str]]
    unit: str = PLAIN
    width: int = 12
    about: str = ""


@dataclass(frozen=True)
class Chosen:
    """What a reader chooses at the top: the values that ``label`` has in ``metric``; or, without one, types in."""

    name: str
    title: str
    metric: str = ""
    label: str = ""
    typed: str = ""


@dataclass(frozen=True)
class Dashboard:
    """``name`` is that of its file and its address in Grafana."""

    name: str
    title: str
    panels: Sequence[Panel]
    chosen: Sequence[Chosen] = ()


FLEET = Dashboard(
    "gaudi_fleet",
    "Gaudi: fleet",
    (
        Panel("Nodes that answer", NUMBER, [('sum(up{job="gaudi"})', "")], width=4),
        Panel("Cards that work", NUMBER, [("sum(gaudi_card_operational)", "")], width=4),
        Panel(
            "Cards missing",
            NUMBER,
            [("sum(gaudi_cards_expected - gaudi_cards_present)", "")],
            width=4,
            about="Not on the PCI bus. The alert GaudiCardMissing names node and card.",
        ),
        Panel("In quarantine", NUMBER, [("sum(gaudi_node_quarantined)", "")], width=4),
        Panel("Trainings", NUMBER, [("count(max by (training) (gaudi_job_running) == 1) or vector(0)", "")], width=4),
        Panel("Power of all cards", NUMBER, [("sum(gaudi_card_power_watts)", "")], WATTS, 4),
        Panel(
            "Alerts",
            TABLE,
            [('ALERTS{alertstate="firing"}', "")],
            width=24,
            about="What to run for each is in its annotations, in Alertmanager.",
        ),
        Panel(
            "Hottest card of each node",
            CURVE,
            [("max by (instance) (gaudi_card_temperature_celsius)", "{{instance}}")],
            CELSIUS,
        ),
        Panel("Utilization", CURVE, [("avg by (instance) (gaudi_card_utilization_ratio)", "{{instance}}")], PART),
        Panel(
            "Power of each node's cards", CURVE, [("sum by (instance) (gaudi_card_power_watts)", "{{instance}}")], WATTS
        ),
        Panel(
            "External ports without a link",
            CURVE,
            [("sum by (instance) (1 - gaudi_port_up)", "{{instance}}")],
        ),
        Panel("Drivers", TABLE, [("count by (release) (gaudi_node_driver_info)", "")]),
        Panel("Firmware", TABLE, [("count by (board, firmware) (gaudi_card_info)", "")]),
    ),
)

NODES = Dashboard(
    "gaudi_node",
    "Gaudi: node",
    (
        Panel("Cards that work", NUMBER, [(f"sum(gaudi_card_operational{{{NODE}}})", "")], width=4),
        Panel("Ports with a link", NUMBER, [(f"sum(gaudi_port_up{{{NODE}}})", "")], width=4),
        Panel("In quarantine", NUMBER, [(f"gaudi_node_quarantined{{{NODE}}}", "")], width=4),
        Panel(
            "Age of what the cards said",
            NUMBER,
            [(f'time() - gaudi_collector_last_success_timestamp_seconds{{{NODE}, about="cards"}}', "")],
            SECONDS,
            4,
            "Grows where hl-smi hangs.",
        ),
        Panel(
            "Energy of a day",
            NUMBER,
            [(f"sum(increase(gaudi_card_energy_joules_total{{{NODE}}}[1d])) / 3.6e6", "")],
            "kwatth",
            4,
        ),
        Panel("Resets by the driver", NUMBER, [(f"sum(gaudi_card_resets_total{{{NODE}}})", "")], width=4),
        Panel(
            "Temperature",
            CURVE,
            [
                (f"gaudi_card_temperature_celsius{{{NODE}}}", "card {{card}}"),
                (f"min(gaudi_card_temperature_limit_celsius{{{NODE}}})", "limit"),
            ],
            CELSIUS,
        ),
        Panel(
            "Power",
            CURVE,
            [
                (f"gaudi_card_power_watts{{{NODE}}}", "card {{card}}"),
                (f"min(gaudi_card_power_limit_watts{{{NODE}}})", "limit"),
            ],
            WATTS,
        ),
        Panel("Utilization", CURVE, [(f"gaudi_card_utilization_ratio{{{NODE}}}", "card {{card}}")], PART),
        Panel("Clock", CURVE, [(f"gaudi_card_clock_hertz{{{NODE}}}", "card {{card}}")], HERTZ),
        Panel("Memory of the cards", CURVE, [(f"gaudi_card_memory_used_bytes{{{NODE}}}", "card {{card}}")], BYTES),
        Panel(
            "Errors of memory",
            CURVE,
            [
                (f"gaudi_card_ecc_corrected_total{{{NODE}}}", "corrected, card {{card}}"),
                (f"gaudi_card_ecc_uncorrected_total{{{NODE}}}", "uncorrected, card {{card}}"),
            ],
        ),
        Panel(
            "Links that came and went",
            CURVE,
            [(f"sum by (card) (increase(gaudi_port_carrier_changes_total{{{NODE}}}[1h]))", "card {{card}}")],
        ),
        Panel(
            "Processors",
            CURVE,
            [(f'1 - avg(rate(node_cpu_seconds_total{{{NODE}, mode="idle"}}[5m]))', "busy")],
            PART,
        ),
        Panel("Memory of the node", CURVE, [(f"node_memory_MemAvailable_bytes{{{NODE}}}", "available")], BYTES),
        Panel(
            "Disks",
            CURVE,
            [(f'node_filesystem_avail_bytes{{{NODE}, fstype!~"tmpfs|overlay"}}', "{{mountpoint}}")],
            BYTES,
        ),
    ),
    (Chosen("node", "Node", "gaudi_cards_expected", "instance"),),
)

JOBS = Dashboard(
    "gaudi_job",
    "Gaudi: training",
    (
        Panel("Step", NUMBER, [(f"max(gaudi_job_step{{{JOB}}})", "")], width=4),
        Panel("Of", NUMBER, [(f"max(gaudi_job_steps{{{JOB}}})", "")], width=4),
        Panel("Nodes", NUMBER, [(f"sum(gaudi_job_running{{{JOB}}})", "")], width=4),
        Panel(
            "Since the last step",
            NUMBER,
            [(f"time() - max(gaudi_job_step_timestamp_seconds{{{JOB}}})", "")],
            SECONDS,
            4,
        ),
        Panel(
            "Age of the checkpoint",
            NUMBER,
            [(f"time() - max(gaudi_job_checkpoint_timestamp_seconds{{{JOB}}})", "")],
            SECONDS,
            4,
        ),
        Panel("Restarts", NUMBER, [(f"max(gaudi_job_restarts_total{{{JOB}}})", "")], width=4),
        Panel("Loss", CURVE, [(f"gaudi_job_loss{{{JOB}}}", "loss")]),
        Panel("Tokens a second", CURVE, [(f"gaudi_job_tokens_per_second{{{JOB}}}", "tokens/s")]),
        Panel(
            "Waits for data and for other ranks",
            CURVE,
            [
                (f"gaudi_job_data_wait_ratio{{{JOB}}}", "data, part of a step"),
                (f"gaudi_job_communication_ratio{{{JOB}}}", "communication, part of a step"),
            ],
            PART,
        ),
        Panel("Norm of the gradients", CURVE, [(f"gaudi_job_gradient_norm{{{JOB}}}", "before clipping")]),
        Panel("Share of the cards' peak", CURVE, [(f"gaudi_job_mfu_ratio{{{JOB}}}", "model FLOPs utilization")], PART),
        Panel(
            "Memory of the fullest rank",
            CURVE,
            [
                (f"gaudi_job_memory_used_bytes{{{JOB}}}", "highest so far"),
                (f"gaudi_job_memory_limit_bytes{{{JOB}}}", "limit of a card"),
            ],
            BYTES,
        ),
        Panel(
            "What that memory is used for",
            CURVE,
            [(f"gaudi_job_memory_part_bytes{{{JOB}}}", "{{part}}")],
            BYTES,
        ),
        Panel(
            "Graphs that were compiled",
            CURVE,
            [
                (f"gaudi_job_graph_compilations_total{{{JOB}}}", "compiled"),
                (f"gaudi_job_recipe_cache_hits_total{{{JOB}}}", "found in the recipe cache"),
                (f"gaudi_job_recipe_cache_misses_total{{{JOB}}}", "not found"),
            ],
        ),
        Panel(
            "Utilization of its nodes",
            CURVE,
            [(f"avg by (instance) (gaudi_card_utilization_ratio {OF_JOB})", "{{instance}}")],
            PART,
        ),
        Panel(
            "Power of its nodes",
            CURVE,
            [(f"sum by (instance) (gaudi_card_power_watts {OF_JOB})", "{{instance}}")],
            WATTS,
        ),
        Panel(
            "Hottest card of its nodes",
            CURVE,
            [(f"max by (instance) (gaudi_card_temperature_celsius {OF_JOB})", "{{instance}}")],
            CELSIUS,
        ),
    ),
    (Chosen("training", "Training", "gaudi_job_info", "training"),),
)

COST = Dashboard(
    "gaudi_cost",
    "Gaudi: energy and cost",
    (
        Panel(
            "Energy of the last day",
            NUMBER,
            [(KWH, "")],
            "kwatth",
            6,
        ),
        Panel(
            "What it cost",
            NUMBER,
            [(f"{KWH} * $kwh * $pue", "")],
            width=6,
            about="In the currency of the price of a kWh that is typed in above.",
        ),
        Panel(
            "Time of which nobody knows the power",
            NUMBER,
            [
                (
                    UNKNOWN,
                    "",
                )
            ],
            PART,
            6,
            "It is in no energy.",
        ),
        Panel(
            "Nodes without a training or serving",
            NUMBER,
            [(IDLE, "")],
            width=6,
        ),
        Panel(
            "What they cost an hour",
            NUMBER,
            [
                (
                    f"{IDLE} * $node_hour",
                    "",
                )
            ],
            width=6,
        ),
        Panel(
            "Power with and without a training",
            CURVE,
            [
                ("sum(gaudi_card_power_watts and on (instance) (gaudi_job_running == 1)) or vector(0)", "trains"),
                ("sum(gaudi_card_power_watts unless on (instance) (gaudi_job_running == 1)) or vector(0)", "idle"),
            ],
            WATTS,
            18,
        ),
        Panel(
            "Joules a token",
            CURVE,
            [
                (
                    f"sum by (training) (gaudi_card_power_watts * {TRAINS}) / {RATE}",
                    "{{training}}",
                )
            ],
        ),
        Panel(
            "A million tokens",
            CURVE,
            [
                (
                    f"$node_hour / 3600 * 1e6 * sum by (training) (gaudi_job_running == 1) / {RATE}",
                    "{{training}}",
                )
            ],
            about="Nodes alone; report_cost.yml has the cost of a whole training, restarts and energy too.",
        ),
    ),
    (
        Chosen("kwh", "Price of a kWh", typed="0"),
        Chosen("pue", "PUE", typed="1"),
        Chosen("node_hour", "Price of a node hour", typed="0"),
    ),
)

SERVINGS = Dashboard(
    "gaudi_serving",
    "Gaudi: serving",
    (
        Panel("Instances that answer", NUMBER, [(f"sum(gaudi_server_answers{{{SERVING}}})", "")], width=6),
        Panel("Instances", NUMBER, [(f"count(gaudi_server_running{{{SERVING}}})", "")], width=6),
        Panel("Requests that wait", NUMBER, [(f"sum(gaudi_server_requests_waiting{{{SERVING}}})", "")], width=6),
        Panel("Requests that run", NUMBER, [(f"sum(gaudi_server_requests_running{{{SERVING}}})", "")], width=6),
        Panel("First token, 95th percentile", CURVE, [(_p95("first_token"), "{{instance}}")], SECONDS),
        Panel("Between tokens, 95th percentile", CURVE, [(_p95("between_tokens"), "{{instance}}")], SECONDS),
        Panel(
            "Tokens a second",
            CURVE,
            [(SERVING_RATE, "{{instance}}")],
        ),
        Panel("KV cache in use", CURVE, [(f"gaudi_server_cache_ratio{{{SERVING}}}", "{{instance}}")], PART),
        Panel(
            "Requests by how they ended",
            CURVE,
            [(f"sum by (reason) (rate(gaudi_server_requests_total{{{SERVING}}}[5m]))", "{{reason}}")],
        ),
        Panel(
            "Joules a token",
            CURVE,
            [
                (
                    f"{SERVING_WATTS} / on (instance, serving) ({SERVING_RATE} > 0)",
                    "{{instance}}",
                )
            ],
            about="Of the cards of each instance; report_cost.yml has the cost of all that it answered.",
        ),
    ),
    (Chosen("serving", "Instance", "gaudi_server_info", "serving"),),
)

DASHBOARDS = (FLEET, NODES, JOBS, COST, SERVINGS)
