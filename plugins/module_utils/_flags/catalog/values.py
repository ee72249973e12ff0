# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Reading a flag's text as the program that owns the flag reads it.

Each component has rules of its own, and a text outside them is fatal, or worse, silently off. Sources: bridge
``backend/synapse_helpers/env_flags.cpp`` and ``recipe_cache_config.cpp`` (1.19.0 and the 1.22 line alike), its
``dynamo/compile_backend/config.py``, and ``swtools_sdk/hl_gcfg/include/hl_gcfg/string_utils.hpp`` of the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .flag_types import Flag, Kind

_ON = ("1", "true", "t", "yes", "y", "on")
_OFF = ("0", "false", "f", "no", "n", "off")
_C_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")
_SIZE = re.compile(r"([0-9]+)(B|KB?|MB?|GB?)?", re.IGNORECASE)
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[^\s:]+):([0-9]{1,5})")
_SIZE_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class WrongValueError(ValueError):
    """A text that the owner of a flag does not take; the message says why."""


class RecipeCache(NamedTuple):
    """The fields of PT_HPU_RECIPE_CACHE_CONFIG; ``on_nfs`` is None where the fourth one is not given."""

    directory: str
    empty_at_start: bool
    size_mb: int
    on_nfs: bool | None


def is_on(text: str) -> bool:
    """Whether a switch with this text is on, in any of the spellings that some reader takes."""
    return text.lower() in _ON


def read_value(flag: Flag, text: str) -> object:
    """The value that ``flag`` has with this text; :class:`WrongValueError` if its reader would refuse or misread it."""
    value = _PARSERS[flag.kind](flag, text)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value
    if flag.choices and str(value) not in flag.choices:
        raise WrongValueError(f"{text!r} is not one of the values that are read")
    too_small = flag.minimum is not None and value < flag.minimum
    too_large = flag.maximum is not None and value > flag.maximum
    if too_small or too_large:
        raise WrongValueError(f"{text!r} is out of range")
    return value


def allowed_values(flag: Flag) -> str:
    """What the flag takes, as a phrase for a message."""
    bounds = " to ".join(str(bound) for bound in (flag.minimum, flag.maximum) if bound is not None)
    if flag.minimum is not None and flag.maximum is None:
        bounds += " or more"
    words = " or ".join(flag.choices) if flag.choices else _KIND_IN_WORDS[flag.kind]
    if bounds and not flag.choices:
        words += f", {bounds}"
    if not words:
        return flag.allowed
    return f"{words} ({flag.allowed})" if flag.allowed else words


def bridge_bool(text: str) -> bool:
    """1, true, 0 or false in any case; ``yes`` and ``on`` end the process."""
    if text.lower() not in ("1", "true", "0", "false"):
        raise WrongValueError(f"{text!r} is not 1, true, 0 or false, and the process that reads it ends")
    return text.lower() in ("1", "true")


def bridge_int(text: str) -> int:
    """C's ``strtol`` with base 0, after "0x" was put before any text with a letter a to f.

    So ``010`` is 8, ``1e6`` is 0x1e6 = 486, and ``64MB`` ends the process.
    """
    lowered = text.lower()
    if not lowered.startswith("0x") and any("a" <= letter <= "f" for letter in lowered):
        lowered = f"0x{lowered}"
    match = _C_INTEGER.fullmatch(lowered)
    digits = match.group(2) if match else ""
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
    if match is None or (octal and not re.fullmatch("[0-7]+", digits)):
        raise WrongValueError(f"{text!r} is not a whole number without a unit, and the process that reads it ends")
    value = int(digits, 8 if octal else 0)
    if value >= 1 << 64:
        raise WrongValueError(f"{text!r} is too large")
    return -value if match.group(1) == "-" else value


def gcfg_bool(text: str) -> bool:
    """1, true, 0 or false."""
    if text.lower() not in ("1", "true", "0", "false"):
        raise WrongValueError(f"{text!r} is not 1, true, 0 or false")
    return text.lower() in ("1", "true")


def gcfg_size(text: str) -> int:
    """Bytes, with an optional unit of 1024: ``512KB`` is 524288."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise WrongValueError(f"{text!r} is not a number of bytes with an optional K, KB, M, MB, G or GB")
    return int(match.group(1)) * _SIZE_UNITS[(match.group(2) or "").upper()[:1]]


def word_bool(text: str) -> bool:
    """A switch of Python code that takes words; any other text fails an assertion, or is off without a message."""
    if text.lower() not in _ON + _OFF:
        raise WrongValueError(f"{text!r} is neither {', '.join(_ON)} nor {', '.join(_OFF)}")
    return text.lower() in _ON


def recipe_cache(text: str) -> RecipeCache:
    """``<directory>,<true|false>,<MB>[,<true|false>]``; empty fields take the defaults false, 1024 and false."""
    fields = text.split(",")
    if len(fields) > 4:
        raise WrongValueError(f"{text!r} has {len(fields)} fields, and the process that reads more than 4 ends")
    directory, empty, size, nfs = (*fields, "", "", "")[:4]
    if directory and not directory.startswith("/"):
        raise WrongValueError(f"the directory {directory!r} does not begin with /")
    return RecipeCache(
        directory,
        bridge_bool(empty) if empty else False,
        bridge_int(size) if size else 1024,
        (bridge_bool(nfs) if nfs else False) if len(fields) == 4 else None,
    )


def _fraction(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WrongValueError(f"{text!r} is not a number") from None


def _enum(flag: Flag, text: str) -> str:
    if text not in flag.choices:
        raise WrongValueError(f"{text!r} is not one of the values that are read")
    return text


def _enum_list(flag: Flag, text: str) -> tuple[str, ...]:
    return tuple(_enum(flag, part) for part in text.split(","))


def _module_list(flag: Flag, text: str) -> tuple[str, ...]:
    modules = tuple(text.split(","))
    if text not in flag.choices and not all(re.fullmatch("[0-9]+", module) for module in modules):
        raise WrongValueError(f"{text!r} is not a list of numbers")
    if len(set(modules)) != len(modules):
        raise WrongValueError(f"{text!r} names a card twice")
    return modules


def _address(text: str) -> str:
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match.group(2)) < 1 << 16:
        raise WrongValueError(f"{text!r} is not <ip>:<port>")
    return text


def _read_only(text: str) -> object:
    raise WrongValueError(f"{text!r} would be overwritten")


_Parser = Callable[[Flag, str], object]


def _of_text(parse: Callable[[str], object]) -> _Parser:
    return lambda _flag, text: parse(text)


def _of_form(pattern: str, why: str, value: Callable[[str], object] = str) -> _Parser:
    def parse(_flag: Flag, text: str) -> object:
        if not re.fullmatch(pattern, text):
            raise WrongValueError(f"{text!r} {why}")
        return value(text)

    return parse


_PARSERS: Mapping[Kind, _Parser] = {
    Kind.BRIDGE_BOOL: _of_text(bridge_bool),
    Kind.BRIDGE_INT: _of_text(bridge_int),
    Kind.COMPILE_BOOL: _of_text(word_bool),
    Kind.GCFG_BOOL: _of_text(gcfg_bool),
    # Unlike a size it takes no unit.
    Kind.GCFG_INT: _of_form(
        r"-?(0x[0-9a-fA-F]+|0|[1-9][0-9]*)",
        "is not a whole number (decimal or 0x, no unit)",
        lambda text: int(text, 0),
    ),
    Kind.GCFG_SIZE: _of_text(gcfg_size),
    Kind.WORD_BOOL: _of_text(word_bool),
    Kind.DECIMAL: _of_form("[+-]?[0-9]+", "is not a whole decimal number", int),
    Kind.FRACTION: _of_text(_fraction),
    Kind.ENUM: _enum,
    Kind.ENUM_LIST: _enum_list,
    Kind.MODULE_LIST: _module_list,
    Kind.PATH: _of_form("(?s)/.*", "is not an absolute path, and nothing completes it or expands ~ in it"),
    Kind.RECIPE_CACHE: _of_text(recipe_cache),
    Kind.POLICY_ORDER: _of_form(r"([0-9],)*3,1", "is not a list of policies that ends with 3,1"),
    Kind.ADDRESS: _of_text(_address),
    Kind.READ_ONLY: _of_text(_read_only),
    Kind.TEXT: _of_text(str),
}

_KIND_IN_WORDS: Mapping[Kind, str] = {
    Kind.BRIDGE_BOOL: "1, true, 0 or false",
    Kind.BRIDGE_INT: "a whole number without a unit",
    Kind.COMPILE_BOOL: "on, 1, yes, true, y, t or off, 0, no, false, n, f",
    Kind.GCFG_BOOL: "1, true, 0 or false",
    Kind.GCFG_INT: "a whole number without a unit",
    Kind.GCFG_SIZE: "a number of bytes with an optional K, KB, M, MB, G or GB",
    Kind.WORD_BOOL: "1, true, yes, on or 0, false, no, off",
    Kind.DECIMAL: "a whole number",
    Kind.FRACTION: "a number",
    Kind.ENUM: "one of its values",
    Kind.ENUM_LIST: "a list separated by commas",
    Kind.MODULE_LIST: "numbers separated by commas",
    Kind.PATH: "an absolute path",
    Kind.RECIPE_CACHE: "",
    Kind.POLICY_ORDER: "digits separated by commas that end with 3,1",
    Kind.ADDRESS: "",
    Kind.READ_ONLY: "",
    Kind.TEXT: "text",
}
