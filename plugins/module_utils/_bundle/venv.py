# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The training environment from a package repository that may be a bundle."""

from __future__ import annotations

from pathlib import Path

from .._node.commands import Run
from .._venv import state
from .._venv.plan import VenvOptions
from .._venv.repository import Repository
from .bundle_site import RECORD, Site, recorded


def converge(options: VenvOptions, run: Run, check_mode: bool, record: str = RECORD) -> dict[str, object]:
    """As :func:`_venv.state.converge`; ``record`` is what an earlier run verified of the repository."""

    def fresh(packages_url: str, run: Run) -> Site | None:
        # What asks the package repository is much of the code, and most runs install nothing.
        from . import asking

        return asking.fresh(packages_url, run, record)

    repository = Repository(str(Path(record).parent), lambda packages_url: recorded(packages_url, record), fresh)
    return state.converge(options, run, check_mode, repository)
