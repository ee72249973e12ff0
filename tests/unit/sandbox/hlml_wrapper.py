# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the vendor's Python wrapper of HLML, habana-pyhlml, says of the library's binary interface, as data.

``python -m tests.unit.sandbox.hlml_wrapper DIRECTORY...`` prints it of unpacked wheels, each named as its version:
that is what fixtures/hlml/wrappers.json holds. No line of the wrapper is in it.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

FUNCTION = re.compile(r"get_func_ptr\(\s*\"(\w+)\"")


def described(types: ModuleType, main: Path) -> dict[str, Any]:
    """Structures with their sizes and fields (name, offset, bytes), numbers by class, and names of functions."""
    named = {name: one for name, one in vars(types).items() if isinstance(one, type)}
    return {
        "structures": {
            name.removeprefix("c_hlml_"): {"size": ctypes.sizeof(one), "fields": list(_fields(one))}
            for name, one in sorted(named.items())
            if name.startswith("c_hlml_")
        },
        "numbers": {
            f"{name}.{key}": int(value)
            for name, one in sorted(named.items())
            for key, value in sorted(vars(one).items())
            if isinstance(value, int) and not key.startswith("_")
        },
        "functions": sorted(set(FUNCTION.findall(main.read_text(encoding="utf-8")))),
    }


def _fields(structure: Any, start: int = 0, prefix: str = "") -> Any:
    for name, kind in structure._fields_:
        at = getattr(structure, name)
        if issubclass(kind, ctypes.Structure):
            yield from _fields(kind, start + at.offset, f"{prefix}{name}.")
        else:
            yield [prefix + name, start + at.offset, at.size]


def _of(directory: str) -> Any:
    """Each in a process of its own: all have the same name."""
    program = (
        "import json, sys, warnings; from pathlib import Path; warnings.simplefilter('ignore');"
        "from tests.unit.sandbox.hlml_wrapper import described; sys.path.insert(0, sys.argv[1]);"
        "from pyhlml import hlml_types; print(json.dumps(described(hlml_types, Path(sys.argv[1], 'pyhlml/main.py'))))"
    )
    return json.loads(subprocess.run([sys.executable, "-c", program, directory], stdout=-1, check=True).stdout)


if __name__ == "__main__":
    found = {Path(directory).name: _of(directory) for directory in sys.argv[1:]}
    sys.stdout.write(json.dumps(found, sort_keys=True) + "\n")
