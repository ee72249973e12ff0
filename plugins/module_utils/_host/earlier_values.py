# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the kernel had before a setting of ours was first made, so that taking the setting away brings it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .._errors import GaudiError
from .._node.json_file import parse_json
from .._node.lock import state_beside
from .._node.rendered_files import WantedFile, pending, read_text, write
from .kernel.values import read_value, value_difference, write_value
from .node import Node

FILE = "host_values.json"


def remember(node: Node, setting: str, values: Mapping[str, str]) -> None:
    """Keep ``values`` (by path, or whatever the setting knows them by), unless an earlier run kept some."""
    kept = _read(node)
    if values and setting not in kept:
        _write(node, {**kept, setting: dict(values)})


def recall(node: Node, setting: str) -> dict[str, str]:
    """What was kept for ``setting``; empty where nothing was."""
    return _read(node).get(setting, {})


def forget(node: Node, setting: str) -> None:
    """The setting is no longer ours."""
    kept = _read(node)
    if setting in kept:
        _write(node, {name: values for name, values in kept.items() if name != setting})


def restore_files(node: Node, setting: str, check_mode: bool) -> list[dict[str, str]]:
    """Write the kept values of ``setting`` back into the kernel's files that are still there; the steps."""
    steps = []
    for path, value in recall(node, setting).items():
        current = read_value(path)
        if current is None or current == value:
            continue
        steps.append(value_difference(path, current, value))
        if not check_mode:
            write_value(path, value)
    if not check_mode:
        forget(node, setting)
    return steps


def _file(node: Node) -> str:
    return str(Path(state_beside(node.etc), FILE))


def _read(node: Node) -> dict[str, dict[str, str]]:
    text = read_text(_file(node))
    if text is None:
        return {}
    try:
        kept = parse_json(text)
        return {str(name): {str(path): str(value) for path, value in kept[name].items()} for name in kept}
    except (ValueError, TypeError, AttributeError) as error:
        raise GaudiError(
            f"{_file(node)} is not what this collection wrote ({error}); remove it, and the next boot restores the "
            "kernel's own values."
        ) from error


def _write(node: Node, kept: Mapping[str, Mapping[str, str]]) -> None:
    text = json.dumps(kept, indent=1, sort_keys=True) + "\n" if kept else None
    for change in pending([WantedFile(_file(node), text, 0o600)]):
        write(change)
