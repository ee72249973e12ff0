# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulation by the name that its tests know; it is in :mod:`tests.unit.supervised_network`."""

from __future__ import annotations

from gaudi3_scale.supervisor.generation import END, RUN, WAIT
from tests.unit.supervised_network.simulation import Simulation

__all__ = ["END", "RUN", "WAIT", "Simulation"]
