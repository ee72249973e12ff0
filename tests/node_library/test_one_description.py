# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One description of a job in each of its forms: the ranks get the same environment but for what the table says.

Each form is rendered as for a real launch. Then its ranks start as processes of this machine, with the variables that
systemd, Slurm, Open MPI, the Job controller or Kubeflow Trainer would give them, through the real torchrun.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import EnvironmentOptions, plan_environment
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.recipe_cache import RECIPE_CACHE, of_job
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.variables import container_variables
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import MpiOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.plan import Site, plan_launch
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import parse
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import render as flags_text
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.render import render
from ansible_collections.gaudi3.scale.tests.unit.described_pods import described_pods

NODES, RANKS = ("n0", "n1"), 2
HERE = "127.0.0.1"
INTERFACE = "eth0"
# What differs on purpose, and why. A name that is not here has one value in all forms; a row that is not needed fails.
TABLE = {
    "GAUDI3_SCALE_NODE": "the node's name in the inventory: systemd alone starts each node from it",
    "OMP_NUM_THREADS": "of a pod each rank's share of its processors; torchrun's 1 elsewhere, and Open MPI sets none",
    "HOME": "of a container the job's directory, since the account has none in the image",
    "HABANA_LOGS": "of a container a place in the job's directory: the image is read-only",
    "SLURM.*": "Slurm's own",
    "OMPI_.*": "Open MPI's own",
    "JOB_COMPLETION_INDEX": "the Job controller's, in all kinds on Kubernetes",
    "PET_.*": "Kubeflow Trainer's, by which it tells torchrun where the ranks meet",
    "HOSTNAME|KUBERNETES_.*": "of each container, by the kubelet and the container's runtime",
    "TORCHELASTIC_.*|TORCH_NCCL_.*|(GROUP|ROLE)_.*": "torchrun's own; Open MPI has no agent",
    "_": "of a shell that starts the ranks, where one does",
    "OLDPWD|PWD|SHLVL": "the same",
}
# Programs that a node has. Slurm's srun starts the nodes' parts, Open MPI's mpirun the ranks; ip says which interface
# leads to the first node.
PROGRAMS = {
    "srun": 'many=yes; while [ "$1" != sh ]; do [ "$1" != --nodes=1 ] || many=; shift; done\n'
    '[ -n "$many" ] || exec "$@"\nfor node in 0 1; do\n'
    'SLURM_NODEID=$node SLURM_PROCID=$node SLURMD_NODENAME=n$node "$@" &\ndone\nwait\n',
    "mpirun": 'while [ "$1" != /bin/sh ]; do [ "$1" != -n ] || size=$2; shift; done\n'
    "for rank in $(seq 0 $((size - 1))); do\n"
    "export OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$size\n"
    'export OMPI_COMM_WORLD_LOCAL_RANK=$((rank % 2)) OMPI_COMM_WORLD_LOCAL_SIZE=2\n"$@" &\ndone\nwait\n',
    "getent": f'echo "{HERE}       STREAM host"\n',
    "ip": 'case "$*" in *route*) echo "192.0.2.2 dev eth0 src 192.0.2.9 uid 0" ;;'
    ' *"show to"*) echo "3: eth0    inet 192.0.2.9/24 scope global eth0" ;; esac\n',
}
PROGRAM = """import json, os, sys
with open(os.path.join(sys.argv[1], os.environ["RANK"] + ".json"), "w") as file:
    json.dump(dict(os.environ), file)
"""
Environment = dict[str, str]


@dataclass(frozen=True)
class Machine:
    """A directory in which nodes and pods have their places. ``noted`` is where each rank notes its environment."""

    place: Path
    port: int

    @property
    def state(self) -> str:
        return f"{self.place}/state"

    @property
    def log(self) -> str:
        return f"{self.place}/log"

    @property
    def paths(self) -> JobPaths:
        return JobPaths("llama", self.state, self.log)

    @property
    def noted(self) -> Path:
        return self.place / "noted"

    @property
    def command(self) -> list[str]:
        return [f"{self.place}/program.py", str(self.noted), "a $word $(NAME) $$"]

    @property
    def path(self) -> str:
        return f"{self.place}/bin:{sys.prefix}/bin:/usr/bin:/bin"

    def flags(self) -> EnvironmentOptions:
        return EnvironmentOptions(
            "1.24.1", recipe_cache=f"{self.state}/recipe_cache", log_directory=f"{self.log}/habana"
        )

    def mapped(self, text: str) -> str:
        """A path of a pod where it is mounted here."""
        return text.replace("/var/lib/gaudi3_scale", self.state).replace("/var/log/gaudi3_scale", self.log)


VARIABLES = {"NCCL_DEBUG": "INFO", "GREETING": "it's $HOME and $(HOME)", "PT_HPU_LAZY_MODE": "0"}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    place = tmp_path_factory.mktemp("forms")
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        here = Machine(place, probe.getsockname()[1])
    for directory in (f"{place}/bin", here.paths.directory, here.paths.logs, here.paths.control):
        Path(directory).mkdir(parents=True, exist_ok=True)
    for name, text in PROGRAMS.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\n{text}")
        (place / "bin" / name).chmod(0o755)
    (place / "program.py").write_text(PROGRAM)
    settings = plan_environment(here.flags(), find_release("1.24.1"))
    (place / "flags").write_text(flags_text(settings, "flags"))
    return here


def described(here: Machine, host: str, **changes: Any) -> Job:
    """The job on hosts."""
    job = Job(
        name="llama",
        hosts=NODES,
        host=host,
        processes_per_node=RANKS,
        rendezvous_address=HERE,
        rendezvous_port=here.port,
        command=tuple(here.command),
        venv=sys.prefix,
        environment_files=(f"{here.place}/flags",),
        environment=VARIABLES,
        device="cpu",
        bind="none",
        global_batch_size=64,
        checkpoint_directory=f"{here.place}/checkpoints",
    )
    return replace(job, **changes)


def site(here: Machine) -> Site:
    """What a launch finds on each node."""
    flags = parse((here.place / "flags").read_text(), "flags")
    return Site(interface=INTERFACE, recipes=of_job(flags[RECIPE_CACHE], "llama"), open_mpi="5.0.8")


Start = tuple[Sequence[str], Environment]


def units(here: Machine, *jobs: Job) -> Iterator[Start]:
    """What systemd starts on each node, by its unit."""
    for job in jobs:
        files = {file.path: file.content or "" for file in plan_launch(job, here.paths, site(here)).files}
        lines = files[here.paths.unit_file].splitlines()
        environment = {"PATH": here.path, "HOME": "/home/gaudi", "LANG": "C.UTF-8"}
        for line in lines:
            if line.startswith("EnvironmentFile="):
                path = line.partition("=")[2].replace("%%", "%")
                environment.update(parse(files.get(path) or Path(path).read_text(), path))
        (started,) = [line.partition("=")[2] for line in lines if line.startswith("ExecStart=")]
        yield words_of_unit(started), environment


def words_of_unit(line: str) -> list[str]:
    """As systemd reads a command of words in quotes (systemd.syntax(7), systemd.service(5))."""

    def escaped(match: re.Match[str]) -> str:
        return chr(int(match[1][1:], 16)) if len(match[1]) > 1 else match[1]

    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    plain = [re.sub(r"\\(x[0-9a-f]{2}|.)", escaped, word) for word in words]
    return [word.replace("$$", "$").replace("%%", "%") for word in plain]


def by_systemd(here: Machine) -> Iterator[Start]:
    return units(here, *(described(here, host) for host in NODES))


def by_container(here: Machine) -> Iterator[Start]:
    """What the program between the unit and the container hands to the container's first program."""
    for words, environment in by_systemd(here):
        of_image = {"PATH": here.path, "LANG": "C.UTF-8"}
        yield words, container_variables(of_image, environment, VARIABLES, here.paths.directory)


def by_mpirun(here: Machine) -> Iterator[Start]:
    options = MpiOptions(mpirun=f"{here.place}/bin/mpirun")
    return units(here, described(here, "n0", engine="mpirun", mpi=options))


def by_slurm(here: Machine) -> Iterator[Start]:
    (script,) = [
        file.content or ""
        for file in plan_launch(described(here, "n0", engine="slurm"), here.paths, site(here)).files
        if file.path == here.paths.batch_script
    ]
    of_job_of_slurm = {"SLURM_JOB_ID": "41", "SLURM_JOB_NODELIST": "n[0-1]", "SLURM_JOB_NUM_NODES": "2"}
    # As --export has it in the script's head.
    yield ["bash", "-c", script], {"PATH": here.path, "HOME": "/home/gaudi", "LANG": "C.UTF-8", **of_job_of_slurm}


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """As the kubelet replaces ``$(NAME)`` in words and values (third_party/forked/golang/expansion)."""

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", replaced, text)


def pods(here: Machine, kind: str) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """The pod's template, the ConfigMap's data, and all objects by their kinds."""
    flags = {"recipe_cache": "/var/lib/gaudi3_scale/recipe_cache"}
    job = {
        "command": here.command,
        "environment": VARIABLES,
        "processes_per_node": RANKS,
        "rendezvous_port": here.port,
        "device": "cpu",
        "global_batch_size": 64,
        "checkpoint_directory": f"{here.place}/checkpoints",
    }
    volume = {"claim": "checkpoints", "path": f"{here.place}/checkpoints", "read_only": False}
    options = described_pods(job, flags, kind=kind, resources={"cpu": 8}, volumes=[volume])
    made = {one["kind"]: one for one in yaml.safe_load_all(render(options).text)}
    if kind == "job":
        template = made["Job"]["spec"]["template"]
    else:
        top = made["JobSet"]["spec"] if kind == "jobset" else made["TrainingRuntime"]["spec"]["template"]["spec"]
        template = top["replicatedJobs"][0]["template"]["spec"]["template"]
    return template, made["ConfigMap"]["data"], made


def of_trainer(trainjob: Mapping[str, Any]) -> Environment:
    """What Kubeflow Trainer adds to the container (pkg/runtime/framework/plugins/torch/torch.go)."""
    name, trainer = trainjob["metadata"]["name"], trainjob["spec"]["trainer"]
    return {
        "PET_NNODES": str(trainer["numNodes"]),
        "PET_NPROC_PER_NODE": str(trainer["numProcPerNode"]),
        "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
        "PET_MASTER_PORT": "29500",
    }


def by_kubernetes(here: Machine, kind: str) -> Iterator[Start]:
    """What the kubelet starts in each pod; the cluster's name of the first pod is this machine's address."""
    template, flags, made = pods(here, kind)
    (container,) = template["spec"]["containers"]
    first = "llama-0.llama" if kind == "job" else "llama-node-0-0.llama"
    for index in range(len(NODES)):
        variables = {"PATH": here.path, "HOME": "/home/gaudi", "LANG": "C.UTF-8", "HOSTNAME": f"llama-{index}"}
        variables |= {"KUBERNETES_SERVICE_HOST": "10.96.0.1", **flags}
        for one in container["env"]:
            variables[one["name"]] = expanded(one["value"], variables)
        if "TrainJob" in made:
            variables |= {**of_trainer(made["TrainJob"]), "PET_NODE_RANK": str(index)}
        variables["JOB_COMPLETION_INDEX"] = str(index)
        words = [expanded(word, variables) for word in container["command"]]
        reached = {name: here.mapped(text).replace(first, HERE) for name, text in variables.items()}
        yield [here.mapped(word).replace(first, HERE) for word in words], reached


def noted(here: Machine, starts: Iterator[Start]) -> dict[int, Environment]:
    """The environment of each rank of a form."""
    here.noted.mkdir()
    started = [
        subprocess.Popen(
            words,
            env=environment,
            cwd=here.paths.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for words, environment in [(found(here, words), environment) for words, environment in starts]
    ]
    said = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(started), said
    environments = {int(file.stem): json.loads(file.read_text()) for file in here.noted.iterdir()}
    assert sorted(environments) == list(range(len(NODES) * RANKS)), said
    shutil.rmtree(here.noted)
    return environments


def found(here: Machine, words: Sequence[str]) -> list[str]:
    """The program by its path, as a container's runtime finds it in the PATH of the container."""
    return [f"{sys.prefix}/bin/torchrun" if words[0] == "torchrun" else words[0], *words[1:]]


FORMS = {
    "systemd": by_systemd,
    "container": by_container,
    "Slurm": by_slurm,
    "mpirun": by_mpirun,
    "indexed Job": lambda here: by_kubernetes(here, "job"),
    "JobSet": lambda here: by_kubernetes(here, "jobset"),
    "TrainJob": lambda here: by_kubernetes(here, "trainjob"),
}


@pytest.fixture(scope="module")
def environments(machine: Machine) -> dict[str, dict[int, Environment]]:
    """Form -> rank -> environment."""
    return {form: noted(machine, start(machine)) for form, start in FORMS.items()}


def differing(environments: Mapping[str, Mapping[int, Environment]], rank: int) -> dict[str, dict[str, str | None]]:
    """Variable -> form -> value, of what is not the same in all forms."""
    names = {name for of_form in environments.values() for name in of_form[rank]}
    values = {name: {form: of_form[rank].get(name) for form, of_form in environments.items()} for name in names}
    return {name: found for name, found in values.items() if len({*found.values()}) > 1}


@pytest.mark.in_turn
def test_each_rank_knows_its_place_in_each_form(environments):
    for form, of_form in environments.items():
        for rank, environment in of_form.items():
            expected = {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank % RANKS, "GROUP_RANK": rank // RANKS}
            assert {name: int(environment[name]) for name in expected} == expected, form


def test_the_ranks_environments_are_equal_but_for_the_table(environments):
    for rank in range(len(NODES) * RANKS):
        told = {name: row for name in differing(environments, rank) for row in TABLE if re.fullmatch(row, name)}
        untold = {name: values for name, values in differing(environments, rank).items() if name not in told}
        assert untold == {}, rank


def test_the_table_has_nothing_that_is_equal(environments):
    names = {name for rank in range(len(NODES) * RANKS) for name in differing(environments, rank)}
    assert [row for row in TABLE if not any(re.fullmatch(row, name) for name in names)] == []
    assert all(TABLE.values())


def test_what_a_program_reads_is_there_in_each_form(environments, machine):
    flags = plan_environment(machine.flags(), find_release("1.24.1"))
    expected = {setting.name: setting.value for setting in flags} | VARIABLES
    expected[RECIPE_CACHE] = of_job(expected[RECIPE_CACHE], "llama")
    expected |= {
        "MASTER_ADDR": HERE,
        "MASTER_PORT": str(machine.port),
        "GAUDI3_SCALE_JOB": "llama",
        "GAUDI3_SCALE_JOB_DIR": f"{machine.place}/checkpoints",
        "GAUDI3_SCALE_METRICS": machine.paths.metrics,
        "GAUDI3_SCALE_GLOBAL_BATCH_SIZE": "64",
    }
    of_container = {"HABANA_LOGS": f"{machine.paths.directory}/habana_logs/"}
    for form, of_form in environments.items():
        here = expected | (of_container if form == "container" else {})
        for environment in of_form.values():
            assert {name: environment.get(name) for name in here} == here, form
