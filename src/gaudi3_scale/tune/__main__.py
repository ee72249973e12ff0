# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m gaudi3_scale.tune``."""

from __future__ import annotations

from gaudi3_scale.tune.commands import main

if __name__ == "__main__":
    main()
