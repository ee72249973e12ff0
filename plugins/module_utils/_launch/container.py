# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How a job's container is entered on this node: its image, and what it sees of the node."""

from __future__ import annotations

from pathlib import Path

from .._job.container.entry import Entry
from .._job.container.mounts import Mount, check_mounts, on_node, owned_by_node, same_place, without_covered
from .._job.paths import JobPaths
from .._job.plan import Job, starts_in
from .._node.venv_sites import sites_of
from .image_store import image_directory
from .library import DEFAULT_VENV
from .node_programs import ENTER, program_path

LIBRARY = "gaudi3_scale"


def entry_of(job: Job, paths: JobPaths, kernel_root: str) -> Entry | None:
    """None for a job without an image, and for who has no ranks."""
    if not job.image:
        return None
    return Entry(
        python=f"{job.venv}/bin/python",
        program=program_path(paths.rank_programs, ENTER),
        image=image_directory(job.image, paths.images(job.user)),
        name=f"gaudi3-scale-job-{job.name}",
        home=paths.directory,
        device=job.device,
        kernel_root=kernel_root,
        mounts=job_mounts(job, paths),
        own=tuple(sorted(job.environment)),
        library=library_directory(job.venv),
    )


def job_mounts(job: Job, paths: JobPaths) -> tuple[Mount, ...]:
    """What a job on the node has anyway, at the same paths: its directories, its script, and what is beside that."""
    asked = check_mounts(job.mounts, paths.state_directory)
    own = [paths.directory, paths.logs, *filter(None, (job.checkpoint_directory, job.working_directory))]
    beside = script_directory(job, paths)
    is_there = bool(on_node(beside, map(same_place, own)) or on_node(beside, asked))
    scripts = [same_place(beside, read_only=True)] if beside and not is_there else []
    return without_covered([*map(same_place, own), *scripts, *asked])


def script_directory(job: Job, paths: JobPaths) -> str:
    """Where the script lies on the node; "" for a module, for one that is in the image, and among the node's own."""
    if job.command[0] == "-m":
        return ""
    script = Path(starts_in(job, paths), job.command[0])
    directory = str(script.parent)
    return directory if script.is_file() and not owned_by_node(directory, paths.state_directory) else ""


def library_directory(venv: str) -> str:
    """The node library, which is no matter of Python's version; "" where the node has none."""
    sites = [site for one in dict.fromkeys((venv, DEFAULT_VENV)) for site in sites_of(one)]
    return next((str(site / LIBRARY) for site in sites if (site / LIBRARY / "__init__.py").is_file()), "")
