# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_words import in_role_words

OPTIONS = frozenset(
    f"gaudi_training_{name}" for name in ("rendezvous_port", "control_port", "replace", "slurm", "command", "user")
)


@pytest.mark.parametrize(
    ("said", "in_words"),
    [
        ("rendezvous_port 29500 is in use by x; …", "gaudi_training_rendezvous_port 29500 is in use by x; …"),
        ("supervision.control_port 29501 (UDP) is …", "gaudi_training_control_port 29501 (UDP) is …"),
        ("slurm.nodes is 'x'; …", "gaudi_training_slurm.nodes is 'x'; …"),
        ("command: there is no script", "gaudi_training_command: there is no script"),
        ("job a is running; …, or set replace: true.", "job a is running; …, or set gaudi_training_replace=true."),
        ("user a (gaudi_training_user) does not", "gaudi_training_user a does not"),
        ("no such user; correct user or ask", "no such user; correct gaudi_training_user or ask"),
        (
            "it has none; correct slurm or command, or wait.",
            "it has none; correct gaudi_training_slurm or gaudi_training_command, or wait.",
        ),
        ("too few; lower replace.", "too few; lower gaudi_training_replace."),
        ("correct the command, or raise it", "correct the command, or raise it"),
        # A word that is no option of the role, or that stands elsewhere.
        ("cards are missing", "cards are missing"),
        ("the command is empty", "the command is empty"),
        ("commands differ", "commands differ"),
        ("set stop: true", "set stop: true"),
    ],
)
def test_a_refusal_names_the_option_as_the_operator_wrote_it(said, in_words):
    assert in_role_words(said, "gaudi_training_", OPTIONS) == in_words


@pytest.mark.parametrize(
    ("said", "in_words"),
    [
        ("cards is 9; give 8.", "gaudi_cards_per_node is 9; give 8."),
        ("it needs a reboot; set allow_reboot: true", "it needs a reboot; set gaudi_allow_reboot=true"),
        ("other is 9.", "other is 9."),
    ],
)
def test_an_option_of_the_whole_collection_is_named_as_the_operator_has_it(said: str, in_words: str) -> None:
    shared = {"cards": "gaudi_cards_per_node", "allow_reboot": "gaudi_allow_reboot"}
    assert in_role_words(said, "gaudi_preflight_", [], shared) == in_words
