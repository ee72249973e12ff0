# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One test of the vendor's ``hl_qual``, ended with all its children at its time limit."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Mapping, Sequence

from gaudi3_scale.core._node.screen_text import one_line
from gaudi3_scale.core._qualify.environment import LOGS, read_environment
from gaudi3_scale.core._qualify.results import FAILED, PASSED, UNKNOWN, Result

ROOT = "/opt/habanalabs/qual"
STAGE = "cards"
_MOST_BYTES, _MOST_LINES = 1 << 20, 8
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
# Dell's rule (dell/omnia): a run that says FAILED has failed, whatever it ends with. A good one says PASSED at its end.
# Manuals and reports of 1.23.0 have both words as Passed and Failed too. So written they are a verdict at the end of a
# line alone, and in small letters behind a colon ("failed to set the governor" is none). "0 failed" is no failure.
_BAD, _GOOD = (
    re.compile(
        rf"(?<!\b0 )(?:\b{word.upper()}\b(?!(?: \w+)?\s*[:=]\s*0\b)|\b{word.capitalize()}\W*$|(?:^|[:|=])\s*{word}\W*$)"
        + more
    )
    for word, more in (("failed", r"|\b[1-9]\d* failed\b"), ("passed", r"|\b[1-9]\d* passed\b"))
)
_VERDICT_ALONE = re.compile(r"\W*(?:test )?failed\W*", re.IGNORECASE)
# What speaks of a failure, the clearest first; a test's own name may have an error in it.
_FAILURES = (re.compile(r"FAIL", re.IGNORECASE), re.compile(r"ERROR|exceed|mismatch", re.IGNORECASE))
# What it lacks on the node is no fault of a card: an interpreter, a module of Python's, a library, a program, its own
# words, the driver's mode, or the cards, which somebody else has.
_LACKS = re.compile(
    r"error while loading shared libraries|cannot open shared object file|No module named|ModuleNotFoundError|"
    r"command not found|sh: (?:\S+: )*not found|(?:un(?:known|recognized)|invalid) (?:option|switch|parameter)|"
    r"__python_cmd\b.*\b(?:not|un)\s?(?:set|defined)|timeout_locked\b.*\b(?:must|should|needs?|required)\b|"
    r"\bno (?:\S+ )?devices? (?:was |were )?found|device (?:already acquired|or resource busy)",
    re.IGNORECASE,
)


def run_test(
    name: str,
    generation: str,
    words: Sequence[str],
    seconds: float,
    action: str,
    root: str = ROOT,
    environment: Mapping[str, str] | None = None,
) -> Result:
    """``words`` are the program's arguments, ``seconds`` its time. ``environment`` None: what this node has for it.

    Only a verdict that it gave fails the test. What it gave none of, as past its time, is unknown.
    """
    directory = Path(root, generation, "bin")
    program = directory / "hl_qual"
    if not program.is_file():
        why = f"{program} is not there; install the package habanalabs-qual of the driver's release."
        return Result(name, STAGE, UNKNOWN, (why,))
    given = read_environment(os.environ) if environment is None else environment
    begun = time.monotonic()
    try:
        code, said = _run([str(program), *words], str(directory), seconds, given)
    except OSError as error:
        why = f"{program} cannot be started ({error.strerror}); reinstall the package habanalabs-qual."
        return Result(name, STAGE, UNKNOWN, (why,))
    took = time.monotonic() - begun
    if code is None:
        # A limit says nothing by itself: what the kernel logged, the cards' counters and other nodes do.
        report = f"{given.get(LOGS, '/var/log/habana_logs').rstrip('/')}/qual"
        why = f"hl_qual did not finish within {seconds:.0f} s and was killed; run it again, and see its report in "
        why += f"{report}."
        return Result(name, STAGE, UNKNOWN, (why,), (), took, action, seconds)
    state, reasons = judge(said, code)
    return Result(name, STAGE, state, reasons, (), took, action if state == FAILED else "")


def judge(said: str, code: int) -> tuple[str, tuple[str, ...]]:
    """Pure: what its words and its exit code come to, and the reasons."""
    lines = [one_line(_COLOR.sub("", line)) for line in said.splitlines()]
    lines = [line for line in lines if line.strip()]
    lacks = next((line for line in lines if _LACKS.search(line)), "")
    if lacks and not (code == 0 and _passed(lines)):
        return UNKNOWN, (f"hl_qual lacks something on this node, so it says nothing about the cards: {lacks}.",)
    if any(_BAD.search(line) for line in lines):
        return FAILED, (_reason(lines),)
    if code == 0 and _passed(lines):
        return PASSED, ()
    last = f"its last line is: {lines[-1]}" if lines else "and printed nothing"
    verdict = "a verdict of a failure" if _passed(lines) else "a verdict"
    return UNKNOWN, (f"hl_qual ended with {code} and without {verdict}, {last}.",)


def _passed(lines: Sequence[str]) -> bool:
    return any(_GOOD.search(line) for line in lines) and not any(_BAD.search(line) for line in lines)


def _run(argv: Sequence[str], directory: str, seconds: float, environment: Mapping[str, str]) -> tuple[int | None, str]:
    """Its exit code, None past its time, and what it said. It runs in its own directory, as the vendor has it."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(argv),
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # Whatever it has left behind holds the cards.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _MOST_BYTES))
        return code, output.read().decode("utf-8", "replace")


def _reason(lines: Sequence[str]) -> str:
    """Of what it said, the lines that speak of a failure, but for those that only do."""
    told = ([one for one in lines if word.search(one) and not _VERDICT_ALONE.fullmatch(one)] for word in _FAILURES)
    return "; ".join(next(filter(None, told), lines[-1:])[:_MOST_LINES]) + "."
