# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The training environment as values: what the options come to, what is at the path, and which files it should have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence

from .._node.rendered_files import FileChange, WantedFile, pending, read_text, write
from .._releases.lookup import Release
from . import plan as venv_plan
from .node_library import NodeLibrary
from .pins import Pin, render
from .plan import Asked, Stamp, VenvOptions
from .private_files import own_if_secret


@dataclass(frozen=True)
class Wanted:
    """What the options come to. ``pins`` are all that hold; ``asked`` has those that this environment needs."""

    options: VenvOptions
    release: Release
    library: NodeLibrary
    pins: list[Pin]
    asked: Asked


@dataclass(frozen=True)
class VenvState:
    """What is at the path. ``foreign``: something is there that this collection did not make."""

    stamp: Stamp | None
    installed: Mapping[str, str]
    runnable: bool
    foreign: bool


def read(options: VenvOptions) -> VenvState:
    """Look at the path; starts no process."""
    path = Path(options.path)
    stamp_text = read_text(str(path / venv_plan.STAMP))
    entries = [entry.name for site in path.glob("lib/python3*/site-packages") for entry in site.iterdir()]
    return VenvState(
        stamp=venv_plan.parse_stamp(stamp_text),
        installed=venv_plan.installed_distributions(entries),
        # ensurepip writes bin/pip last.
        runnable=(path / "bin/python").exists() and (path / "bin/pip").exists(),
        foreign=stamp_text is None and path.exists() and (not path.is_dir() or any(path.iterdir())),
    )


def settings(wanted: Wanted, wheels: Mapping[str, str], unpinned: Sequence[str]) -> list[WantedFile]:
    """The files that tell pip what may be installed; ``wheels`` are the bundle's, with their versions."""
    options = wanted.options
    builds = venv_plan.render_constraints(wheels, wanted.release, wanted.library)
    pins = render(pin for pin in wanted.pins if pin.name not in unpinned)
    page = venv_plan.render_wheels_page(options) if options.signed_wheels else None
    return [
        own_if_secret(options.constraints, builds),
        WantedFile(f"{options.path}/{venv_plan.PINS_FILE}", pins),
        WantedFile(f"{options.path}/{venv_plan.WHEELS_PAGE}", page),
        pip_conf(options),
    ]


def pip_conf(options: VenvOptions) -> WantedFile:
    """pip's own file in the environment."""
    return own_if_secret(f"{options.path}/pip.conf", venv_plan.render_pip_conf(options))


def write_pending(wanted: Sequence[WantedFile]) -> list[FileChange]:
    """Write those that are not as wanted; returns them."""
    changes = pending(wanted)
    for change in changes:
        write(change)
    return changes
