# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The two programs that fill a training environment, ``python -m venv`` and pip, and what to make of their failures."""

from __future__ import annotations

import re
import shutil
from typing import Sequence

from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .._node.root_program import require_roots, root_python
from .._node.secret_words import without_credentials
from .plan import VenvOptions

LAST_LINES = 15
# Without its pyvenv.cfg an environment's python is the system's, and pip would fill the system.
_ONLY_IN_VENV = {"PIP_REQUIRE_VIRTUALENV": "1"}
# How pip names what has another hash: "    sympy==1.14.0 from https://... (from ...):".
_OTHER_FILE = re.compile(r"^ +(\S+ from \S+)(?: \(.*\))?:$")
_PYTHON_REPORT = "import ensurepip, sys, venv; print(*sys.version_info[:2])"


def python_version(options: VenvOptions, run: Run) -> tuple[int, int]:
    """Major and minor version of ``options.python``, if it can make a virtual environment at all."""
    require_roots(shutil.which(options.python) or options.python, "python")
    done = run([options.python, "-I", "-c", _PYTHON_REPORT], timeout=60)
    if done.rc != 0:
        said = last_line(done.stderr)
        raise GaudiError(
            f"python '{options.python}' cannot make a virtual environment ({said}); install its venv package, or set "
            "python to another one.",
            python=options.python,
        )
    version = re.fullmatch(r"([0-9]{1,3}) ([0-9]{1,3})", done.stdout.strip())
    if version is None:
        raise GaudiError(
            f"python '{options.python}' does not say which Python it is; set python to an interpreter.",
            python=options.python,
        )
    return int(version[1]), int(version[2])


def make(options: VenvOptions, run: Run) -> None:
    """``python -m venv`` in the directory of the environment."""
    require_roots(options.path, "path")
    done = run([options.python, "-I", "-m", "venv", options.path], timeout=options.timeout)
    if done.rc != 0:
        raise failure(f"{options.python} -m venv", options, done)


def install(options: VenvOptions, what: Sequence[str], scratch: str, run: Run) -> None:
    """Let the environment's own pip install wheel files and requirements in one go, so that they agree."""
    if not what:
        return
    pip = [root_python(options.path, "path"), "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    settings = ["--no-cache-dir", "--progress-bar", "off", "-c", options.constraints]
    # pip unpacks in TMPDIR: with it beside the environment, the space that was checked is the space that is used.
    done = run([*pip, *settings, *what], timeout=options.timeout, env={"TMPDIR": scratch, **_ONLY_IN_VENV})
    if done.rc != 0:
        raise failure("pip", options, done)


def replace_same_version(options: VenvOptions, requirements: str, scratch: str, run: Run) -> None:
    """Install what the file names though its version is there already, which pip takes for the same content."""
    install(options, ["--no-deps", "--no-index", "--force-reinstall", "-r", requirements], scratch, run)


def failure(program: str, options: VenvOptions, done: CommandResult) -> GaudiError:
    """The program's first error as a sentence with a remedy, and its last lines."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    said = first_error(lines)
    wrong = next((found[1] for found in map(_OTHER_FILE.match, lines) if found), "")
    if wrong:
        said = f"{wrong} does not have the expected hash"
    end = lines[-LAST_LINES:]
    sentence = f"{program} cannot fill the training environment {options.path}: {said}; {_remedy(lines, options)}."
    # pip masks an index's password itself, and no other address's.
    return GaudiError(without_credentials("\n".join([sentence, "The last lines are:", *end])), rc=done.rc)


def first_error(lines: Sequence[str]) -> str:
    """pip's first error, else the last line that there is; without its full stop."""
    errors = [line.partition("ERROR: ")[2] for line in lines if line.startswith("ERROR: ")]
    return (errors or [line.strip() for line in lines[-1:]] or ["no message"])[0].partition(". ")[0].rstrip(".")


def _remedy(lines: Sequence[str], options: VenvOptions) -> str:
    text = "\n".join(lines)
    index = options.index_url or "pip's own index"
    if "DO NOT MATCH THE HASHES" in text:
        return f"{index} has another file than the expected one: find out who changed it, or correct pins"
    if "require-hashes mode" in text:
        return "give each package that is named below with its version and its hashes in pins, or set hashes to false"
    if "No space left" in text:
        return "free space there, or choose another path"
    if re.search(r"connection|connect to proxy|Name or service|name resolution|timed out|not a trusted", text):
        return f"check this node's route and proxy to {index}, or set index_url to a mirror that it reaches"
    if re.search(r"ResolutionImpossible|conflicting", text):
        return "change requirements or pins so that they agree with each other and with the bundle"
    if re.search(r"No matching distribution|Could not find a version", text):
        return f"correct requirements, or have the package put into {index}"
    return "see the lines below, then run again"
