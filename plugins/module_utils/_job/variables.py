# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Variables of an environment as an option gives them: texts and numbers, and nothing that YAML made of a text."""

from __future__ import annotations

from typing import Any, Mapping

from .._errors import GaudiError


def variables_from(option: str, given: Mapping[Any, Any]) -> dict[str, str]:
    """Each variable as a text; raises GaudiError for a value of which nobody knows which text was meant.

    Of ``true``, ``yes`` and ``on`` YAML makes one boolean, and a program compares texts: as with Compose and Kubernetes
    it is for the operator to quote it.
    """
    return {str(name): _text(option, str(name), value) for name, value in given.items()}


def _text(option: str, name: str, value: Any) -> str:
    if isinstance(value, bool):
        meant = "true, yes or on" if value else "false, no or off"
        raise GaudiError(
            f"{option}: {name} is {str(value).lower()} without quotes, as YAML reads {meant}; quote what the "
            f'program should get, as {name}: "{str(value).lower()}" or {name}: "{int(value)}".',
        )
    if value is None:
        raise GaudiError(f'{option}: {name} has no value; give "" for an empty one, or remove it.')
    if not isinstance(value, (str, int, float)):
        kind = "a mapping" if isinstance(value, Mapping) else "a list"
        raise GaudiError(f"{option}: {name} is {kind}, but a variable is text; quote it.")
    return str(value)
