# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is done on a node before a job: ``gaudi3_scale data prepare|check|workers``, or ``python -m gaudi3_scale …``."""

from __future__ import annotations

import sys

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.commands import parse_command


def main() -> int:
    try:
        options = parse_command(sys.argv[1:])
        status: int = options.run(options)
        return status
    except GaudiError as error:
        sys.stderr.write(f"gaudi3_scale: {error}\n")
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
