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
from typing import Sequence

from gaudi3_scale.core._node.screen_text import one_line
from gaudi3_scale.core._qualification.results import FAILED, PASSED, UNKNOWN, Result

ROOT = "/opt/habanalabs/qual"
STAGE = "cards"
_MOST_BYTES, _MOST_LINES = 1 << 20, 8
# Dell's rule (dell/omnia): a run that says FAILED has failed, whatever it ends with. A good one says PASSED at its end.
_BAD, _GOOD = "FAILED", "PASSED"
# What speaks of a failure, the clearest first; a test's own name may have an error in it.
_FAILURES = (re.compile(r"FAIL", re.IGNORECASE), re.compile(r"ERROR|exceed|mismatch", re.IGNORECASE))


def run_test(name: str, generation: str, words: Sequence[str], seconds: float, action: str, root: str = ROOT) -> Result:
    """``words`` are the program's arguments, ``seconds`` the time that it has."""
    directory = Path(root, generation, "bin")
    program = directory / "hl_qual"
    if not program.is_file():
        why = f"{program} is not there; install the package habanalabs-qual of the driver's release."
        return Result(name, STAGE, UNKNOWN, (why,))
    begun = time.monotonic()
    code, said = _run([str(program), *words], str(directory), seconds)
    took = time.monotonic() - begun
    if code is None:
        # A limit says nothing by itself: what the kernel logged, the cards' counters and other nodes do.
        why = (
            f"hl_qual had not ended after {seconds:.0f} s, and was killed; run it again, and see its report in "
            "/var/log/habana_logs/qual."
        )
        return Result(name, STAGE, UNKNOWN, (why,), (), took, action, seconds)
    if code == 0 and _BAD not in said and _GOOD in said:
        return Result(name, STAGE, PASSED, (), (), took)
    return Result(name, STAGE, FAILED, (_reason(said, code),), (), took, action)


def _run(argv: Sequence[str], directory: str, seconds: float) -> tuple[int | None, str]:
    """Its exit code, None past its time, and what it said. It runs in its own directory, as the vendor has it."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(argv),
            cwd=directory,
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


def _reason(said: str, code: int) -> str:
    """Of what it said, the lines that speak of a failure, or its last one."""
    lines = [one_line(line) for line in said.splitlines() if line.strip()]
    bad = ([line for line in lines if words.search(line) and line != _BAD][:_MOST_LINES] for words in _FAILURES)
    return "; ".join(next(filter(None, bad), lines[-1:]) or [f"hl_qual ended with {code} and said nothing"]) + "."
