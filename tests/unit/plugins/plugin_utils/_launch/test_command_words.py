# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.command_words import command_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/srv/train.py --max-steps 200", ["/srv/train.py", "--max-steps", "200"]),
        ("-m train --note 'two words' \"a $HOME\"", ["-m", "train", "--note", "two words", "a $HOME"]),
        ("/srv/ünï.py  a\\ b", ["/srv/ünï.py", "a b"]),
        ("", []),
        (["/srv/two words.py", 7], ["/srv/two words.py", "7"]),
        ([], []),
    ],
)
def test_a_line_is_split_as_a_shell_splits_it_and_a_list_is_not(command: object, words: list[str]) -> None:
    assert command_words(command, "x") == words  # type: ignore[arg-type]


@pytest.mark.parametrize("command", ["/srv/train.py 'two words", '"', "a \\"])
def test_what_nothing_closes_is_refused(command: str) -> None:
    with pytest.raises(GaudiError, match=r"^gaudi_training_command is .*; close it, or give a list of words\.$"):
        command_words(command, "gaudi_training_command")
