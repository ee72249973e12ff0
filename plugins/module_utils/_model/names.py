# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Names in a registry: each is one folder of a directory, and one part of a key in a bucket."""

from __future__ import annotations

import re

from .._errors import GaudiError

# Of a version in an operator's hand: all 64 digits, or as many as tell it from others.
FEWEST_DIGITS = 12
NOTHING = "none"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
_VERSION = re.compile(rf"[0-9a-f]{{{FEWEST_DIGITS},64}}")
_WHOLE_VERSION = re.compile(r"[0-9a-f]{64}")
MOST_PATH = 512


def check_name(option: str, name: str) -> str:
    """The name of a model or of an alias; GaudiError for what is none."""
    if not _NAME.fullmatch(name) or ".." in name or is_version(name) or name == NOTHING:
        raise GaudiError(
            f"{option}: {name[:80]!r} is not a valid name; use 1 to 63 lower-case letters, digits, '.', '_' and '-', "
            "beginning and ending with a letter or a digit, such as llama-support."
        )
    return name


def is_version(text: str) -> bool:
    """Whether it is meant as a version: the SHA-256 of a record, or the first digits of one."""
    return _VERSION.fullmatch(text) is not None


def is_whole_version(text: str) -> bool:
    return _WHOLE_VERSION.fullmatch(text) is not None


def path_fault(path: str) -> str:
    """Why a file of a model cannot have this path, as a clause; empty where it can."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        return "it leads out of the model's directory"
    if not path or "" in parts or "." in parts or not path.isprintable() or "\\" in path or len(path) > MOST_PATH:
        return "no file of a model can be called so"
    return ""
