# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A second program that nobody here wrote reads a libhlml.so: milabench's voir, through the vendor's wrapper.

``python voir_outsider.py LIBRARY [SELECTION]`` prints what it says of each card, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")
from pyhlml import hlml_types  # noqa: E402
from pyhlml.hlml_lib import LibHLML  # noqa: E402

with contextlib.redirect_stdout(sys.stderr):
    # It looks for readers of all makers' devices, and prints which of them lack their library.
    from voir.instruments.gpu import hpu


def main(library: str, selection: str = "") -> dict[str, Any]:
    # The path is fixed in the wrapper, as that of a node; here it is another one.
    LibHLML.__init__.__defaults__ = (library,)
    # Written for a wrapper that answers a number here, and not a structure, as those from 1.21 on do.
    hlml_types.c_hlml_utilization.__truediv__ = lambda rates, whole: rates.aip / whole
    reader = hpu.DeviceSMI()
    found: dict[str, Any] = reader.get_gpus_info(selection.split(",") if selection else None)
    reader.close()
    return {"arch": reader.arch, "cards": found}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])) + "\n")
