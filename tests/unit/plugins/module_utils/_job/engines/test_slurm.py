# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The batch script, read and run: by the real bash, with programs of Slurm's names that only note what they got."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.launcher import Launcher
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SlurmOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm import (
    comment,
    described_in,
    sbatch_options,
    script_text,
    slurm_name,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job, describe, job_environment
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job

JOB = described_job(
    command=("-m", "gaudi3_scale.train", "--text", "/my data/$5"),
    environment={"OMP_NUM_THREADS": "4", "GREETING": 'it\'s "so" $HOME'},
    engine="slurm",
    slurm=SlurmOptions(partition="gaudi", time_limit="12:00:00"),
)
# Each notes its arguments. srun runs the node's part as Slurm does on the node that NODE names; torchrun's rank sleeps
# until it is told.
PROGRAMS = {
    "srun": 'echo "srun $*" | head -n 1 >> "$CALLS"\ntr "\\0" "\\n" < /proc/$$/cmdline >> "$CALLS.words"\n'
    'while [ "$1" != sh ]; do shift; done\n'
    'SLURMD_NODENAME=$NODE SLURM_NODEID=0 exec "$@"\n',
    "torchrun": 'echo "torchrun $*" >> "$CALLS"; env > "$CALLS.env"; pwd > "$CALLS.pwd"; echo from the agent\n'
    'sleep "$SECONDS_TO_RUN" & echo rank >> "$CALLS"; wait "$!"; exit "$EXIT"\n',
    "scancel": 'echo "scancel $*" >> "$CALLS"\n',
    "scontrol": 'echo "scontrol $*" >> "$CALLS"\n[ "$1" != show ] || printf "n7\\nn8\\nn9\\n"\n[ "$1" != requeue ] || '
    'kill -TERM "$PPID"\n',
    "getent": 'echo "getent $*" >> "$CALLS"; echo "192.0.2.2       STREAM host"\n',
    "ip": 'case "$*" in *route*) echo "192.0.2.2 dev ens7 src 192.0.2.9 uid 0" ;;'
    ' *"show to 192.0.2.9"*) echo "3: ens7    inet 192.0.2.9/24 brd 192.0.2.255 scope global ens7" ;; esac\n',
}


class Batch:
    """A place in which a batch script can be run."""

    def __init__(self, place: Path) -> None:
        self.paths = JobPaths("llama", str(place / "state"), str(place / "log"))
        self.bin = place / "venv/bin"
        self.bin.mkdir(parents=True)
        for name, text in PROGRAMS.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{text}")
            (self.bin / name).chmod(0o755)
        self.noted = place / "calls"
        self.place = place
        self.launcher: Launcher | None = None
        self.started_in = str(place)

    def start(self, job: Job, **variables: object) -> subprocess.Popen[str]:
        job = replace(job, venv=str(self.bin.parent), working_directory=self.started_in)
        script = self.place / "batch.sh"
        script.write_text(script_text(job, self.paths, job_environment(job, self.paths, None), self.launcher))
        environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "CALLS": str(self.noted),
            "SLURM_JOB_ID": "41",
            "SLURM_JOB_NODELIST": "n[7-9]",
            "NODE": "n1",
            "EXIT": "0",
            "SECONDS_TO_RUN": "0",
            **{name: str(value) for name, value in variables.items()},
        }
        return subprocess.Popen(
            ["bash", str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, job: Job, **variables: object) -> int:
        process = self.start(job, **variables)
        said, _nothing = process.communicate(timeout=60)
        assert said == ""
        return process.returncode

    @property
    def calls(self) -> list[str]:
        return self.noted.read_text().splitlines()

    def wait_for(self, word: str) -> None:
        end = time.monotonic() + 60
        while not (self.noted.exists() and any(line.startswith(word) for line in self.calls)):
            assert time.monotonic() < end, f"no {word} within 60 s"
            time.sleep(0.02)

    @property
    def environment(self) -> dict[str, str]:
        lines = Path(f"{self.noted}.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.fixture
def batch(tmp_path):
    return Batch(tmp_path)


def options(**changes):
    return sbatch_options(replace(JOB, slurm=replace(JOB.slurm, **changes)), PATHS)


def test_the_head_of_the_script():
    assert sbatch_options(JOB, PATHS) == [
        "--job-name=gaudi3-scale-job-llama",
        f"--comment={comment(JOB)}",
        "--nodes=2",
        "--nodelist=n2,n1",
        "--ntasks-per-node=1",
        "--gres=hpu:8",
        "--partition=gaudi",
        "--time=12:00:00",
        "--signal=B:USR1@300",
        "--open-mode=append",
        "--chdir=/",
        "--output=/var/log/gaudi3_scale/jobs/llama/slurm-%j.log",
        "--export=PATH,HOME,USER,LOGNAME",
        "--requeue",
        "--exclusive",
        "--mem=0",
    ]
    assert slurm_name(PATHS) == "gaudi3-scale-job-llama"


def test_the_options_reach_the_head():
    given = options(account="a", qos="q", nodes="any", cpus_per_rank=6, requeue=False, arguments=("--mail-type=END",))
    assert {"--account=a", "--qos=q", "--cpus-per-task=48", "--no-requeue", "--mail-type=END"} <= set(given)
    assert not {word for word in given if word.startswith(("--nodelist", "--exclusive", "--mem=", "--requeue"))}
    assert "--signal=B:USR1@900" in options(signal_ahead=900)
    assert {"--array=0-2%2", "--output=/var/log/gaudi3_scale/jobs/llama/slurm-%A_%a.log"} <= set(
        options(array=((), (), ()), array_limit=2)
    )


@pytest.mark.parametrize(
    ("device", "gres", "word"),
    [("hpu", "", "--gres=hpu:8"), ("cuda", "", "--gres=gpu:8"), ("hpu", "hpu:gaudi3", "--gres=hpu:gaudi3:8")],
)
def test_the_cards_are_asked_for_by_slurms_name(device, gres, word):
    assert word in sbatch_options(replace(JOB, device=device, slurm=SlurmOptions(gres=gres)), PATHS)


def test_a_job_on_processors_asks_for_no_cards():
    assert not [word for word in sbatch_options(replace(JOB, device="cpu"), PATHS) if "gres" in word]


def test_a_path_with_blanks_and_percents_reaches_slurm():
    given = sbatch_options(JOB, JobPaths("llama", log_directory="/50% of it"))
    assert "--output='/50%% of it/jobs/llama/slurm-%j.log'" in given


def test_the_description_is_read_back_from_the_script():
    text = script_text(JOB, PATHS, job_environment(JOB, PATHS, None))
    assert described_in(text) == describe(JOB)
    assert described_in("#!/bin/bash\n") is None
    assert described_in("# gaudi3_scale description: {broken\n") is None


def test_the_comment_tells_descriptions_apart():
    assert comment(JOB) == comment(replace(JOB))
    assert comment(JOB) != comment(replace(JOB, processes_per_node=4))
    assert len(comment(JOB)) < 40


def test_each_node_runs_torchrun_with_the_rank_of_the_description(batch):
    assert batch.run(JOB, NODE="n1") == 0
    agent = next(line for line in batch.calls if line.startswith("torchrun"))
    assert agent == (
        "torchrun --nnodes 2 --node-rank 1 --nproc-per-node 8 --rdzv-backend static --rdzv-id llama "
        f"--master-addr 192.0.2.2 --master-port 29500 --log-dir {batch.paths.ranks} --redirects 3 "
        "-m gaudi3_scale.train --text /my data/$$5"
    )
    assert Path(batch.paths.batch_agent_log).read_text() == "from the agent\n"
    assert Path(f"{batch.noted}.pwd").read_text().strip() == str(batch.place)
    srun = next(line for line in batch.calls if line.startswith("srun"))
    assert {"--kill-on-bad-exit=1", "--wait=60", "--ntasks-per-node=1", "--export=ALL"} <= set(srun.split())


def test_the_environment_of_each_node(batch, tmp_path):
    flags = tmp_path / "flags"
    flags.write_text("PT_HPU_LAZY_MODE=0\nOMP_NUM_THREADS=1\n")
    batch.run(replace(JOB, environment_files=(str(flags), "-/nowhere")))
    found = batch.environment
    # The job's own values win over the node's files, whose values are exported as well.
    assert (found["OMP_NUM_THREADS"], found["PT_HPU_LAZY_MODE"]) == ("4", "0")
    assert found["GREETING"] == 'it\'s "so" $HOME'
    assert (found["GLOO_SOCKET_IFNAME"], found["HCCL_SOCKET_IFNAME"]) == ("ens7", "ens7")
    assert found["GAUDI3_SCALE_JOB_DIR"] == batch.paths.directory
    assert found["GAUDI3_SCALE_METRICS"] == batch.paths.metrics


@pytest.mark.parametrize(
    ("own", "threads", "of_agent"), [({}, "always", "1"), ({"OMP_NUM_THREADS": "4"}, "never", "4")]
)
def test_bound_ranks_begin_as_the_launcher_with_the_threads_of_their_share_or_the_jobs_own(
    batch, own, threads, of_agent
):
    job = replace(JOB, environment=own)
    batch.launcher = Launcher("/opt/venv/bin/python", "/s/rank.pyz", "numa", "hpu", "/")
    batch.run(job)
    agent = next(line for line in batch.calls if line.startswith("torchrun"))
    assert agent.endswith(
        f"--redirects 3 --no-python /opt/venv/bin/python -I -S /s/rank.pyz numa hpu / {threads} "
        f"{batch.bin}/python -u -m gaudi3_scale.train --text /my data/$$5"
    )
    assert batch.environment["OMP_NUM_THREADS"] == of_agent


def test_what_everybody_can_read_of_a_running_job_has_no_value(batch, tmp_path):
    """The words of srun, of the shell on each node and of torchrun; the ranks have the value, and no copy of it."""
    batch.run(replace(JOB, environment={"HF_TOKEN": "hf_Planted1", "GREETING": "it's"}))
    reported = Path(f"{batch.noted}.words").read_text() + batch.noted.read_text()
    assert "hf_Planted1" not in reported
    assert "HF_TOKEN" in reported
    of_ranks = Path(f"{batch.noted}.env").read_text().splitlines()
    assert [line for line in of_ranks if "hf_Planted1" in line] == ["HF_TOKEN=hf_Planted1"]
    assert "GREETING=it's" in of_ranks


def test_a_file_that_has_to_be_there_ends_the_node(batch):
    assert batch.run(replace(JOB, environment_files=("/nowhere/flags",))) != 0
    assert not [line for line in batch.calls if line.startswith("torchrun")]


def test_a_node_that_is_not_meant_ends_the_job(batch):
    assert batch.run(JOB, NODE="n5") == 1
    assert "n5 is not a host of this job" in Path(batch.paths.batch_agent_log).read_text()


def test_on_any_nodes_the_first_of_slurms_list_holds_rank_0(batch):
    assert batch.run(replace(JOB, slurm=SlurmOptions(nodes="any")), NODE="n7") == 0
    agent = next(line for line in batch.calls if line.startswith("torchrun"))
    assert "--node-rank 0 " in agent
    assert "--master-addr n7 " in agent
    # It may know its own name as a loopback address, so it looks towards another node for its interface.
    assert "getent ahosts n9" in batch.calls


@pytest.mark.parametrize(("status", "result"), [(0, "success"), (3, "exit-code")])
def test_the_end_is_recorded_as_a_unit_records_it(batch, status, result):
    assert batch.run(JOB, EXIT=status) == status
    ended = json.loads(Path(batch.paths.ended).read_text())
    assert ended == {"result": result, "code": "exited", "status": str(status), "time": ended["time"]}
    assert not [line for line in batch.calls if line.startswith(("scancel", "scontrol"))]


def ending(batch, job, send, **variables):
    """Run the script until its rank works, send it a signal, and return its exit status."""
    process = batch.start(job, SECONDS_TO_RUN="60", **variables)
    batch.wait_for("rank")
    process.send_signal(send)
    process.communicate(timeout=60)
    return process.returncode


def orders(batch):
    """What the script told Slurm."""
    return [line for line in batch.calls if line.startswith(("scancel", "scontrol"))]


# 0: ranks that wrote a checkpoint when they were told, and are not done.
@pytest.mark.parametrize("status", [0, 1])
def test_before_the_time_limit_the_ranks_are_told_and_the_job_goes_on_in_another_allocation(batch, status):
    assert ending(batch, JOB, signal.SIGUSR1, EXIT=status) == -signal.SIGTERM
    assert orders(batch) == ["scontrol requeue 41"]
    assert not Path(batch.paths.ended).exists()
    # On every node, beside the ranks that run there.
    assert len([line for line in batch.calls if line.startswith("srun --overlap --nodes=2 --ntasks-per-node=1 ")]) == 1


def test_of_a_sweep_only_the_point_that_is_meant_goes_on(batch):
    sweep = replace(JOB, slurm=SlurmOptions(array=(("--lr", "1"), ("--lr", "2"))))
    ending(batch, sweep, signal.SIGUSR1, EXIT=1, SLURM_JOB_ID=40, SLURM_ARRAY_JOB_ID=40, SLURM_ARRAY_TASK_ID=1)
    assert orders(batch) == ["scontrol requeue 40_1"]


@pytest.mark.parametrize(
    ("slurm", "variables"),
    [
        (SlurmOptions(requeue=False), {"EXIT": 1}),
        (SlurmOptions(requeue_limit=3), {"EXIT": 1, "SLURM_RESTART_COUNT": 3}),
        (SlurmOptions(requeue_limit=3), {"EXIT": 0, "SLURM_RESTART_COUNT": 3}),
    ],
)
def test_a_job_that_may_not_go_on_ends_and_is_no_success(batch, slurm, variables):
    status = variables["EXIT"] or 143
    assert ending(batch, replace(JOB, slurm=slurm), signal.SIGUSR1, **variables) == status
    assert orders(batch) == []
    assert json.loads(Path(batch.paths.ended).read_text())["status"] == str(status)


def test_a_job_that_is_stopped_tells_its_ranks_and_does_not_come_again(batch):
    assert ending(batch, JOB, signal.SIGUSR2, EXIT=0) == 143
    assert orders(batch) == []
    assert json.loads(Path(batch.paths.ended).read_text())["result"] == "exit-code"


def test_ranks_that_cannot_be_told_alone_are_told_with_their_agents(batch):
    process = batch.start(JOB, SECONDS_TO_RUN="1", EXIT=1)
    batch.wait_for("rank")
    Path(batch.paths.logs, "agent.pid").write_text("")
    process.send_signal(signal.SIGUSR2)
    process.communicate(timeout=60)
    assert orders(batch) == ["scancel --signal=TERM 41"]


def test_ranks_that_do_not_listen_are_ended_before_the_time_is_over(batch):
    # torchrun needs 30 s to kill what does not listen.
    text = script_text(replace(JOB, slurm=SlurmOptions(signal_ahead=60)), PATHS, job_environment(JOB, PATHS, None))
    reported = text.partition("tell_ranks() {")[2].partition("}")[0].splitlines()
    assert [line.strip() for line in reported[-2:]] == [
        "for _ in $(seq 15); do sleep 1; done",
        'scancel --signal=TERM "$me"',
    ]


def test_a_job_that_slurm_ends_waits_for_its_ranks(batch):
    process = batch.start(JOB, SECONDS_TO_RUN="2", EXIT=1)
    batch.wait_for("rank")
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert orders(batch) == []


def test_the_end_is_kept_on_the_first_host_of_the_description(batch):
    assert batch.run(JOB) == 0
    assert next(line for line in batch.calls if "--nodelist=" in line).startswith(
        "srun --overlap --nodes=1 --ntasks=1 --nodelist=n2 sh -c"
    )
    # Which of any nodes is the first, Slurm says: it runs the script there.
    batch.noted.unlink()
    assert batch.run(replace(JOB, slurm=SlurmOptions(nodes="any")), NODE="n7") == 0
    assert not [line for line in batch.calls if "--nodelist=" in line]


def test_each_point_of_a_sweep_has_its_arguments_port_and_directories(batch):
    sweep = replace(JOB, slurm=SlurmOptions(array=(("--lr", "0.1"), ("--note", "costs $5 'now'"))))
    assert batch.run(sweep, SLURM_ARRAY_JOB_ID=40, SLURM_ARRAY_TASK_ID=1) == 0
    agent = next(line for line in batch.calls if line.startswith("torchrun"))
    assert agent.endswith("--text /my data/$$5 --note costs $$5 'now'")
    assert "--master-port 29501 " in agent
    assert f"--log-dir {batch.paths.logs}/point-1/ranks " in agent
    assert batch.environment["GAUDI3_SCALE_JOB_DIR"] == f"{batch.paths.directory}/point-1"
    assert batch.environment["GAUDI3_SCALE_METRICS"] == f"{batch.paths.logs}/point-1/metrics.jsonl"
    assert Path(batch.paths.directory, "point-1/ended.json").exists()


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({}, "{state}/jobs/llama"),
        ({"SLURM_ARRAY_JOB_ID": 40, "SLURM_ARRAY_TASK_ID": 1}, "{state}/jobs/llama/point-1"),
    ],
)
def test_ranks_start_in_the_jobs_own_directory_and_those_of_a_point_in_its_own(batch, variables, place):
    batch.started_in = ""
    points = (("--lr", "1"), ("--lr", "2")) if variables else ()
    assert batch.run(replace(JOB, slurm=SlurmOptions(array=points)), **variables) == 0
    wanted = place.format(state=batch.paths.state_directory)
    assert Path(f"{batch.noted}.pwd").read_text().strip() == wanted


def test_a_job_that_goes_on_appends_to_its_log_and_a_new_one_does_not(batch):
    batch.run(JOB)
    batch.run(JOB, SLURM_RESTART_COUNT=1)
    assert Path(batch.paths.batch_agent_log).read_text() == "from the agent\n" * 2
    batch.run(JOB)
    assert Path(batch.paths.batch_agent_log).read_text() == "from the agent\n"
    assert Path(f"{batch.paths.batch_agent_log}.before").read_text() == "from the agent\n" * 2


def test_on_a_node_that_no_launch_prepared_the_account_works_at_home(batch, tmp_path):
    (tmp_path / "log").write_text("no directory for this account")
    batch.started_in = ""
    assert batch.run(JOB, HOME=tmp_path / "home") == 0
    own = tmp_path / "home/gaudi3_scale/llama"
    assert (own / "logs/agent.log").read_text() == "from the agent\n"
    found = batch.environment
    assert found["GAUDI3_SCALE_JOB_DIR"] == str(own)
    assert found["GAUDI3_SCALE_METRICS"] == str(own / "logs/metrics.jsonl")
    assert f"--log-dir {own}/logs/ranks" in batch.noted.read_text()
    assert Path(f"{batch.noted}.pwd").read_text().strip() == str(own)


def test_an_interface_that_is_loopback_or_unknown_is_not_named(batch):
    (batch.bin / "ip").write_text('#!/bin/sh\necho "1: lo    inet 127.0.0.1/8 src 127.0.0.1 scope host lo"\n')
    batch.run(JOB)
    assert "GLOO_SOCKET_IFNAME" not in batch.environment
    assert os.access(batch.bin / "ip", os.X_OK)


def test_jobs_that_may_share_a_node_meet_at_ports_of_their_own(batch):
    shared = replace(JOB, slurm=replace(JOB.slurm, cpus_per_rank=6))
    sweep = replace(shared, slurm=replace(shared.slurm, array=(("--lr", "1"), ("--lr", "2"))))
    point = {"SLURM_ARRAY_TASK_ID": 1, "SLURM_ARRAY_JOB_ID": 1040}
    given = replace(shared, rendezvous_port=31000)
    for job, port, more in ((JOB, 29500, {}), (shared, 29541, {}), (sweep, 29541, point), (given, 31000, {})):
        assert batch.run(job, SLURM_JOB_ID=1041, **more) == 0
        assert batch.environment["MASTER_PORT"] == str(port)
