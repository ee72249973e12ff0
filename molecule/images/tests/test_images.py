# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs in containers of a real podman over two nodes: they lose a rank and a node, and leave nothing behind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sandbox import cluster
from sandbox.slurm import ensure_slurm
from tests.long_rows import named_rows
from tests.sandbox_jobs import (
    play,
    processes,
    rank_of,
    shell,
    start_node,
    status,
    steps,
    stop_node,
    wait_for,
    wait_for_members,
    wait_for_steps,
)
from tests.sandbox_nodes import SANDBOX
from tests.sandbox_programs import PROGRAMS, SHARED, Program, lose_a_rank, resumed_from
from tests.site_images import ARCHIVE, MARK, STORE, TEAM, VENV, digest_of

NODES = ["node1", "node2"]
IMAGE = f"{TEAM}/train:1.24.1-482"
PORT = 29600
# What every job here is given beside its program.
CONTAINER: dict[str, Any] = {
    "gaudi_training_image": IMAGE,
    "gaudi_training_mounts": [f"{VENV}:ro"],
    "gaudi_plain_http_hosts": ["packages.sandbox.internal", "node1"],
}
PROGRAM = Program("contained", "bare_ddp.py", "{directory} --epochs 40", "snapshot.pt", r"from snapshot at epoch (\d+)")
COUNTING = "/srv/counting.py"
HELD, SECRET = "held", "only-the-ranks-know"


def launched(directory: Path, playbook: str = "launch_training", **changes: Any) -> tuple[int, str]:
    return play(
        directory,
        playbook,
        **{
            **CONTAINER,
            "gaudi_training_hosts": NODES,
            "gaudi_training_processes_per_node": 1,
            "gaudi_training_follow_interval": 1,
            "gaudi_training_environment": {"OMP_NUM_THREADS": "1"},
            **changes,
        },
    )


def test_a_job_in_containers_loses_a_rank_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell("node1", f"install -d -o gaudi -g gaudi {PROGRAM.directory}")
    job = lose_a_rank(
        PROGRAM, NODES, tmp_path, PORT, gaudi_training_checkpoint_directory=PROGRAM.directory, **CONTAINER
    )
    with capsys.disabled():
        print(f"in containers: resumed {job.resumed_s:.0f} s after a rank was killed")
    assert job.exit_code == 0, job.said
    reported = status(job.node, PROGRAM.name)
    assert (reported["outcome"], reported["restarts"]) == ("succeeded", 1), job.said
    resumed = {node: resumed_from(node, PROGRAM) for node in NODES}
    assert resumed[NODES[0]] == resumed[NODES[1]], resumed
    assert len(resumed[NODES[0]]) == 1
    # The tag was looked up once, and both nodes have what it meant then.
    digest = digest_of(IMAGE)
    flat = " ".join(job.said.split())
    assert f"Bringing {TEAM}/train@{digest} to 2 node(s)." in flat
    assert "It is on all 2 node(s), fetched by node1, node2 in " in flat
    for node in NODES:
        assert shell(node, f"ls {STORE}").split() == [digest.replace(":", "-")]
        assert shell(node, f"find {STORE} ! -user gaudi -o -perm /6000 ! -type d").strip() == ""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A job in containers that goes on for as long as it is looked at; on one node where the other is away."""
    directory = f"{SHARED}/{HELD}"
    shell("node1", f"install -d -o gaudi -g gaudi {directory}")
    wanted = {
        "gaudi_training_name": HELD,
        "gaudi_training_command": [COUNTING, directory, "100000"],
        "gaudi_training_checkpoint_directory": directory,
        "gaudi_training_rendezvous_port": PORT + 10,
        "gaudi_training_environment": {"OMP_NUM_THREADS": "1", "SITE_TOKEN": SECRET},
        "gaudi_training_min_nodes": 1,
        "gaudi_training_grow_after": 3,
        "gaudi_training_follow": False,
    }
    code, said = launched(tmp_path_factory.mktemp("held"), **wanted)
    assert code == 0, said
    wait_for_members(NODES, HELD)
    wait_for("ranks", lambda: all(any(" -u " in one for one in processes(node, HELD).values()) for node in NODES))
    yield wanted
    code, said = launched(tmp_path_factory.mktemp("stopped"), "stop_training", **wanted)
    assert code == 0, said


@pytest.mark.in_turn("held")
@pytest.mark.usefixtures("held")
def test_a_rank_is_in_the_image_in_the_unit_and_has_no_power() -> None:
    rank = rank_of("node2", HELD, COUNTING)
    assert shell("node2", f"ls /proc/{rank}/root{MARK}; ls {MARK} 2>/dev/null || true").split() == [
        f"/proc/{rank}/root{MARK}"
    ]
    about = shell("node2", f"cat /proc/{rank}/status")
    assert re.search(r"^CapEff:\s+0+$", about, re.MULTILINE)
    assert re.search(r"^CapBnd:\s+0+$", about, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", about, re.MULTILINE)
    assert re.search(r"^Uid:\s+900\s+900\s+900\s+900$", about, re.MULTILINE)
    assert f"gaudi3-scale-job-{HELD}.service" in shell("node2", f"cat /proc/{rank}/cgroup")
    assert shell("node2", f"touch /proc/{rank}/root/etc/x 2>&1 || true").count("Read-only file system") == 1
    # Neither the keys of all jobs nor the node's files are in there.
    seen = shell("node2", f"ls /proc/{rank}/root/var/lib/gaudi3_scale /proc/{rank}/root/home 2>&1 || true")
    assert "control" not in seen


@pytest.mark.in_turn("held")
@pytest.mark.usefixtures("held")
def test_a_value_of_the_environment_is_in_no_command_line() -> None:
    assert SECRET in shell("node1", f"tr '\\0' '\\n' < /proc/{rank_of('node1', HELD, COUNTING)}/environ")
    assert SECRET not in shell("node1", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")


@pytest.mark.long
def test_it_loses_a_node_and_goes_on_in_a_container(held: dict[str, Any], tmp_path: Path) -> None:
    before = status("node1", HELD)["generation"]
    stop_node("node2")
    try:
        wait_for_members(["node1"], HELD, before)
        wait_for("a rank", lambda: any(" -u " in one for one in processes("node1", HELD).values()))
        rank = rank_of("node1", HELD, COUNTING)
        assert shell("node1", f"ls /proc/{rank}/root{MARK}").strip()
    finally:
        start_node("node2")
    # It comes back, and takes the image that it has.
    wait_for_members(NODES, HELD, before + 1)
    wait_for_steps("node1", HELD, 3)
    code, said = launched(tmp_path / "stop", "stop_training", **held)
    assert code == 0, said
    for node in NODES:
        assert processes(node, HELD) == {}
        assert shell(node, "pgrep -x 'conmon|catatonit|podman' || true").strip() == ""
        assert shell(node, "grep -c fuse-overlayfs /proc/mounts || true").strip() == "0"


# What is wrong -> what differs from the job of the others, and what is said of it.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another release": (
        {"gaudi_training_image": f"{TEAM}/train:1.16.0-526", "gaudi_training_device": "hpu"},
        (
            r"is of release 1\.16\.0 \(its label scale\.gaudi3\.release\), and the driver of this node of release "
            r"1\.2\S+; use an image of 1\.2\S+, such as \S+/pytorch-installer-\S+, or upgrade the driver"
        ),
    ),
    "another machine": (
        {"gaudi_training_image": f"{TEAM}/arm:1.24.1-482"},
        r"is for linux/arm64, and this node is linux/amd64",
    ),
    "no Python": (
        {"gaudi_training_image": f"{TEAM}/empty:1.24.1-482", "gaudi_training_mounts": []},
        "has no python3 on its path",
    ),
    "no torch": ({"gaudi_training_mounts": []}, "has no torch for its python3; use an image with PyTorch"),
    "gone": ({"gaudi_training_image": f"{TEAM}/gone:1.24.1-482"}, "is not there any more, or never was"),
    "an unknown digest": (
        {"gaudi_training_image": f"{TEAM}/train@sha256:{'0' * 64}"},
        "is not there any more, or never was",
    ),
    "another archive": (
        {"gaudi_training_image": f"oci-archive:{ARCHIVE}@sha256:{'0' * 64}"},
        "has digest sha256:[0-9a-f]{64} on this node, and the job asks for sha256:0{64}",
    ),
    "no TLS": (
        {"gaudi_plain_http_hosts": ["packages.sandbox.internal"], "gaudi_training_image": f"{TEAM}/arm:1.24.1-482"},
        r"is in a registry without TLS, .* or name node1 in plain_http_hosts \(gaudi_plain_http_hosts\)",
    ),
    "the node's files": (
        {"gaudi_training_mounts": ["/etc:/etc"]},
        r"gaudi_training_mounts has /etc:/etc, and /etc holds what belongs",
    ),
    "latest": (
        {"gaudi_training_image": f"{TEAM}/train:latest"},
        "has the tag latest, which means another image from one day",
    ),
    "privileged": (
        {"gaudi_training_image": f"--privileged {IMAGE}"},
        "the container of a job is never privileged",
    ),
    "mpirun": (
        {"gaudi_training_engine": "mpirun"},
        (
            r"gaudi_training_image is given with engine mpirun, .*; choose engine torchrun or slurm "
            r"\(gaudi_training_engine\), which start a node's ranks in one container, or leave image out"
        ),
    ),
    "the built-in trainer": (
        {"gaudi_training_command": []},
        "gaudi_training_image is given for the built-in trainer",
    ),
}
# Those of which the registry, the container or the card tells; the others are the controller's to say.
SHORT = {"another release", "no torch", "gone", "no TLS"}


@pytest.mark.parametrize(("changes", "said"), named_rows(REFUSED, SHORT))
def test_an_image_that_cannot_be_meant_is_one_message_and_nothing_starts(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    wanted = {"gaudi_training_name": "refused", "gaudi_training_command": [f"{PROGRAMS}/bare_ddp.py", "/tmp/x"]}
    code, screen = launched(tmp_path, **{**wanted, **changes})
    assert code != 0
    assert re.search(said, " ".join(screen.split()).replace("''", "'")), screen
    assert status("node1", "refused") == {}
    assert processes("node1", "refused") == {}


@pytest.mark.long
def test_an_archive_on_the_nodes_is_an_image_too(tmp_path: Path) -> None:
    directory = f"{SHARED}/archived"
    shell("node1", f"install -d -o gaudi -g gaudi {directory}")
    code, said = launched(
        tmp_path,
        gaudi_training_name="archived",
        gaudi_training_image=f"oci-archive:{ARCHIVE}",
        gaudi_training_command=[f"{PROGRAMS}/bare_ddp.py", directory, "--epochs", "2"],
        gaudi_training_checkpoint_directory=directory,
        gaudi_training_rendezvous_port=PORT + 20,
    )
    assert code == 0, said
    assert status("node1", "archived")["outcome"] == "succeeded"


@pytest.mark.long
def test_slurm_starts_one_container_a_node_and_a_stop_leaves_nothing(tmp_path: Path) -> None:
    ensure_slurm(cluster.load(SANDBOX))
    directory, name = f"{SHARED}/slurmed", "slurmed"
    shell("node1", f"install -d -o gaudi -g gaudi {directory}")
    wanted = {
        "gaudi_training_name": name,
        "gaudi_training_engine": "slurm",
        "gaudi_training_command": [COUNTING, directory, "100000"],
        "gaudi_training_checkpoint_directory": directory,
        "gaudi_training_rendezvous_port": PORT + 30,
        "gaudi_training_follow": False,
    }
    code, said = launched(tmp_path / "begun", **wanted)
    assert code == 0, said
    wait_for_steps("node1", name, 3)
    rank = rank_of("node2", name, COUNTING)
    assert shell("node2", f"ls /proc/{rank}/root{MARK}").strip()
    code, said = launched(tmp_path / "stopped", "stop_training", **wanted)
    assert code == 0, said
    # The ranks were told, and not their agent alone: the last step is kept.
    assert int(shell("node1", f"cat {directory}/step")) >= steps("node1", name)[-1][0]
    for node in NODES:
        assert shell(node, "pgrep -x 'conmon|catatonit|podman' || true").strip() == ""
