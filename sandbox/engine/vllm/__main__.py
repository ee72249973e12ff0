# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m vllm``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
