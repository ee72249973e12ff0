# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The vendor's own settings of its runtime: judged, and merged into its config.toml. Pure text.

Keys and types: packaging/config.toml and internal/config/config.go of HabanaAI/gaudi-container-runtime (1.24.0).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping

from .._errors import GaudiError
from .toml_merge import Setting, read_outline, with_settings

CONFIGURATION = "habana-container-runtime/config.toml"

_FLAG, _PATH, _WORDS = "true or false", "an absolute path", "a list of NAME=VALUE"
_LEVELS = ("info", "debug")
_MODE_KEY = ("habana-container-runtime", "mode")
_MOUNT_KEY = ("mount_accelerators",)
_MODE_CDI = "cdi"

# Key -> what it takes: a kind from above, or the words to choose from. "a.b" is the key b of the table [a].
KEYS: Mapping[str, str | tuple[str, ...]] = {
    "disable-require": _FLAG,
    "accept-habana-visible-devices-envvar-when-unprivileged": _FLAG,
    "accept-habana-visible-devices-as-volume-mounts": _FLAG,
    "mount_accelerators": _FLAG,
    "mount_uverbs": _FLAG,
    "binaries-dir": _PATH,
    "network-layer-routes.path": _PATH,
    "habana-container-cli.root": _PATH,
    "habana-container-cli.path": _PATH,
    "habana-container-cli.environment": _WORDS,
    "habana-container-cli.log_file": _PATH,
    "habana-container-cli.log_level": _LEVELS,
    "habana-container-runtime.visible_devices_all_as_default": _FLAG,
    "habana-container-runtime.log_file": _PATH,
    "habana-container-runtime.log_level": _LEVELS,
    "habana-container-runtime.systemd_cgroup": _FLAG,
    "habana-container-runtime.mode": ("oci", "legacy", _MODE_CDI),
}


def judged(settings: Mapping[str, object]) -> list[Setting]:
    """The settings as keys of config.toml; :class:`GaudiError` for a key that is none, or a value it does not take.

    A table is a dictionary: ``{"mount_uverbs": False, "habana-container-runtime": {"log_level": "debug"}}``.
    """
    wanted: list[Setting] = []
    for name, value in settings.items():
        inner = value.items() if isinstance(value, Mapping) else None
        if inner is None:
            wanted.append(_judged((), str(name), value))
        else:
            wanted += [_judged((str(name),), str(key), one) for key, one in inner]
    return wanted


def _judged(table: tuple[str, ...], name: str, value: object) -> Setting:
    key = ".".join((*table, name))
    if key not in KEYS:
        near = difflib.get_close_matches(key, KEYS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(KEYS)}."
        raise GaudiError(f"settings: {key!r} is not a setting of the vendor's container runtime; {hint}")
    takes = KEYS[key]
    if not _fits(takes, value):
        kind = takes if isinstance(takes, str) else " or ".join(takes)
        raise GaudiError(f"settings: {key} takes {kind}, not {value!r}.")
    return Setting(table, name, json.dumps(value))


def _fits(takes: str | tuple[str, ...], value: object) -> bool:
    if takes == _FLAG:
        return isinstance(value, bool)
    if takes == _PATH:
        return isinstance(value, str) and value.startswith("/")
    if takes == _WORDS:
        return isinstance(value, list) and all(isinstance(word, str) and "=" in word for word in value)
    return isinstance(value, str) and value in takes


def config_toml(text: str | None, path: str, settings: Mapping[str, object]) -> str:
    """``text`` (of the vendor's file ``path``) with the settings; the same text where it has them."""
    return with_settings(text or "", path, judged(settings))


def why_no_cards(text: str | None, path: str) -> str | None:
    """Why the runtime passes no cards into a container, as a clause; None where it passes them."""
    found = read_outline(text or "", path)
    if found.strings(_MODE_KEY) == (_MODE_CDI,):
        return f'{path} says mode = "{_MODE_CDI}"'
    return f"{path} says mount_accelerators = false" if found.raw(_MOUNT_KEY) == "false" else None
