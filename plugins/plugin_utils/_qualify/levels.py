# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How far each level goes between nodes. What a node does alone is in ``module_utils/_qualify/levels.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALL_ROUNDS = 0


@dataclass(frozen=True)
class Level:
    """``pair_rounds``: how many partners each node is measured with; ``ALL_ROUNDS``: every other node.

    ``training_steps`` and ``training_seconds`` at most of the last stage: the first steps of a graph take minutes.
    ``own_seconds``: how long a node may take for its own part, at most.
    ``compute``: words of ``gaudi3_scale.compute``.
    """

    pair_rounds: int
    training_steps: int
    training_seconds: int
    own_seconds: int
    compute: tuple[str, ...] = ()


# Two thirds of the memory of a Gaudi 2, half of that of a Gaudi 3.
_MEMORY = ("--memory-mib", "65536")

LEVELS: Mapping[str, Level] = {
    # Two partners tell a slow node from a slow link; the third one where one of them is slow itself.
    "quick": Level(3, 20, 600, 1800),
    "full": Level(ALL_ROUNDS, 100, 1200, 4 * 3600, _MEMORY),
    "burn_in": Level(ALL_ROUNDS, 500, 3600, 48 * 3600, (*_MEMORY, "--products", "400")),
}
