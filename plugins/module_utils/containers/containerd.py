# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The runtime in containerd's config.toml, which belongs to the operator: merged, never replaced. Pure text.

The vendor's own tool writes the plugin of configuration version 2 only; containerd 2.x reads version 3 as well, where
the CRI plugin has another name (containerd's docs/PLUGINS.md).
"""

from __future__ import annotations

import json

from ..errors import GaudiError
from .toml_outline import Outline, TomlError, outline, set_key

CONFIGURATION = "containerd/config.toml"

_RUNTIME_TYPE = "io.containerd.runc.v2"
_CRI_PLUGIN = {"2": "io.containerd.grpc.v1.cri", "3": "io.containerd.cri.v1.runtime"}
_CRI_NAMES = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")
# containerd 1.x and 2.x both read version 2.
_NEW_FILE = "version = 2\n"


def config_toml(text: str | None, path: str, *, name: str, program: str, default: bool) -> str:
    """``text`` (of the file ``path``) with the runtime ``name`` at ``program``; the same text where it has it."""
    merged = text if text is not None and text.strip() else _NEW_FILE
    try:
        return _merge(merged, path, name, program, default)
    except TomlError as error:
        raise GaudiError(
            f"{path} cannot be merged into ({error}); correct it, nothing was changed.", file=path
        ) from error


def cri_is_off(text: str | None) -> bool:
    """Whether the file switches the CRI plugin off, as Docker's own package of containerd does."""
    try:
        disabled = outline(text or "").strings(("disabled_plugins",))
    except TomlError:
        return False
    return any(plugin in _CRI_NAMES for plugin in disabled)


def _merge(text: str, path: str, name: str, program: str, default: bool) -> str:
    found = outline(text)
    cri = ("plugins", _plugin(found, path))
    if cri_is_off(text):
        raise GaudiError(
            f"{path} disables the CRI plugin, so no runtime can be registered; take it out of disabled_plugins."
        )
    runtimes = (*cri, "containerd", "runtimes")
    wanted: list[tuple[tuple[str, ...], str, str]] = [
        ((*runtimes, name), "runtime_type", json.dumps(_RUNTIME_TYPE)),
        ((*runtimes, name, "options"), "BinaryName", json.dumps(program)),
        # The node's own choice for runc; else true, as the vendor's tool writes it.
        (
            (*runtimes, name, "options"),
            "SystemdCgroup",
            found.raw((*runtimes, "runc", "options", "SystemdCgroup")) or "true",
        ),
    ]
    if default:
        wanted.append(((*cri, "containerd"), "default_runtime_name", json.dumps(name)))
    for table, key, value in wanted:
        if not _has(outline(text), (*table, key), value):
            text = set_key(text, table, key, value)
    return text


def _has(found: Outline, key: tuple[str, ...], value: str) -> bool:
    """Whether the key has the value, in whichever quotes."""
    written = found.raw(key)
    return written == value or (value.startswith('"') and found.strings(key) == (json.loads(value),))


def _plugin(found: Outline, path: str) -> str:
    version = found.raw(("version",))
    if version in _CRI_PLUGIN:
        return _CRI_PLUGIN[version]
    if version is None:
        raise GaudiError(
            f"{path} has no version, so containerd reads it as version 1; convert it with `containerd config migrate`."
        )
    raise GaudiError(
        f"{path} has version {version}; only {' and '.join(_CRI_PLUGIN)} are known here; register the runtime by hand."
    )
