# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How a rank ended, in words: the exception to name, its kind, and the frame of the user's own code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from .failure_kinds import NAN, kind_of_echo, kind_of_exception, kind_without_exception, last_step
from .log_lines import LogLine, cut_middle
from .lost_peer import is_lost_peer, says_lost_peer
from .native_abort import abort_reason, fatal_error, where_in_users_code
from .reported_failure import LOG_LINES
from .tracebacks import WHILE, Raised, Uncaught, headline_of

MOST_MESSAGE = 600


@dataclass(frozen=True)
class End:
    """How a rank ended, in words; see :class:`RankFailure`."""

    exception: str
    message: str
    is_echo: bool
    kind: str
    row: str = ""
    at: str = ""


def by_exception(ended: Uncaught, lines: Sequence[LogLine]) -> End:
    """The end of a rank by an exception, with its kind and the frame of the user's code."""
    is_echo = is_lost_peer(ended.chain[0])
    exception, message = _headline(ended, is_echo)
    if is_echo:
        said = "\n".join(raised.message for raised in ended.chain)
        return End(exception, message, is_echo, kind_of_echo(said), at=_frame(ended.chain))
    own = [raised for raised in ended.chain if not is_lost_peer(raised)]
    kind, row = kind_of_exception(own)
    if kind == NAN and not re.search(r"\bstep\b", message):
        step = last_step([line.text for line in lines[: ended.headline]])
        message = message if step is None else f"{message} (its log was at step {step})"
    # The exception that led to the others says most, except to one that was raised by what handled it.
    return End(exception, message, is_echo, kind, row, _frame(own[::-1] if ended.link == WHILE else own))


def _frame(chain: Sequence[Raised]) -> str:
    return next(filter(None, (raised.frame for raised in chain)), "")


def _headline(ended: Uncaught, is_echo: bool) -> tuple[str, str]:
    """The exception to name, and its message with what it came from.

    What a rank lost while it handled an error of its own is not its reason.
    """
    own = [raised for raised in ended.chain if not is_lost_peer(raised)]
    last = (ended.chain if is_echo else own)[-1]
    first = ended.chain[0]
    message = cut_middle((last.message or last.at).partition("\n")[0], MOST_MESSAGE // 2)
    if first.text != last.text:
        message = f"{message} ({ended.link} {cut_middle(first.text, MOST_MESSAGE // 3)})".lstrip()
    return (last.name, message) if last.type else ("", message)


def without_exception(exit_code: int, lines: Sequence[LogLine]) -> End:
    """The end of a rank that no exception of Python's ended."""
    last = [line.text for line in lines[-LOG_LINES:]]
    aborted = abort_reason(lines) if exit_code < 0 else None
    if exit_code < 0:
        # Without a word of why, a signal ended it, whatever it said before.
        is_echo = aborted is not None and is_lost_peer(aborted)
        message = aborted.message if aborted else ""
        kind, row = kind_without_exception(exit_code, aborted.text if aborted else "", ())
        kind = kind_of_echo(message) if is_echo else kind
        return End(aborted.type if aborted else "", message, is_echo, kind, row, where_in_users_code(lines))
    text = fatal_error(lines) or (lines[-1].text.strip() if lines else "")
    said = headline_of(text)
    is_echo = says_lost_peer("\n".join(last))
    kind, row = kind_without_exception(exit_code, text, last)
    kind = kind_of_echo("\n".join(last)) if is_echo else kind
    # What only looks like one: a log's level, a program's name.
    is_exception = said.message and said.name[:1].isupper() and not said.name.isupper()
    return End(*((said.name, said.message) if is_exception else ("", text)), is_echo, kind, row)
