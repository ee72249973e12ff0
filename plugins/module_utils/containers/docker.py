# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The runtime in Docker's daemon.json, which belongs to the operator: merged, never replaced. Pure text."""

from __future__ import annotations

import json

from ..errors import GaudiError
from .json_edit import set_member

CONFIGURATION = "docker/daemon.json"


def daemon_json(text: str | None, path: str, *, name: str, program: str, default: bool) -> str:
    """``text`` (of the file ``path``) with the runtime ``name`` at ``program``; the same text where it has it."""
    merged = text if text is not None and text.strip() else "{\n}\n"
    runtimes = _object(_parse(merged, path), "runtimes", path)
    runtime = _object(runtimes, name, path, "runtimes.")
    if "runtimeType" in runtime:
        raise GaudiError(
            f"{path}: runtimes.{name} has a runtimeType, which excludes the path of the vendor's runtime; remove it.",
            file=path,
        )
    if runtime.get("path") != program:
        merged = set_member(merged, ("runtimes", name, "path"), program)
    if default and _parse(merged, path).get("default-runtime") != name:
        merged = set_member(merged, ("default-runtime",), name)
    return merged


def _parse(text: str, path: str) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise GaudiError(f"{path} is not JSON ({error}); correct it, nothing was changed.", file=path) from error
    if not isinstance(parsed, dict):
        raise GaudiError(f"{path} holds no JSON object; put its content into {{ }}, nothing was changed.", file=path)
    return parsed


def _object(parent: dict[str, object], key: str, path: str, where: str = "") -> dict[str, object]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise GaudiError(f"{path}: {where}{key} is not an object; correct it, nothing was changed.", file=path)
    return value
