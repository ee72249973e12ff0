# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a job's container sees of a node, and whether its image is fit; an engine answers as the image would."""

from __future__ import annotations

import getpass
import json
import platform
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.mounts import same_place
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.container import entry_of, job_mounts
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.image_check import check_image
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.image_store import ARCHITECTURES, image_directory
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.described_job import described_job, job_on
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

DIGEST = f"sha256:{'0a' * 32}"
IMAGE = f"registry.example.org/team/train@{DIGEST}"
HERE = ARCHITECTURES.get(platform.machine(), platform.machine())
WELL = {"python": [3, 12], "torch": True, "packages": {"habana-torch-plugin": "1.24.1.482", "torch": "2.11.0"}}


class Engine:
    """Starts nothing; the image's Python answers as it was told to."""

    def __init__(self, found=None, *, rc=0, stderr=""):
        self.result = CommandResult(rc, "" if found is None else f"{json.dumps(found)}\n", stderr)
        self.asked = []

    def __call__(self, argv, *, timeout=None, env=None):
        self.asked.append(list(argv))
        return self.result


@pytest.fixture
def paths(tmp_path):
    return JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"))


@pytest.fixture
def job(tmp_path, paths):
    """On a node that has its image and a script beside others."""
    node = tmp_path / "node"
    found = replace(job_on(node), image=IMAGE, device="hpu", command=(str(node / "x.py"),), working_directory="")
    place = Path(image_directory(IMAGE, paths.images(getpass.getuser())))
    (place / "rootfs/opt").mkdir(parents=True)
    (place / "rootfs/opt/baked.py").touch()
    keep(place, {"os": "linux", "architecture": HERE})
    return found


def keep(place: Path, configuration: object) -> None:
    (place / "image.json").write_text(json.dumps(configuration))


@pytest.fixture
def kernel(tmp_path):
    return str(write_kernel(tmp_path / "kernel"))


def checked(job, paths, kernel, engine):
    return check_image(job, paths, engine, entry_of(job, paths, kernel))


def refused(job, paths, kernel, engine):
    with pytest.raises(GaudiError) as caught:
        checked(job, paths, kernel, engine)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_job_without_an_image_enters_nothing(paths):
    assert entry_of(described_job(), paths, "/") is None


def test_it_sees_its_directories_and_what_is_beside_its_script(job, paths, tmp_path):
    data = replace(job, mounts=("/data:/mnt:ro",), checkpoint_directory="/checkpoints")
    assert [mount.word for mount in job_mounts(data, paths)] == sorted(
        [
            f"{paths.directory}:{paths.directory}:rw",
            f"{paths.logs}:{paths.logs}:rw",
            "/checkpoints:/checkpoints:rw",
            f"{tmp_path}/node:{tmp_path}/node:ro",
            "/data:/mnt:ro",
        ],
        key=lambda word: word.split(":")[1],
    )


@pytest.mark.parametrize("changes", [{"command": ("-m", "mine")}, {"command": ("/opt/baked.py",)}])
def test_what_is_no_script_of_the_node_brings_nothing(job, paths, changes):
    places = {same_place(paths.directory), same_place(paths.logs)}
    assert set(job_mounts(replace(job, **changes), paths)) == places


def test_a_script_in_the_working_directory_is_there_already_and_can_be_written_beside(job, paths, tmp_path):
    inside = replace(job, command=("x.py",), working_directory=str(tmp_path / "node"))
    assert same_place(f"{tmp_path}/node") in job_mounts(inside, paths)


def test_an_image_that_fits_is_taken_and_asked_as_the_ranks_will_be(job, paths, kernel):
    engine = Engine(WELL)
    assert checked(job, paths, kernel, engine) == []
    (words,) = engine.asked
    assert words[words.index("--image") + 1].endswith(DIGEST.replace(":", "-"))
    assert "importlib" in words[-1]


@pytest.mark.parametrize("packages", [["habana-torch-plugin"], "1.16.0", {"habana-torch-plugin": 5}, None])
def test_an_image_says_what_it_likes_of_its_packages(job, paths, kernel, packages):
    assert "says nothing of its release" in checked(job, paths, kernel, Engine({**WELL, "packages": packages}))[0]


def test_a_script_in_the_image_will_do(job, paths, kernel):
    assert checked(replace(job, command=("/opt/baked.py",)), paths, kernel, Engine(WELL)) == []


def test_an_image_that_does_not_tell_its_release_is_taken_with_a_remark(job, paths, kernel):
    (remark,) = checked(job, paths, kernel, Engine({**WELL, "packages": {}}))
    assert "says nothing of its release" in remark
    # Without cards there is nothing to compare it with.
    assert checked(replace(job, device="cpu"), paths, kernel, Engine({**WELL, "packages": {}})) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({**WELL, "packages": {"habana-torch-plugin": "1.16.0.526"}}, "is of release 1.16.0 (habana-torch-plugin"),
        ({**WELL, "torch": False}, "has no torch for its python3; use an image with PyTorch"),
        ({**WELL, "torch": "yes"}, "has no torch for its python3"),
        ({**WELL, "python": [3, 8]}, "has Python 3.8, and ranks need 3.9 or newer there"),
        ({}, "has Python none, and ranks need 3.9 or newer there"),
        ({**WELL, "python": ["3", None]}, "has Python none"),
        ({**WELL, "python": "3.12"}, "has Python none"),
    ],
)
def test_an_image_that_is_not_fit_is_refused(job, paths, kernel, found, said):
    assert said in refused(job, paths, kernel, Engine(found))


# As podman 4.3 with crun 1.8 says it.
@pytest.mark.parametrize(
    ("stderr", "rc", "said"),
    [
        (
            "Error: crun: executable file `python3` not found in $PATH: No such file or directory: OCI runtime error",
            127,
            "has no python3 on its path, by which ranks are started",
        ),
        ("Error: cannot set up namespace", 125, "no container of image registry.example.org/team/train@sha256:"),
        ("", 124, "did not start within 120 s; look at the node"),
    ],
)
def test_a_container_that_does_not_start_is_said(job, paths, kernel, stderr, rc, said):
    assert said in refused(job, paths, kernel, Engine(rc=rc, stderr=stderr))


def test_what_the_image_prints_need_not_be_an_answer(job, paths, kernel):
    assert "answers 'no message'" in refused(job, paths, kernel, Engine())


def test_an_image_that_is_not_there_is_said_before_anything_is_started(job, paths, kernel):
    engine = Engine(WELL)
    other = replace(job, image=IMAGE.replace("0a", "0b"))
    assert "is not on this node; run playbooks/launch_training.yml" in refused(other, paths, kernel, engine)
    assert engine.asked == []


def test_an_image_of_another_machine_is_said(job, paths, kernel):
    keep(Path(image_directory(IMAGE, paths.images(getpass.getuser()))), {"os": "linux", "architecture": "s390y"})
    assert "is for linux/s390y" in refused(job, paths, kernel, Engine(WELL))


def test_a_label_counts_before_packages(job, paths, kernel):
    labeled = {"os": "linux", "architecture": HERE, "config": {"Labels": {"scale.gaudi3.release": "1.23.0-695"}}}
    keep(Path(image_directory(IMAGE, paths.images(getpass.getuser()))), labeled)
    assert "of release 1.23.0 (its label scale.gaudi3.release)" in refused(job, paths, kernel, Engine(WELL))


def test_what_is_to_be_mounted_must_be_there(job, paths, kernel, tmp_path):
    absent = replace(job, mounts=(f"{tmp_path}/absent",))
    assert f"mounts: there is no {tmp_path}/absent on this node" in refused(absent, paths, kernel, Engine(WELL))


def test_a_script_that_the_container_would_not_see_is_refused(job, paths, kernel):
    absent = replace(job, command=("/opt/absent.py",))
    assert "command: there is no script '/opt/absent.py' in the image, nor on" in refused(
        absent, paths, kernel, Engine(WELL)
    )
