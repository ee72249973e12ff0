# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a job's unit runs on each node: ``python -I -m gaudi3_scale.supervisor SUPERVISION.json``."""

from __future__ import annotations

import sys

from gaudi3_scale.supervisor.loop import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
