# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What training a number of tokens costs on platforms whose figures you have measured.

    from gaudi3_scale.cost import CostAnalyzer

The report of one job on its own nodes is ``report_cost.yml``.
"""

from __future__ import annotations

from gaudi3_scale.cost.analyzer import CostAnalyzer
from gaudi3_scale.cost.comparison import CostComparison

__all__ = ["CostAnalyzer", "CostComparison"]
