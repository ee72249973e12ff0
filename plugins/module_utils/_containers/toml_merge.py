# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Several keys of an operator's TOML file at once: set where they differ, refused where the file cannot be followed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from .._errors import GaudiError
from .toml_check import check
from .toml_outline import KeyPath, Outline, TomlError, outline, set_key


class Setting(NamedTuple):
    """``name = value`` in a table, () for the top of the file; ``value`` is written as TOML."""

    table: KeyPath
    name: str
    value: str


def read_outline(text: str, path: str) -> Outline:
    """The structure of ``text``, which is the file ``path``; :class:`GaudiError` where it cannot be followed."""
    try:
        found = outline(text)
        check(found)
        return found
    except TomlError as error:
        raise _not_merged(path, error) from error


def with_settings(text: str, path: str, wanted: Iterable[Setting]) -> str:
    """``text`` (of the file ``path``) with the settings; every other byte stays, and all of it where they are there."""
    for table, name, value in wanted:
        if _has(read_outline(text, path), (*table, name), value):
            continue
        try:
            text = set_key(text, table, name, value)
        except TomlError as error:
            raise _not_merged(path, error) from error
    return text


def _has(found: Outline, key: KeyPath, value: str) -> bool:
    """Whether the key has the value, in whichever quotes."""
    written = found.raw(key)
    return written == value or (value.startswith('"') and found.strings(key) == (json.loads(value),))


def _not_merged(path: str, error: TomlError) -> GaudiError:
    return GaudiError(f"{path} cannot be merged into ({error}); correct it, nothing was changed.", file=path)
