# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the engine runs in: a layer on the training environment, or a container image, brought to this node once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._containers.image_reference import Reference
from .._job.container.entry import Entry
from .._job.container.mounts import Mount, same_place
from .._job.container.reference import parse_reference
from .._launch.image_store import ImageOptions, bring, resolve
from .._launch.node_programs import CORE, ENTER, program_path
from .._node.commands import Run
from .._node.job_user import exists
from .._node.kernel_tree import kernel_tree
from .._venv.program_install import ProgramOptions, converge
from . import model_check
from .control import ACCOUNT, ServingPaths
from .engines import Engine

CHECK = model_check.__name__[len(CORE) + 1 :].replace(".", "/")
SYSTEM_PYTHON = "/usr/bin/python3"
TO_COME = "to be installed"
TIMEOUT_S = 3600


@dataclass(frozen=True)
class RuntimeOptions:
    """``image`` "": the engine is installed on ``venv``."""

    image: str
    venv: str
    plain_http_hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Runtime:
    """``venv`` is the layer's directory, or ``image`` a reference with a digest, unpacked in ``directory``."""

    venv: str = ""
    image: str = ""
    directory: str = ""

    @property
    def name(self) -> str:
        return self.image or self.venv

    @property
    def program(self) -> str:
        return "vllm" if self.image else f"{self.venv}/bin/vllm"


def check_runtime(options: RuntimeOptions) -> Reference | None:
    """GaudiError for an image that cannot be meant, before anything is asked of a registry."""
    return parse_reference(options.image) if options.image else None


def look_at_runtime(options: RuntimeOptions, engine: Engine, run: Run, *, check_mode: bool) -> tuple[Runtime, bool]:
    """What it will be, and whether it has still to be brought. GaudiError for what cannot be had.

    Check mode may meet a node without the account or the environment that an earlier task would have made.
    """
    is_there = exists(ACCOUNT) and (options.image or Path(options.venv, "bin/python").exists())
    if check_mode and not is_there:
        return Runtime(venv=TO_COME, image=options.image, directory=TO_COME), True
    return _runtime(options, engine, run, check_mode=True)


def bring_runtime(options: RuntimeOptions, engine: Engine, run: Run) -> None:
    """Install it, or fetch and unpack it."""
    _runtime(options, engine, run, check_mode=False)


def _runtime(options: RuntimeOptions, engine: Engine, run: Run, *, check_mode: bool) -> tuple[Runtime, bool]:
    reference = check_runtime(options)
    if reference is None:
        text = "".join(f"{line}\n" for line in engine.requirements)
        done = converge(ProgramOptions(options.venv, text, ACCOUNT, TIMEOUT_S), run, check_mode)
        return Runtime(venv=str(done["venv"])), bool(done["changed"])
    asked = ImageOptions(reference, ACCOUNT, options.plain_http_hosts, TIMEOUT_S)
    pinned = reference if reference.digest else resolve(asked, run)[0]
    done = bring(ImageOptions(pinned, ACCOUNT, options.plain_http_hosts, TIMEOUT_S), run, check_mode=check_mode)
    return Runtime(image=pinned.pinned, directory=str(done["directory"])), bool(done["changed"])


def in_container(runtime: Runtime, paths: ServingPaths, shown: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """The words before the engine's own, by which its unit enters the image as a job does: the cards as devices that
    the node's CDI specification names. ``shown`` are root's files and directories that it reads.
    """
    mounts = (Mount(path, path, read_only=True) for path in shown)
    entry = Entry(
        python=SYSTEM_PYTHON,
        program=program_path(paths.programs, ENTER),
        image=runtime.directory,
        name=paths.unit.removesuffix(".service"),
        home=paths.home,
        device="hpu",
        kernel_root=kernel_tree(),
        mounts=(same_place(paths.home), *mounts),
        own=tuple(sorted(own)),
    )
    return entry.argv()


def check_argv(paths: ServingPaths, model: str, version: str) -> tuple[str, ...]:
    """What looks at the model before each start."""
    return (SYSTEM_PYTHON, "-I", "-S", program_path(paths.programs, CHECK), model, version)
