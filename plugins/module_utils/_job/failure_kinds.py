# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What kind of end a rank came to, by rules over what it wrote; and where the fault of each kind lies."""

from __future__ import annotations

import re
from typing import Optional, Sequence

from .error_table import CARD, LIMIT, LINK, NODE, PROGRAM, row_of
from .lost_peer import has_waited, is_of_server
from .tracebacks import Raised

EXCEPTION, IMPORT, ARGUMENTS, NAN, ABORT = "exception", "import", "arguments", "nan", "abort"
DEVICE, MEMORY, DISK, STORAGE, SERVER, SIGNAL, STATUS = (
    *("device", "memory", "disk", "storage"),
    *("server", "signal", "status"),
)
HANG, PEER, TOLD, LEAVING = "hang", "peer", "told", "left"
LOST, TIME_LIMIT, PREEMPTED = "node", "limit", "preempted"
# A program that fails so fails so again. Of a device, its row says it; of what is not here, nobody knows.
LIES = {
    **dict.fromkeys((EXCEPTION, IMPORT, ARGUMENTS, NAN), PROGRAM),
    **dict.fromkeys((MEMORY, DISK, STORAGE, LOST), NODE),
    **dict.fromkeys((SERVER, PEER, HANG), LINK),
    **dict.fromkeys((TIME_LIMIT, PREEMPTED), LIMIT),
    DEVICE: CARD,
}
_IMPORTS = ("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError")
_NAN = re.compile(r"\b(?:nan|inf|infinite|isnan|isfinite|not finite|non-finite|not a number)\b", re.IGNORECASE)
_USAGE = re.compile(r"(?:[^\s:]+(?: [^\s:]+)*: error|Error): \S")
# In the words of errno, and of torch where the disk is full below a checkpoint.
_SIGNS = {
    MEMORY: ("cannot allocate memory", "can't allocate memory", "[errno 12]"),
    DISK: ("no space left on", "disk quota exceeded", "inline_container.cc", "pytorchstreamwriter failed writing"),
    STORAGE: (
        *("stale file handle", "transport endpoint is not connected", "input/output error", "remote i/o error"),
        *("read-only file system", "host is down"),
    ),
    # Of shared memory, whose file is gone or full.
    NODE: ("too many open files", "resource temporarily unavailable", "out of shared memory"),
    # What a program says that has lost a card, a server or a link, in its own words.
    LINK: (
        *("timed out", "timeout", "temporary failure in name resolution", "network is unreachable", "no route to host"),
        *("connection refused", "connection reset", "connection aborted", "broken pipe", "temporarily unavailable"),
        *("too many requests", "service unavailable"),
    ),
    # The vendor's own words, beside those of the table.
    CARD: (
        *("module:pt_", "synstatus", "hccl", "habana", "does not answer", "device lost", "uncorrectable"),
        *("hardware error", "in reset"),
    ),
}
# Of these a word like "timeout" names what the program was given.
_OWN = (
    *("TypeError", "KeyError", "AttributeError", "NameError", "IndexError", "ValueError", "AssertionError"),
    *("ZeroDivisionError", "UnboundLocalError", "NotImplementedError", "RecursionError", "UnicodeDecodeError"),
)
_KINDS = {NODE: STORAGE, LINK: SERVER, CARD: DEVICE}
_SHELLS = range(129, 160)
# What a log says of its progress: "step 41", "global_step=41", "41/200".
_STEP = re.compile(r"\b(?:global_)?step[\s:=#]{1,3}(?P<step>\d{1,12})\b|\b(?P<of>\d{1,12})/\d{1,12}\b", re.IGNORECASE)


def kind_of_exception(chain: Sequence[Raised]) -> tuple[str, str]:
    """The kind and the row (see ``error_table``) of a rank that these exceptions ended; "" for no row."""
    last = chain[-1]
    text = "\n".join(raised.text for raised in chain)
    row = row_of(text)
    if row is not None:
        return DEVICE, row.key
    if last.name in _IMPORTS:
        return IMPORT, ""
    if last.name == "MemoryError":
        return MEMORY, ""
    if last.name == "KeyboardInterrupt":
        return SIGNAL, ""
    if all(raised.name in _OWN for raised in chain):
        return _value_of(chain), ""
    return (_sign_of(text) or (SERVER if any(map(is_of_server, chain)) else _value_of(chain))), ""


def _value_of(chain: Sequence[Raised]) -> str:
    text = " ".join(f"{raised.message} {raised.at}" for raised in chain)
    return NAN if _NAN.search(text) else EXCEPTION


def _sign_of(text: str) -> str:
    lower = text.lower()
    found = next((lies for lies, signs in _SIGNS.items() if any(sign in lower for sign in signs)), "")
    return _KINDS.get(found, found)


def kind_without_exception(exit_code: int, said: str, lines: Sequence[str]) -> tuple[str, str]:
    """Of a rank that no exception of Python's ended; ``said``: what it said as it aborted."""
    row = row_of("\n".join([said, *lines]))
    if row is not None:
        return DEVICE, row.key
    if exit_code < 0:
        return (_sign_of(said) or ABORT) if said else SIGNAL, ""
    if exit_code == 2 and any(_USAGE.match(line) for line in (said, *lines[-1:])):
        return ARGUMENTS, ""
    return _sign_of(said) or (SIGNAL if exit_code in _SHELLS else STATUS), ""


def kind_of_echo(text: str) -> str:
    """Of a rank that lost others: they went away, or it waited for them until its patience was over."""
    return HANG if has_waited(text) else PEER


def last_step(lines: Sequence[str]) -> Optional[int]:
    """The last step that these lines of a log tell of."""
    for line in reversed(lines):
        found = list(_STEP.finditer(line))
        if found:
            return int(found[-1]["step"] or found[-1]["of"])
    return None
