# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The largest batch that fits with a study's values on this node, by the very probe of probe_batch_size.yml."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping

from gaudi3_scale.core._batch.probe.batch_probe import STATE_DIRECTORY, Probe, parse_size, probe
from gaudi3_scale.core._batch.trial import Workload
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.environment_file import assignment
from gaudi3_scale.core._tune.space import BATCH_SIZE, Range
from gaudi3_scale.core._tune.study import Study
from gaudi3_scale.tune.sample import MEMORY, CannotFitError, setup_of


class ProbedBound:
    """Asks the probe once for each setup; what it found is kept on the node, so a study that goes on asks nothing."""

    def __init__(self, study: Study, say: Callable[..., None]) -> None:
        self._study = study
        self._say = say
        self._known: dict[str, int | str] = {}

    def __call__(self, params: Mapping[str, Any], flags: Mapping[str, str]) -> int | None:
        """The largest size, or None where nothing is probed; raises CannotFitError where not even one sample fits."""
        if self._study.probe is None:
            return None
        setup = setup_of(self._study, params, flags)
        if setup not in self._known:
            self._known[setup] = self._ask(params, flags)
            reported = {name: params[name] for name in (*MEMORY, "accumulation") if name in params}
            self._say("probe", fits=self._known[setup], **reported, **flags)
        known = self._known[setup]
        if isinstance(known, str):
            raise CannotFitError(known)
        return known

    def _ask(self, params: Mapping[str, Any], flags: Mapping[str, str]) -> int | str:
        with tempfile.TemporaryDirectory(prefix="gaudi3-scale-tune-") as directory:
            path = Path(directory, "environment")
            variables = {**self._study.environment, **flags}
            path.write_text("".join(f"{assignment(name, value)}\n" for name, value in variables.items()))
            wanted = wanted_probe(self._study, params, (str(path),))
            try:
                answer: dict[str, Any] = probe(wanted)
                size: int | str = answer["batch_size"]
                return size
            except GaudiError as error:
                return str(error)


def wanted_probe(study: Study, params: Mapping[str, Any], environment_files: tuple[str, ...]) -> Probe:
    """The probe of a trial with these values."""
    asked = study.probe or {}
    options = dict(asked["options"])
    if study.built_in:
        options.update({name: params[name] for name in MEMORY if name in params})
        options.update({"accumulation": min(params.get("accumulation", 1), 2)} if "accumulation" in params else {})
        options.update({"sharding": "ddp"} if study.processes > 1 else {})
    batch = next(one for one in study.space if one.name == BATCH_SIZE)
    most = batch.high if isinstance(batch, Range) else max(batch.values)
    workload = Workload(
        function=asked["workload"],
        options=options,
        steps=int(asked["steps"]),
        device=study.device,
        memory_limit=None if asked["memory_limit"] is None else parse_size(str(asked["memory_limit"])),
        processes=study.processes,
    )
    return Probe(
        workload=workload,
        maximum=int(most or asked["maximum"]),
        multiple_of=int(asked["multiple_of"]),
        timeout=study.timeout,
        venv=sys.prefix,
        environment_files=(*map(str, asked["environment_files"]), *environment_files),
        # What it finds is kept where the account of the job may write.
        state_directory=os.environ.get("GAUDI3_SCALE_JOB_DIR", STATE_DIRECTORY),
    )
