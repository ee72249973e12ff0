# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The checkout's files as the contract tests read them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
MODULES = sorted(path for path in (ROOT / "plugins" / "modules").glob("*.py") if path.name != "__init__.py")
CORE_ROOT = ROOT / "plugins" / "module_utils"
CORE = sorted(CORE_ROOT.rglob("*.py"))


@cache
def read_yaml(path: Path) -> Any:
    """The one document of a YAML file; an empty file is None. Who reads it changes nothing in it: it is read once."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def task_files(role: Path) -> list[Path]:
    return sorted(path for kind in ("tasks", "handlers") for path in (role / kind).rglob("*.yml"))


def tasks_in(node: Any) -> Iterator[dict[str, Any]]:
    """Every task below ``node``, blocks included and opened."""
    for entry in node or []:
        yield entry
        for part in ("block", "rescue", "always"):
            yield from tasks_in(entry.get(part))


def is_templated(value: object) -> bool:
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def name_of(path: Path) -> str:
    """How a parametrised test names a file."""
    return path.stem if path.suffix == ".py" else path.relative_to(ROOT).as_posix()
