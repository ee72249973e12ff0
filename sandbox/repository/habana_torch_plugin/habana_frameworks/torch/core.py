# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated. The real module registers the device "hpu" with torch; simulated cards cannot compute."""


def mark_step(*_arguments: object, **_named: object) -> None:
    """Refuse: there is no graph to run."""
    raise RuntimeError("The cards of this sandbox are simulated and cannot compute; train with the device cpu.")
