# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible's own engine of templates, of whichever ansible-core is here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible import template
from ansible.parsing.dataloader import DataLoader

LEFT_OUT = object()
_OMIT = "__left_out__"


def trusted(value: Any) -> Any:
    """As Ansible reads it of a playbook: before ansible-core 2.19 every text may be a template."""
    if isinstance(value, str) and hasattr(template, "trust_as_template"):
        return template.trust_as_template(value)
    return value


def is_trusted(value: object) -> bool:
    return not hasattr(template, "is_trusted_as_template") or template.is_trusted_as_template(value)


def filled_in(text: str, variables: Mapping[str, Any]) -> Any:
    """What the template comes to; ``LEFT_OUT`` where that is nothing, as ``omit`` says it."""
    known = {name: trusted(value) for name, value in variables.items()}
    if hasattr(template, "trust_as_template"):
        from ansible.errors import AnsibleValueOmittedError

        try:
            return template.Templar(DataLoader(), variables=known).template(trusted(text))
        except AnsibleValueOmittedError:
            return LEFT_OUT
    made = template.Templar(DataLoader(), variables={"omit": _OMIT, **known}).template(text)
    return LEFT_OUT if made == _OMIT else made


def is_same(made: Any, value: object) -> bool:
    """Whether what was filled in is ``value``, as far as the engine can say so.

    Before ansible-core 2.19 an expression's number is a text, and nothing is an empty one; an option's type mends that.
    """
    if hasattr(template, "trust_as_template"):
        # A number of 1 is not the word true.
        return bool((made, isinstance(made, bool)) == (value, isinstance(value, bool)))
    return _as_text(made) == _as_text(value)


def _as_text(value: object) -> object:
    if value is None:
        return ""
    return str(value) if isinstance(value, (int, float)) else value
