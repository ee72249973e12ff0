# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The runtime in containerd's config.toml, which belongs to the operator: merged, never replaced. Pure text.

The vendor's own tool writes the plugin of configuration version 2 only; containerd 2.x reads version 3 as well, where
the CRI plugin has another name (containerd's docs/PLUGINS.md).
"""

from __future__ import annotations

import json

from .._errors import GaudiError
from .cdi import DIRECTORY
from .toml_merge import Setting, read_outline, with_settings
from .toml_outline import KeyPath, Outline, TomlError, outline

CONFIGURATION = "containerd/config.toml"

_RUNTIME_TYPE = "io.containerd.runc.v2"
# A file without a version is one of version 1, whose plugins have short names; containerd 1.x and 2.x both migrate it
# as they start (containerd/cri#1188, containerd/containerd#9223).
_OLDEST = "1"
_CRI_PLUGIN = {_OLDEST: "cri", "2": "io.containerd.grpc.v1.cri", "3": "io.containerd.cri.v1.runtime"}
_CRI_NAMES = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")
# containerd 1.x and 2.x both read version 2.
_NEW_FILE = "version = 2\n"


def config_toml(text: str | None, path: str, *, name: str, program: str, default: bool, cdi: bool = False) -> str:
    """``text`` (of the file ``path``) with the runtime ``name`` at ``program``; the same text where it has it.

    ``cdi`` makes containerd read CDI specifications, those in /etc/cdi among them.
    """
    merged = text if text is not None and text.strip() else _NEW_FILE
    found = read_outline(merged, path)
    # What is switched off comes first: in which version it is written does not matter then.
    if cri_is_off(merged):
        raise GaudiError(
            f"{path} disables the CRI plugin, so no runtime can be registered; remove it from disabled_plugins."
        )
    if not found.keys and not found.tables:
        merged = f"{_NEW_FILE}{merged}"
        found = read_outline(merged, path)
    cri = ("plugins", _plugin(found, path))
    runtime = (*cri, "containerd", "runtimes", name)
    # The node's own choice for runc; else true, as the vendor's tool writes it.
    systemd_cgroup = found.raw((*runtime[:-1], "runc", "options", "SystemdCgroup")) or "true"
    wanted = [
        Setting(runtime, "runtime_type", json.dumps(_RUNTIME_TYPE)),
        Setting((*runtime, "options"), "BinaryName", json.dumps(program)),
        Setting((*runtime, "options"), "SystemdCgroup", systemd_cgroup),
    ]
    if default:
        wanted.append(Setting((*cri, "containerd"), "default_runtime_name", json.dumps(name)))
    if cdi:
        wanted += _cdi_settings(found, cri)
    return with_settings(merged, path, wanted)


def _cdi_settings(found: Outline, cri: KeyPath) -> list[Setting]:
    """CDI switched on; directories of the operator's stay and get ours besides. Without any, ours is a default."""
    settings = [Setting(cri, "enable_cdi", "true")]
    directories = found.strings((*cri, "cdi_spec_dirs"))
    if found.raw((*cri, "cdi_spec_dirs")) is not None and DIRECTORY not in directories:
        settings.append(Setting(cri, "cdi_spec_dirs", json.dumps([*directories, DIRECTORY])))
    return settings


def cri_is_off(text: str | None) -> bool:
    """Whether the file switches the CRI plugin off, as Docker's own package of containerd does."""
    try:
        disabled = outline(text or "").strings(("disabled_plugins",))
    except TomlError:
        return False
    return any(plugin in _CRI_NAMES for plugin in disabled)


def _plugin(found: Outline, path: str) -> str:
    version = found.raw(("version",)) or _OLDEST
    if version in _CRI_PLUGIN:
        return _CRI_PLUGIN[version]
    known = "1, 2 and 3"
    raise GaudiError(f"{path} has version {version}; only {known} are known here; register the runtime by hand.")
