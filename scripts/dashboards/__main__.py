# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.dashboards``: writes the dashboards that ``gaudi_monitoring`` gives a Grafana."""

from __future__ import annotations

import sys

from .document import PLACE, ROOT, render
from .panels import DASHBOARDS


def main() -> int:
    for dashboard in DASHBOARDS:
        target, text = PLACE / f"{dashboard.name}.json", render(dashboard)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{target.relative_to(ROOT)} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
