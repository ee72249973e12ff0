# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The node library by which a node runs its supervisor: which venv has it, and its version."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .._errors import GaudiError
from .._job.description import RANK_ARGUMENTS
from .._job.plan import Job
from .._node.commands import Run, last_line
from .._node.job_user import run_as_user
from .._node.json_file import parse_object

# What the role gaudi_venv makes. A venv of the user's own may have PyTorch and nothing of ours.
DEFAULT_VENV = str(RANK_ARGUMENTS["venv"]["default"])
LOOK = """
import importlib.metadata, importlib.util, json
def found(module):
    return importlib.util.find_spec(module) is not None
try:
    version = importlib.metadata.version("gaudi3-scale")
except importlib.metadata.PackageNotFoundError:
    version = ""
print(json.dumps({"version": version, "supervisor": found("gaudi3_scale") and found("gaudi3_scale.supervisor")}))
"""
LOOK_SECONDS = 60.0
# PEP 440; what else a venv says of itself is shown to nobody.
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,128}")


@dataclass(frozen=True)
class Library:
    """``venv`` is the one that runs the supervisor. ``version`` "": there is no supervisor in it, and ``old`` is the
    version that it has all the same; "": none.
    """

    venv: str
    version: str = ""
    old: str = ""


def library_of(job: Job, run: Run) -> Library:
    """The first that has a supervisor: the job's venv, then the default one. None of them: what the job's has."""
    found = [_look(job, venv, run) for venv in dict.fromkeys((job.venv, DEFAULT_VENV))]
    return next((library for library in found if library.version), found[0])


def check_library(library: Library) -> None:
    """Refuse a node that cannot run a supervisor; in the same words on each, since a launch says them once."""
    if library.version:
        return
    has = f"gaudi3_scale {library.old}, which has no supervisor" if library.old else "no gaudi3_scale"
    other = "" if library.venv == DEFAULT_VENV else f", and {DEFAULT_VENV} has none either"
    raise GaudiError(
        f"no supervisor can be run here: {library.venv} has {has}{other}; run "
        "playbooks/venv.yml (role gaudi_venv) on this node, or name its venv in venv "
        "(training_venv)."
    )


def _look(job: Job, venv: str, run: Run) -> Library:
    """Isolated, as the supervisor runs, and as its account: what a venv brings is executed when it is looked at."""
    python = f"{venv}/bin/python"
    if not os.access(python, os.X_OK):
        return Library(venv)
    try:
        done = run_as_user(job.user, [python, "-I", "-c", LOOK], run, timeout=LOOK_SECONDS)
    except GaudiError:
        # An account that is not there, which has a sentence of its own.
        return Library(venv)
    if done.rc == 124:
        raise GaudiError(
            f"it is unknown what {venv} has: its Python did not finish within {LOOK_SECONDS:g} s; try again, and check "
            "how fast its storage is read."
        )
    try:
        reported = parse_object(last_line(done.stdout))
    except ValueError:
        # A Python that does not run.
        return Library(venv)
    version = str(reported.get("version") or "")
    # Without a version it was not installed, and nobody could tell it from another one.
    if not _VERSION.fullmatch(version):
        return Library(venv)
    return Library(venv, version) if reported.get("supervisor") is True else Library(venv, old=version)
