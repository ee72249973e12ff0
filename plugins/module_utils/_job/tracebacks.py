# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The exception that ended a Python program, found in its stderr by the shape of tracebacks.

What a library prints after it (a farewell, a warning of the interpreter's end, a native stack) has no part in that. The
shapes are those of CPython 3.9 to 3.14 (traceback.py, threading.py, Lib/multiprocessing), torch 2.13 and rich 14.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Match, Sequence

from .frames import BOXED, FRAME, innermost
from .log_lines import HEADER, LogLine, log_lines

_GROUP = "Exception Group "
# Of a data loader's worker: the message of the exception above it has the worker's own traceback.
_CARRIED = "Original "
_RICH_BEGIN, _RICH_SIDE, _RICH_END = "╭", "│", "╰"
_HEADLINE = re.compile(r"(?P<type>[A-Za-z_][\w.<>]*)(?P<colon>:(?: (?P<message>.*))?)?")
_SYNTAX = ("SyntaxError:", "IndentationError:", "TabError:")
# A member of an exception group stands behind such a margin.
_MARGIN = re.compile(r" +[|+] ")
_MEMBER = re.compile(r" +\+(?:-\+)?-{5,30} \d{1,3} -{5,30}")
_MARGIN_ONLY = re.compile(r" *[|+][-+ ]*")
CAUSED, WHILE, FIRST_OF = "caused by", "while handling", "the first is"
_LINKS = {
    "The above exception was the direct cause of the following exception:": CAUSED,
    "During handling of the above exception, another exception occurred:": WHILE,
}
# Before a traceback that ended no program: at the interpreter's own end, and in a thread, a child process or a task.
_AT_EXIT = re.compile(r"Exception ignored |Error in atexit|--- Logging error ---")
_IN_THREAD = re.compile(r"Exception in thread ")
_ELSEWHERE = re.compile(r"Exception in (?:thread|callback) |Process \S{1,100}:$|future: <")
# torch.multiprocessing.spawn puts the traceback of its child into the message of its own exception.
_OF_CHILD = re.compile(r"-- Process \d{1,9} terminated with the following error:")
# What libstdc++ prints where a backend's threads abort the process while Python ends it: a rank that raised then has
# SIGABRT's exit status (seen with gloo of torch 2.13). And what begins faulthandler's account of a fatal signal.
ABORTED_AT_EXIT = "terminate called without an active exception"
FATAL = "Fatal Python error: "
# What native code says as it aborts a program: right behind an exception, at the end that this one brought about.
_NATIVE = ("terminate called ", FATAL, "free(): ", "malloc", "munmap_chunk(): ", "double free ", "corrupted ")
# Lines, besides indented ones, that may follow the exception that ended a program. A farewell is shorter, and one that
# was caught and logged is left behind by what the program then prints.
_FAREWELL = 200
_USAGE = re.compile(r"\S{1,200}: error: ")
# Lines of the message of what a called program raised.
_MOST_BETWEEN = 5


@dataclass(frozen=True)
class Raised:
    """An exception as it was printed: its type with the module, the first line of its message, where it was raised
    (file, line and code) and through which frame of the user's own code; "" where that is not known."""

    type: str
    message: str
    at: str = ""
    frame: str = ""

    @property
    def name(self) -> str:
        """The type without its module, except one like ``struct.error``, which says nothing alone."""
        last = self.type.rpartition(".")[2]
        return last if last[:1].isupper() else self.type

    @property
    def text(self) -> str:
        shown = self.message or self.at
        return ": ".join(filter(None, (self.name, shown)))


@dataclass(frozen=True)
class Uncaught:
    """What ended a program: ``chain`` from the exception that was raised first to the one that nobody caught, and how
    the first led to the next (CAUSED, WHILE or FIRST_OF). ``headline``: the line of the last one, by its index."""

    chain: tuple[Raised, ...]
    link: str
    headline: int


@dataclass(frozen=True)
class _Block:
    """One traceback: lines ``begin`` (its header) to ``headline`` (its exception)."""

    raised: Raised
    begin: int
    headline: int
    is_group: bool = False
    is_carried: bool = False
    is_member: bool = False


def begins_before(lines: Sequence[LogLine]) -> bool:
    """Whether the exception that these last lines may show was printed, or caused, before them."""
    blocks = _blocks(lines)
    return not blocks or (blocks[0].begin > 0 and lines[blocks[0].begin - 1].text in _LINKS)


def uncaught(lines: Sequence[LogLine], exit_code: int | None) -> Uncaught | None:
    """The exception that ended a program with this exit status, negative for a signal; None where none did.

    ``exit_code`` None: it has not ended yet. Such a rank is about to, and that can take a while: others may lose it,
    and end it, before its agent sees it.
    """
    chains = [chain for chain in _chains(_blocks(lines), lines) if not _stands_below(_AT_EXIT, chain, lines)]
    own = [chain for chain in chains if not _stands_below(_ELSEWHERE, chain, lines)]
    # A program that stops since its thread or child failed may say no more than that.
    last = (own or chains if (exit_code or 0) > 0 else own)[-1:]
    if not last or not (lines[last[0][-1].begin].of_rank or _is_its_end(last[0], lines, exit_code)):
        return None
    return _as_uncaught(last[0], lines)


def of_thread(lines: Sequence[LogLine]) -> Uncaught | None:
    """The last exception that ended a thread of a program, and not the program; None where none did."""
    chains = [chain for chain in _chains(_blocks(lines), lines) if _stands_below(_IN_THREAD, chain, lines)]
    return _as_uncaught(chains[-1], lines) if chains else None


def chain_of(callstack: str) -> Uncaught | None:
    """The exception of a text that is a traceback and nothing else."""
    lines = log_lines(callstack)
    chains = _chains(_blocks(lines), lines)
    return _as_uncaught(chains[-1], lines) if chains else None


def headline_of(line: str) -> Raised:
    """``ValueError: x`` as an exception; other text is a message."""
    match = _HEADLINE.fullmatch(line)
    if match is None:
        return Raised("", line)
    return Raised(match["type"], (match["message"] or "").strip())


def _is_its_end(chain: Sequence[_Block], lines: Sequence[LogLine], exit_code: int | None) -> bool:
    """Whether the program ended by an exception after which these lines came, and did not catch and log it."""
    after = lines[max(block.headline for block in chain) + 1 :]
    native = next((number for number, line in enumerate(after) if line.text.startswith(_NATIVE)), len(after))
    said = sum(not line.is_indented for line in after[:native])
    if exit_code is None or (exit_code < 0 and not any(line.text == ABORTED_AT_EXIT for line in after[native:])):
        return said == 0
    if exit_code == 2 and after and _USAGE.match(after[-1].text):
        return False
    # The message of one that ends with a colon is what follows it, be it long.
    return said <= _FAREWELL or (exit_code == 1 and lines[chain[-1].headline].text.endswith(":"))


def _as_uncaught(chain: Sequence[_Block], lines: Sequence[LogLine]) -> Uncaught:
    last = chain[-1]
    links = {_LINKS[text] for block in chain[1:] if (text := lines[block.begin - 1].text) in _LINKS}
    first_of = FIRST_OF if last.is_group else CAUSED
    return Uncaught(
        tuple(block.raised for block in chain),
        WHILE if WHILE in links else CAUSED if links else first_of,
        last.headline,
    )


def _stands_below(label: re.Pattern[str], chain: Sequence[_Block], lines: Sequence[LogLine]) -> bool:
    before = min(block.begin for block in chain) - 1
    return before >= 0 and bool(label.match(lines[before].text))


def _chains(blocks: Sequence[_Block], lines: Sequence[LogLine]) -> list[list[_Block]]:
    """The tracebacks that belong together, each list from what was raised first to what was raised last."""
    chains: list[list[_Block]] = []
    for block in blocks:
        if chains and (block.is_member or block.is_carried):
            # The first of a group's members stands for all, and a carried one was raised before what carries it.
            if len(chains[-1]) == 1 and not block.is_group:
                chains[-1].insert(0, block)
        elif chains and _follows(block, chains[-1][-1], lines):
            chains[-1].append(block)
        else:
            chains.append([block])
    return chains


def _follows(block: _Block, before: _Block, lines: Sequence[LogLine]) -> bool:
    """Whether ``before`` led to ``block``: Python says so, or a program that was called wrote just before it."""
    is_called = block.raised.name == "CalledProcessError" and block.begin - before.headline <= _MOST_BETWEEN
    return is_called or (block.begin > 0 and lines[block.begin - 1].text in _LINKS)


def _blocks(lines: Sequence[LogLine]) -> list[_Block]:
    found: list[_Block] = []
    number = 0
    while number < len(lines):
        block = _block(lines, number) if _may_begin(lines[number].text) else None
        if block is not None and block.headline >= len(lines):
            # All lines from here on are frames of one that has no end: nothing begins behind them.
            break
        if block is not None:
            found.append(block)
        number = block.headline + 1 if block is not None else number + 1
    return found


def _may_begin(text: str) -> bool:
    return text.endswith(HEADER) or text.startswith((_RICH_BEGIN, "  File ")) or bool(_MEMBER.fullmatch(text))


def _block(lines: Sequence[LogLine], begin: int) -> _Block | None:
    text = lines[begin].text
    if text.startswith(_RICH_BEGIN) and HEADER[:-1] in text:
        return _boxed(lines, begin)
    if text.endswith(HEADER):
        before = text[: -len(HEADER)]
        if before == _CARRIED:
            return _framed(lines, begin, "", is_carried=True)
        if before.endswith(_GROUP) or _MARGIN.fullmatch(before):
            is_member = "|" in before
            margin = before.replace(_GROUP, "").replace("+", "|")
            return _framed(lines, begin, margin, is_group=before.endswith(_GROUP), is_member=is_member)
        # A progress bar has no end of its line.
        if not before or not before[-1].isspace():
            is_carried = begin > 0 and bool(_OF_CHILD.match(lines[begin - 1].text))
            return _framed(lines, begin, "", is_carried=is_carried)
    if _MEMBER.fullmatch(text):
        return _unraised(lines, begin + 1)
    frame = FRAME.match(text)
    if frame and not frame["function"] and frame.end() == len(text):
        # Of a program that is no Python, nothing ran that could be traced back.
        block = _framed(lines, begin, "")
        is_cut = block is not None and block.headline >= len(lines)
        return block if block is not None and (is_cut or lines[block.headline].text.startswith(_SYNTAX)) else None
    return None


def _framed(
    lines: Sequence[LogLine],
    begin: int,
    margin: str,
    *,
    is_group: bool = False,
    is_carried: bool = False,
    is_member: bool = False,
) -> _Block | None:
    """The traceback whose frames are indented behind ``margin``; None where it is none. Its headline is behind the last
    line where it is not there to its end.
    """
    number, at = begin + (0 if FRAME.match(lines[begin].text) else 1), ""
    frames: list[Match[str]] = []
    while number < len(lines) and (_is_of_frame(lines[number].text, margin)):
        frame = FRAME.match(lines[number].text, len(margin))
        if frame:
            frames.append(frame)
            code = lines[number + 1].text[len(margin) :].strip() if number + 1 < len(lines) else ""
            at = f"{frame['file'].rpartition('/')[2]}, line {frame['line']}: {code}"
        number += 1
    if number < len(lines) and not lines[number].text.startswith(margin):
        return None
    raised = _raised(lines, number, margin) if number < len(lines) else Raised("", "")
    return _Block(
        Raised(raised.type, raised.message, at if raised.type else "", innermost(frames)),
        begin,
        number,
        is_group,
        is_carried,
        is_member,
    )


def _is_of_frame(text: str, margin: str) -> bool:
    rest = text[len(margin) :] if text.startswith(margin) else None
    if rest is None:
        return bool(margin) and bool(_MARGIN_ONLY.fullmatch(text))
    return rest[:1].isspace() or rest.startswith("> File ") or not rest


def _unraised(lines: Sequence[LogLine], number: int) -> _Block | None:
    """A member of a group that was never raised itself: it has no frames."""
    margin = _MARGIN.match(lines[number].text) if number < len(lines) else None
    if margin is None or lines[number].text.endswith(HEADER):
        return None
    raised = _raised(lines, number, margin[0])
    return _Block(raised, number - 1, number, is_group=raised.name.endswith("ExceptionGroup"), is_member=True)


def _boxed(lines: Sequence[LogLine], begin: int) -> _Block | None:
    """rich draws a box around the frames; the exception follows below it."""
    number = begin + 1
    while number < len(lines) and lines[number].text.startswith(_RICH_SIDE):
        number += 1
    if number + 1 >= len(lines) or not lines[number].text.startswith(_RICH_END):
        return None
    frame = innermost(filter(None, (BOXED.match(line.text) for line in lines[begin + 1 : number])))
    return _Block(replace(_raised(lines, number + 1, ""), frame=frame), begin, number + 1)


def _raised(lines: Sequence[LogLine], number: int, margin: str) -> Raised:
    """The exception of this line; of a message that begins with the end of a line, with its next one."""
    line = lines[number].text[len(margin) :].rstrip()
    raised = headline_of(line)
    if line.endswith(":") and raised.type and not raised.message and number + 1 < len(lines):
        return Raised(raised.type, lines[number + 1].text[len(margin) :].strip())
    return raised
