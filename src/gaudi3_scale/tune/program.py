# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a study's trials start in the operator's own words: where they start, and whether it finds what it imports."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gaudi3_scale.core._batch.probe.probe import check_imports
from gaudi3_scale.core._batch.trial import Workload
from gaudi3_scale.core._job.program_imports import PYTHONPATH, RUN, Looked, check_found
from gaudi3_scale.core._node.commands import run_process
from gaudi3_scale.core._tune.study import Study

# The role's variable with the trials' own variables.
VARIABLE = "gaudi_tune_environment"
JOB_DIRECTORY = "GAUDI3_SCALE_JOB_DIR"


def place_of(directory: Path) -> Path:
    """Where a trial starts: in the study's working directory, or in ``directory``, its own, where there is none.

    This process was started there, or in its job's own directory.
    """
    own = os.environ.get(JOB_DIRECTORY)
    here = Path.cwd()
    return directory if own is None or here == Path(own).resolve() else here


def check_program(study: Study, directory: Path) -> None:
    """Raises GaudiError where this node lacks the program, its bound's workload, or what either imports first.

    A trial would take minutes to say so, and be made again.
    """
    environment = {**os.environ, **study.environment}
    if study.probe is not None:
        check_imports(Workload(study.probe["workload"]), sys.prefix, None, environment, VARIABLE, run_process)
    if study.built_in:
        return
    first, second = study.command[0], (*study.command, "")[1]
    start = place_of(directory)
    places = (str(start) if first == RUN else "", environment.get(PYTHONPATH, ""))
    program = second if first == RUN else str(Path(start, first))
    check_found(
        program,
        Looked("gaudi_tune_command", VARIABLE, sys.prefix, None, RUN if first == RUN else ""),
        {**study.environment, PYTHONPATH: os.pathsep.join(filter(None, places))},
        run_process,
    )
