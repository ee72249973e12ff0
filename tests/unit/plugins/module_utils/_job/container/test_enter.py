# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program itself, as a file that any Python runs, with engines that print what they were started with; a real
podman starts it on nodes (molecule/images)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.engine import (
    Container,
    engine_argv,
    missing_program,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.entry import Entry
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.mounts import Mount, same_place
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_programs import ENTER, install, program_path
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

CONTAINER = Container(
    name="gaudi3-scale-job-llama",
    root="/images/x/rootfs",
    state="/tmp/s",
    directory="/jobs/llama",
    path="/opt/bin:/usr/bin",
    command=("python3", "-m", "torch.distributed.run"),
    mounts=(same_place("/jobs/llama"), Mount("/srv", "/code", True)),
    devices=("/dev/accel/accel3:/dev/accel/accel3",),
    library_path="/opt/lib",
)
COMMAND = ["python3", "-m", "torch", "--x", "--", "y"]
# Prints its words and variables, and what the second half of the program would find.
ENGINE = """#!{python}
import json, os, sys
words = sys.argv[1:]
state = words[words.index("inside") + 1]
with open(state + "/variables.json") as stream:
    variables = json.load(stream)
mode = oct(os.stat(state + "/variables.json").st_mode & 0o777)
print(json.dumps({{"words": words, "environment": dict(os.environ), "variables": variables, "mode": mode}}))
"""
# The program looks for engines where distributions have them.
WITH_ENGINES = """import runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0])
from gaudi3_scale_program._job.container import enter
enter._PATH, enter._STATE = {path!r}, {state!r}
sys.exit(enter.main(sys.argv[1:]))
"""


def test_podman_starts_it_with_nothing_of_root_and_nothing_privileged():
    words = engine_argv("podman", CONTAINER)
    assert words[0] == "podman"
    assert words[-5:] == ("--rootfs", "/images/x/rootfs", "python3", "-m", "torch.distributed.run")
    assert {
        "--cap-drop=all",
        "--runtime-flag=cgroup-manager=disabled",
        "--read-only",
        "--network=host",
        "--ipc=host",
    } <= set(words)
    assert {"--volume=/jobs/llama:/jobs/llama:rw", "--volume=/srv:/code:ro"} <= set(words)
    assert [word for word in words if word.startswith("--env=")] == [
        "--env=PATH=/opt/bin:/usr/bin",
        "--env=LD_LIBRARY_PATH=/opt/lib",
    ]
    assert "--device=/dev/accel/accel3:/dev/accel/accel3" in words
    assert not [word for word in words if "privileged" in word and word != "--security-opt=no-new-privileges"]


def test_apptainers_form():
    words = engine_argv("apptainer", CONTAINER)
    assert words[:2] == ("apptainer", "exec")
    assert words[-4:] == ("/images/x/rootfs", "python3", "-m", "torch.distributed.run")
    assert {"--contain", "--cleanenv", "--no-privs", "--pwd=/jobs/llama", "--bind=/srv:/code:ro"} <= set(words)
    assert "--bind=/dev/accel/accel3:/dev/accel/accel3:rw" in words


@pytest.mark.parametrize(
    ("programs", "missing"),
    [
        (("podman", "apptainer", "crun"), ""),
        (("podman", "crun"), ""),
        (("apptainer",), ""),
        (("podman",), "crun"),
        (("crun",), "podman or apptainer"),
        ((), "podman or apptainer"),
    ],
)
def test_what_a_node_lacks(programs, missing):
    assert missing_program(("podman", "apptainer"), programs) == missing


@pytest.fixture
def image(tmp_path):
    (tmp_path / "image/rootfs").mkdir(parents=True)
    configuration = {"config": {"Env": ["PATH=/opt/bin", "GC_KERNEL_PATH=/usr/lib/x.so"]}}
    (tmp_path / "image/image.json").write_text(json.dumps(configuration))
    return tmp_path / "image"


@pytest.fixture
def programs(tmp_path):
    install(str(tmp_path / "programs"), ENTER)
    return program_path(str(tmp_path / "programs"), ENTER)


def engines(directory: Path, *names: str) -> str:
    directory.mkdir()
    for name in names:
        (directory / name).write_text(ENGINE.format(python=sys.executable))
        (directory / name).chmod(0o755)
    return str(directory)


def entered(program: str, entry: Entry, path: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    words = entry.argv(f"{cwd}/container.pid")
    begin = words.index(program)
    script = WITH_ENGINES.format(path=path, state=str(cwd))
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, program, *words[begin + 1 :], *COMMAND],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **variables},
    )


def entry_for(program: str, image: Path, tmp_path: Path, **changes: object) -> Entry:
    given = {"device": "cpu", "mounts": (same_place(str(tmp_path / "jobs")),), **changes}
    return Entry("python3", program, str(image), "gaudi3-scale-job-llama", str(tmp_path / "jobs"), **given)


def test_it_becomes_the_engine_and_no_variable_is_in_its_words(tmp_path, image, programs):
    (tmp_path / "container.pid").write_text("1")
    entry = entry_for(programs, image, tmp_path, own=("TOKEN",), library="/opt/site-packages/gaudi3_scale")
    done = entered(
        programs,
        entry,
        engines(tmp_path / "bin", "podman", "crun"),
        tmp_path,
        TOKEN="hidden",
        CONTAINERS_CONF="/evil",
        GAUDI3_SCALE_JOB="llama",
        GC_KERNEL_PATH="/of/the/node.so",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "hidden" not in " ".join(found["words"])
    assert (found["variables"]["TOKEN"], found["mode"]) == ("hidden", "0o600")
    assert found["variables"]["GC_KERNEL_PATH"] == "/usr/lib/x.so"
    assert found["variables"]["PYTHONPATH"] == "/run/gaudi3_scale/library"
    assert "--volume=/opt/site-packages/gaudi3_scale:/run/gaudi3_scale/library/gaudi3_scale:ro" in found["words"]
    # Nothing of the job steers the engine; ours say whose it is.
    assert "TOKEN" not in found["environment"]
    assert found["environment"]["GAUDI3_SCALE_JOB"] == "llama"
    assert found["environment"]["CONTAINERS_CONF"] != "/evil"
    assert found["words"][-len(COMMAND) :] == COMMAND
    # The number is that of a start before.
    assert not (tmp_path / "container.pid").exists()


def test_a_start_has_its_own_state_and_takes_away_the_one_before(tmp_path, image, programs):
    path = engines(tmp_path / "bin", "podman", "crun")
    entry = entry_for(programs, image, tmp_path)
    states = []
    for _start in range(2):
        words = json.loads(entered(programs, entry, path, tmp_path).stdout)["words"]
        states.append(Path(words[words.index("inside") + 1]))
    assert [state.exists() for state in states] == [False, True]


@pytest.mark.parametrize(("names", "said"), [((), "podman or apptainer"), (("podman",), "crun")])
def test_a_node_without_an_engine_says_so(tmp_path, image, programs, names, said):
    done = entered(programs, entry_for(programs, image, tmp_path), engines(tmp_path / "bin", *names), tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{said} is not installed on ")
    assert len(done.stderr.splitlines()) == 1


def test_apptainer_is_taken_where_it_is_all_there_is(tmp_path, image, programs):
    path = engines(tmp_path / "bin", "apptainer")
    done = entered(programs, entry_for(programs, image, tmp_path), path, tmp_path)
    assert json.loads(done.stdout)["words"][0] == "exec"


def test_inside_it_writes_its_number_and_becomes_the_command_with_the_variables(tmp_path, programs):
    (tmp_path / "variables.json").write_text(json.dumps({"A": "a 'b'\n\"c\" $d", "PATH": os.environ["PATH"]}))
    keeper = subprocess.Popen(["sleep", "60"])
    (tmp_path / "tmp").mkdir(parents=True)
    (tmp_path / "tmp/pause.pid").write_text(str(keeper.pid))
    script = "import json, os; print(json.dumps([os.getpid(), dict(os.environ)]))"
    words = [programs, "inside", str(tmp_path), str(tmp_path / "pid"), sys.executable, "-S", "-c", script]
    done = subprocess.run(
        [sys.executable, "-I", "-S", *words], capture_output=True, text=True, check=True, env={"LEFT": "out"}
    )
    number, variables = json.loads(done.stdout)
    # What podman has left to keep its namespaces, and whoever else may read the variables.
    assert keeper.wait(5) == -signal.SIGKILL
    assert not (tmp_path / "variables.json").exists()
    assert int((tmp_path / "pid").read_text()) == number
    assert variables["A"] == "a 'b'\n\"c\" $d"
    assert "LEFT" not in variables


def test_inside_a_program_that_is_not_there_is_named(tmp_path, programs):
    (tmp_path / "variables.json").write_text("{}")
    words = [programs, "inside", str(tmp_path), "", "no-such-python"]
    done = subprocess.run([sys.executable, "-I", "-S", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "no-such-python cannot be run in the container: No such file or directory\n",
    )


@pytest.mark.parametrize(
    ("visible", "indexes"), [("", range(8)), ("0,1,2,3", (4, 5, 6, 7)), ("7", (0,)), (" 6 , 7 ", (0, 1))]
)
def test_the_container_has_the_devices_of_the_jobs_modules_alone(tmp_path, image, programs, visible, indexes):
    kernel = write_kernel(tmp_path / "kernel")
    for index in range(8):
        for name in (f"accel{index}", f"accel_controlD{index}"):
            (kernel / "dev/accel").mkdir(parents=True, exist_ok=True)
            (kernel / "dev/accel" / name).touch()
    (kernel / "dev/infiniband").mkdir()
    (kernel / "dev/infiniband/rdma_cm").touch()
    entry = entry_for(programs, image, tmp_path, device="hpu", kernel_root=str(kernel))
    path = engines(tmp_path / "bin", "podman", "crun")
    words = json.loads(entered(programs, entry, path, tmp_path, HABANA_VISIBLE_MODULES=visible).stdout)["words"]
    given = [word.partition("=")[2] for word in words if word.startswith("--device=")]
    names = [f"/dev/accel/{name}{index}" for index in indexes for name in ("accel", "accel_controlD")]
    assert given == [f"{kernel}{name}:{name}" for name in (*names, "/dev/infiniband/rdma_cm")]
    assert f"--volume={kernel}:{kernel}:ro" in words


def test_a_job_on_the_cpu_gets_no_device(tmp_path, image, programs):
    kernel = write_kernel(tmp_path / "kernel")
    entry = entry_for(programs, image, tmp_path, kernel_root=str(kernel))
    done = entered(programs, entry, engines(tmp_path / "bin", "podman", "crun"), tmp_path)
    assert "--device=" not in done.stdout
