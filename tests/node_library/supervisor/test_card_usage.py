# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

from gaudi3_scale.supervisor.card_usage import ask_cards

SAID = """bus_id, module_id, memory.used [MiB], utilization.aip [%], power.draw [W]
0000:43:00.0, 5, 672 MiB, 0 %, 226 W
0000:33:00.0, 1, 61440 MiB, 97 %, N/A
"""


def answering(text):
    asked = []

    def run(argv, *, timeout=None, env=None):
        asked.append((list(argv), timeout))
        return CommandResult(0, text, "")

    return run, asked


def test_a_value_a_card_in_the_order_of_the_modules():
    run, asked = answering(SAID)
    assert ask_cards(run, 9.0) == {
        "utilization": [97, 0],
        "memory_bytes": [61440 << 20, 672 << 20],
        "watts": [None, 226],
    }
    fields = "bus_id,module_id,memory.used,utilization.aip,power.draw"
    assert asked == [(["hl-smi", "-Q", fields, "-f", "csv"], 9.0)]


def test_no_answer_is_no_cards():
    assert ask_cards(answering("hl-smi: no device")[0], 9.0) == {}


def test_the_cards_of_another_job_are_not_this_one_s():
    assert ask_cards(answering(SAID)[0], 9.0, (5, 7)) == {
        "utilization": [0],
        "memory_bytes": [672 << 20],
        "watts": [226],
    }
    assert ask_cards(answering(SAID)[0], 9.0, (7,)) == {}
