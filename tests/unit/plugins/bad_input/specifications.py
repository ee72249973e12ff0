# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What each module declares, taken from the module itself, so that a new option is attacked the day it is born."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins import modules
from ansible_collections.gaudi3.scale.plugins.module_utils._node import module_run

HERE = "ansible_collections.gaudi3.scale.plugins.modules"
NAMES = sorted({path.stem for place in modules.__path__ for path in Path(place).glob("[a-z]*.py")})


class _DeclaredError(BaseException):
    """Ends a module where it has declared its options."""


@dataclass(frozen=True)
class Specification:
    """A module's argument_spec, and which options it excepts at the door (``text``, ``empty``, ``signed``)."""

    options: dict[str, dict[str, Any]]
    exceptions: dict[str, tuple[str, ...]] = field(default_factory=dict)


def specification(name: str) -> Specification | None:
    """None for a module whose code is an action plugin's."""
    module = importlib.import_module(f"{HERE}.{name}")
    if not hasattr(module, "main"):
        return None
    taken: dict[str, Any] = {}

    class Declaring:
        check_mode = False

        def __init__(self, argument_spec: dict[str, dict[str, Any]], **_: object) -> None:
            taken["options"] = self.argument_spec = argument_spec
            self.params = {option: rules.get("default") for option, rules in argument_spec.items()}

    def door(_given: object, _spec: object, **exceptions: tuple[str, ...]) -> None:
        taken["exceptions"] = exceptions
        raise _DeclaredError

    real, real_door = module.AnsibleModule, module_run.checked
    module.AnsibleModule, module_run.checked = Declaring, door
    try:
        module.main()
    except _DeclaredError:
        return Specification(**taken)
    finally:
        module.AnsibleModule, module_run.checked = real, real_door
    raise AssertionError(f"{name} does not check its options at the door")
