# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The runtime in Docker's daemon.json, which belongs to the operator: merged, never replaced. Pure text."""

from __future__ import annotations

from .._errors import GaudiError
from .._node.json_file import parse_json
from .cdi import DIRECTORY
from .json_edit import set_member

CONFIGURATION = "docker/daemon.json"


def daemon_json(text: str | None, path: str, *, name: str, program: str, default: bool, cdi: bool = False) -> str:
    """``text`` (of the file ``path``) with the runtime ``name`` at ``program``; the same text where it has it.

    ``cdi`` makes Docker read CDI specifications, those in /etc/cdi among them.
    """
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
    return _with_cdi(merged, path) if cdi else merged


def cdi_settings(text: str | None, path: str) -> tuple[object, object]:
    """What the file says of CDI, which Docker reads only when it starts."""
    parsed = _parse(text, path) if text is not None and text.strip() else {}
    return _object(parsed, "features", path).get("cdi"), parsed.get("cdi-spec-dirs")


def keeps_containers(text: str | None, path: str) -> bool:
    """Whether containers go on while Docker restarts."""
    return bool(text is not None and text.strip() and _parse(text, path).get("live-restore") is True)


def _with_cdi(text: str, path: str) -> str:
    """Directories of the operator's stay and get ours besides; without any, ours is a default."""
    switched_on, directories = cdi_settings(text, path)
    if switched_on is not True:
        text = set_member(text, ("features", "cdi"), True)
    if directories is None:
        return text
    if not isinstance(directories, list):
        raise GaudiError(f"{path}: cdi-spec-dirs is not a list; correct it, nothing was changed.", file=path)
    return text if DIRECTORY in directories else set_member(text, ("cdi-spec-dirs",), [*directories, DIRECTORY])


def _parse(text: str, path: str) -> dict[str, object]:
    try:
        parsed = parse_json(text)
    except ValueError as error:
        raise GaudiError(f"{path} is not JSON ({error}); correct it, nothing was changed.", file=path) from error
    if not isinstance(parsed, dict):
        raise GaudiError(f"{path} is not a JSON object; put its content into {{ }}, nothing was changed.", file=path)
    return parsed


def _object(parent: dict[str, object], key: str, path: str, where: str = "") -> dict[str, object]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise GaudiError(f"{path}: {where}{key} is not an object; correct it, nothing was changed.", file=path)
    return value
