# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a job's image is on this node, starts here, has what ranks need, and fits the node's driver.

The container is started as the ranks' own will be, and asked; no label says whether podman works on a node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._cards.accel_sysfs import accel_devices
from .._cards.node_system import read_system
from .._containers.image_release import PACKAGES, ImageRelease, refuse_unfit, release_of, unknown_remark
from .._containers.image_unpack import ROOT, inside
from .._errors import GaudiError
from .._job.binding.topology import HPU
from .._job.container.enter import PYTHON
from .._job.container.entry import Entry
from .._job.container.mounts import check_mounts, on_node
from .._job.container.reference import parse_pinned
from .._job.paths import JobPaths
from .._job.plan import Job, starts_in
from .._node.account_directory import acting_as
from .._node.commands import Run, last_line
from .._node.job_user import account, run_as_user
from .._node.json_file import parse_object
from .._node.oldest_python import OLDEST_PYTHON, OLDEST_PYTHON_NAME
from .._node.unit_words import unexpanded
from .confinement import confined
from .image_store import read_image, refuse_architecture
from .node_programs import ENTER, install

LOOK_SECONDS = 120.0
# Nothing of it is imported.
LOOK = f"""
import importlib.metadata, importlib.util, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
packages = {{name: version(name) for name in {(*PACKAGES, "torch")!r}}}
torch = importlib.util.find_spec("torch") is not None
print(json.dumps({{"python": list(sys.version_info[:2]), "torch": torch, "packages": packages}}))
"""


def check_image(job: Job, paths: JobPaths, run: Run, entry: Entry) -> list[str]:
    """Raises GaudiError where the ranks could not begin in the image here; returns what is to be said of it."""
    configuration = _configuration(job, entry)
    refuse_architecture(parse_pinned(job.image), configuration)
    _check_mounts(job, paths, entry)
    found = look(job, paths, run, entry)
    python = _version(found.get("python"))
    if python < OLDEST_PYTHON:
        version = ".".join(map(str, python)) or "none"
        raise GaudiError(
            f"image {job.image} has Python {version}, and ranks need {OLDEST_PYTHON_NAME} or newer "
            "there; use an image that has it."
        )
    if found.get("torch") is not True:
        raise GaudiError(
            f"image {job.image} has no torch for its {PYTHON}; use an image with PyTorch, such as the vendor's "
            "pytorch-installer of the node's release."
        )
    if job.device != HPU:
        return []
    of_image = _release(job, configuration, found)
    refuse_unfit(job.image, of_image, _driver(entry.kernel_root), read_system().os)
    return [] if of_image.release else [unknown_remark(job.image)]


def _configuration(job: Job, entry: Entry) -> Mapping[str, Any]:
    found = read_image(entry.image, account(job.user))
    if found is None:
        raise GaudiError(
            f"image {job.image} is not on this node; run playbooks/launch_training.yml, which brings it to all hosts "
            "of the job."
        )
    return found


def _release(job: Job, configuration: Mapping[str, Any], found: Mapping[str, Any]) -> ImageRelease:
    about = configuration.get("config")
    labels = about.get("Labels") if isinstance(about, dict) else None
    return release_of(_texts(labels), _texts(found.get("packages")), job.image.partition("@")[0])


def _version(found: object) -> tuple[int, ...]:
    """Empty for what is none: an image prints what it likes."""
    parts = found if isinstance(found, list) else []
    return tuple(part for part in parts if isinstance(part, int)) if len(parts) == len(OLDEST_PYTHON) else ()


def _texts(found: object) -> dict[str, str]:
    pairs = found.items() if isinstance(found, dict) else ()
    return {str(name): value for name, value in pairs if isinstance(value, str)}


def _driver(kernel_root: str) -> str:
    return next((card.driver_version for card in accel_devices(kernel_root) if card.driver_version), "")


def _check_mounts(job: Job, paths: JobPaths, entry: Entry) -> None:
    for mount in check_mounts(job.mounts, paths.state_directory):
        if not Path(mount.source).exists():
            raise GaudiError(
                f"mounts: there is no {mount.source} on this node; create it on every host of the job, or leave it out."
            )
    wrong = next((mount for mount in entry.mounts if set(mount.source) & set(":,")), None)
    if wrong:
        raise GaudiError(f"{wrong.source} has a colon or a comma and cannot be mounted; rename that directory.")
    if job.command[0] == "-m":
        return
    script = str(Path(starts_in(job, paths), job.command[0]))
    here = on_node(script, entry.mounts)
    with acting_as(account(job.user)):
        root = Path(entry.image, ROOT)
        is_there = Path(here).is_file() if here else inside(root, Path(script).parts[1:]).is_file()
    if not is_there:
        raise GaudiError(
            f"command: there is no script {script!r:.200} in the image, nor on this node in a directory that the "
            "container sees; put it into a directory of its own on every host, or name its directory in mounts "
            "(gaudi_training_mounts)."
        )


def look(job: Job, paths: JobPaths, run: Run, entry: Entry) -> Mapping[str, Any]:
    """What the image's own Python says, in a container as the ranks have it but for the job's own directories, which
    need not be there yet; GaudiError where it does not start."""
    install(paths.rank_programs, ENTER)
    mounts = check_mounts(job.mounts, paths.state_directory)
    bare = replace(entry, name=f"{entry.name}-look", home="/tmp", mounts=mounts)
    words = (*bare.argv(), PYTHON, "-I", "-c", LOOK)
    done = run_as_user(job.user, words, run, timeout=LOOK_SECONDS, limits=confined(job, paths, unexpanded))
    if done.rc == 124:
        raise GaudiError(f"a container of image {job.image} did not start within {LOOK_SECONDS:g} s; look at the node.")
    if done.rc != 0:
        said = last_line(done.stderr).rstrip(".")[-300:]
        if f'"{PYTHON}"' in said or f"`{PYTHON}`" in said or f"{PYTHON}: " in said:
            raise GaudiError(
                f"image {job.image} has no {PYTHON} on its path, by which ranks are started; use an image with Python "
                "and PyTorch."
            )
        raise GaudiError(f"no container of image {job.image} can be started here: {said}.")
    try:
        return parse_object(last_line(done.stdout))
    except ValueError as error:
        raise GaudiError(f"the Python of image {job.image} answers {last_line(done.stdout)!r:.80}: {error}.") from error
