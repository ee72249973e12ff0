# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What root has ``gaudi3_scale.tune`` of an environment do on a node before a study: nobody else's environment."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .._node.root_program import root_python

OPTION = "gaudi_tune_venv"
# pip may fetch and build; certificates take no time.
_INSTALL_S, _CERTIFY_S = 1800.0, 120.0


@dataclass(frozen=True)
class Certificates:
    """Where those of a study are, for which address and how long, and who may read them."""

    directory: str
    address: str
    seconds: float
    owner: str


@dataclass(frozen=True)
class Tool:
    """The programs of the environment ``venv``, as root."""

    venv: str
    run: Run
    check_mode: bool

    def install(self) -> bool:
        """Whether packages were, or would be, installed."""
        done = self._ask(["install", *(["--check"] if self.check_mode else [])], _INSTALL_S)
        return "installed" in done.stdout

    def certify(self, wanted: Certificates) -> bool:
        """Whether certificates were made."""
        if self.check_mode:
            return False
        words = ["--directory", wanted.directory, f"--address={wanted.address}", "--seconds", f"{wanted.seconds:f}"]
        done = self._ask(["credentials", *words, "--owner", wanted.owner], _CERTIFY_S)
        return "made" in done.stdout

    def _ask(self, words: list[str], seconds: float) -> CommandResult:
        python = root_python(self.venv, OPTION)
        if not os.access(python, os.X_OK):
            raise self._too_old()
        done = self.run([python, "-I", "-m", "gaudi3_scale.tune", *words], timeout=seconds)
        if done.rc == 2 or "No module named" in done.stderr:
            raise self._too_old()
        if done.rc != 0:
            raise GaudiError(last_line(done.stderr).removeprefix("gaudi3_scale.tune: "))
        return done

    def _too_old(self) -> GaudiError:
        return GaudiError(
            f"{self.venv} is missing, or older than this collection; run playbooks/venv.yml first, or name its venv."
        )
