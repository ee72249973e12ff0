# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Slurm: one batch script for all nodes, as a value (sbatch(1), srun(1) of Slurm 22.05 and later).

Slurm itself knows a job again: its name there is made from ours, its comment has a digest of the description, and the
batch script, which Slurm keeps, has the description. So a job is found from every host that has Slurm's commands, also
after the host that submitted it has lost its files, and Slurm's numbers, which begin anew, are never trusted alone.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from typing import Mapping

from ..._node.json_file import parse_json
from ..binding.launcher import Launcher
from ..binding.rank import ALWAYS, NEVER, THREADS
from ..binding.topology import HPU
from ..container.entry import Entry
from ..description import NAMED
from ..paths import JobPaths
from ..plan import Job, describe
from .job_shell import INTERFACE, exports, read_files, restored
from .slurm_batch_shell import WAIT, WARNING, go_on, record, sweep, tell_ranks
from .slurm_cards import take_allotted
from .torchrun import torchrun_argv

MARK = "gaudi3_scale:"
DESCRIPTION = "# gaudi3_scale description: "
# The name of a card in Slurm, by device.
GRES = {"hpu": "hpu", "cuda": "gpu", "cpu": ""}
# From the usual port on, for jobs that share nodes: below those that Linux gives connections (32768).
SHARED_PORTS = 1000
# Seconds that the other nodes get after the first agent has ended well; torchrun's own exit barrier holds them
# together before that.
WAIT_FOR_OTHERS = 60
# Words that are only known on the node. A NUL is in no word of a command (job.plan.check), so none is taken for them.
NODE_RANK, ADDRESS, PORT, RANK_LOGS = "\0node_rank", "\0MASTER_ADDR", "\0MASTER_PORT", "\0rank_logs"
SET_THREADS, AGENT_PID = "\0set_threads", "\0agent_pid"

# Where nobody has set it, torchrun would set 1 for all ranks and say so; each rank then takes its own cores' number.
_THREADS = f"""set_threads={NEVER}
[ -n "${{{THREADS}+x}}" ] || {{ set_threads={ALWAYS}; export {THREADS}=1; }}"""

# In the environment of srun, whose words everybody sees; a TaskProlog may give the names themselves other values.
_KEPT = "GAUDI3_SCALE_KEPT_"
_OWN_DIRECTORY = '"$directory"'
OF_POINT = ("GAUDI3_SCALE_JOB_DIR", "GAUDI3_SCALE_METRICS")


@dataclass(frozen=True)
class SlurmCards:
    """What the site's nodes call their Gaudi cards; "": they call them as is usual. Below ``kernel_root`` a node's
    cards are looked at.
    """

    gres: str = ""
    kernel_root: str = "/"


CARDS = SlurmCards()


def slurm_name(paths: JobPaths) -> str:
    """The job's name in Slurm."""
    return paths.unit.removesuffix(".service")


def comment(job: Job) -> str:
    """What tells one description from another at a glance."""
    return MARK + hashlib.sha256(_description(job).encode()).hexdigest()[:12]


def described_in(script: str) -> dict[str, object] | None:
    """The description in a batch script of ours; None where there is none."""
    line = next((line for line in script.splitlines() if line.startswith(DESCRIPTION)), None)
    try:
        data = None if line is None else parse_json(line[len(DESCRIPTION) :])
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def sbatch_argv(script: str) -> tuple[str, ...]:
    """The program that hands the script to Slurm. --parsable: it then prints the number alone."""
    return ("sbatch", "--parsable", script)


def script_text(
    job: Job,
    paths: JobPaths,
    environment: Mapping[str, str],
    launcher: Launcher | None = None,
    cards: SlurmCards = CARDS,
    entry: Entry | None = None,
) -> str:
    """The batch script; ``environment`` as :func:`job.plan.job_environment` has it, without interfaces."""
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in sbatch_options(job, paths, cards)),
        f"{DESCRIPTION}{_description(job)}",
        "set -u",
        "me=$SLURM_JOB_ID",
        # An array's number alone would mean all its points.
        '[ -z "${SLURM_ARRAY_TASK_ID-}" ] || me=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID',
        "point=${SLURM_ARRAY_TASK_ID:+/point-$SLURM_ARRAY_TASK_ID}",
        f'ended={shlex.quote(paths.directory)}"$point"/ended.json',
        f'agent={shlex.quote(paths.logs)}"$point"/agent.pid',
        *_address(job),
        f"export MASTER_PORT=$(({job.rendezvous_port} + {_port_offset(job)}))",
        *exports({name: value for name, value in environment.items() if name not in OF_POINT}),
        *exports({f"{_KEPT}{name}": value for name, value in job.environment.items()}),
        # Each point of a sweep has its own.
        f'export GAUDI3_SCALE_JOB_DIR={shlex.quote(environment["GAUDI3_SCALE_JOB_DIR"])}"$point"',
        f'export GAUDI3_SCALE_METRICS={shlex.quote(paths.logs)}"$point"/metrics.jsonl',
        f"node={shlex.quote(node_shell(job, paths, environment, launcher, cards, entry))}",
        *sweep(job.slurm.array),
        *tell_ranks(len(job.hosts), job.slurm.signal_ahead),
        WAIT,
        f'srun {shlex.join(srun_options(job))} sh -c "$node" sh "$@" &',
        'wait_for "$!"',
        *(go_on(job.slurm.requeue_limit) if job.slurm.requeue else []),
        *record(job.hosts[0] if job.slurm.nodes == NAMED else ""),
        "",
    ]
    return "\n".join(lines)


def sbatch_options(job: Job, paths: JobPaths, cards: SlurmCards = CARDS) -> list[str]:
    """The options in the script's head."""
    options, count = job.slurm, len(job.slurm.array)
    limit = f"%{options.array_limit}" if options.array_limit else ""
    gres = gres_of(job, cards)
    # A % begins a pattern of Slurm's.
    log = f"{paths.logs.replace('%', '%%')}/slurm-{'%A_%a' if count else '%j'}.log"
    chosen = {
        "job-name": slurm_name(paths),
        "comment": comment(job),
        "nodes": str(len(job.hosts)),
        "nodelist": ",".join(job.hosts) if options.nodes == NAMED else "",
        "ntasks-per-node": "1",
        "gres": f"{gres}:{job.processes_per_node}" if gres else "",
        # Without a word on processors Slurm gives one to a task, and a task is a whole node's agent here.
        "cpus-per-task": str(options.cpus_per_rank * job.processes_per_node) if options.cpus_per_rank else "",
        "partition": options.partition,
        "account": options.account,
        "qos": options.qos,
        "time": options.time_limit,
        # To the script alone, which then tells the ranks.
        "signal": f"B:{WARNING}@{options.signal_ahead}",
        "array": f"0-{count - 1}{limit}" if count else "",
        "open-mode": "append",
        # Else it is where sbatch was called, which another node may not have.
        "chdir": "/",
        "output": shlex.quote(log),
        # As a unit has it. NONE would have a login shell's, of which nobody knows whether srun is on its path.
        "export": "PATH,HOME,USER,LOGNAME",
    }
    given = [f"--{name}={value}" for name, value in chosen.items() if value]
    whole = [] if options.cpus_per_rank else ["--exclusive", "--mem=0"]
    requeue = "--requeue" if options.requeue else "--no-requeue"
    return [*given, requeue, *whole, *options.arguments]


def srun_options(job: Job) -> list[str]:
    """The step that starts the agents: where one fails all end, and none is left in its exit barrier."""
    cpus = job.slurm.cpus_per_rank * job.processes_per_node
    return [
        f"--nodes={len(job.hosts)}",
        "--ntasks-per-node=1",
        # Steps do not inherit it from 22.05 on, and a bound agent would keep all its ranks on one core.
        *([f"--cpus-per-task={cpus}"] if cpus else []),
        "--cpu-bind=none",
        "--export=ALL",
        "--kill-on-bad-exit=1",
        f"--wait={WAIT_FOR_OTHERS}",
    ]


def node_shell(
    job: Job,
    paths: JobPaths,
    environment: Mapping[str, str],
    launcher: Launcher | None = None,
    cards: SlurmCards = CARDS,
    entry: Entry | None = None,
) -> str:
    """What each node runs; its arguments are the further ones of a point of a sweep. Logs are as under systemd.

    Slurm's own binding is of tasks, and a task is a whole node's agent here: each rank binds itself.
    """
    words = {"node_rank": NODE_RANK, "address": ADDRESS, "port": PORT, "log_directory": RANK_LOGS}
    bound = launcher.argv(SET_THREADS) if launcher else ()
    argv = torchrun_argv(job, paths, **words, launcher=bound, entry=entry.argv(AGENT_PID) if entry else ())
    return "\n".join(
        [
            'place="${SLURM_ARRAY_TASK_ID:+/point-$SLURM_ARRAY_TASK_ID}"',
            f'logs={shlex.quote(paths.logs)}"$place"',
            f'directory={shlex.quote(paths.directory)}"$place"',
            *_own_place(paths),
            "rank_logs=$logs/ranks",
            # A job that goes on appends to its log. Only the first node's logs were put away before the start.
            "log=$logs/agent.log",
            '[ "${SLURM_RESTART_COUNT:-0}" != 0 ] || [ ! -e "$log" ] || mv -f "$log" "$log.before"',
            'exec >> "$log" 2>&1',
            *_node_rank(job),
            *_towards(job),
            *read_files(job.environment_files),
            INTERFACE,
            # Once more, after the files and the interface: the job's own values win.
            *restored(job.environment, _KEPT),
            *exports({name: value for name, value in environment.items() if name == "PT_HPU_RECIPE_CACHE_CONFIG"}),
            *_own_cards(job, cards),
            *([_THREADS] if launcher else []),
            f"cd {shlex.quote(job.working_directory) if job.working_directory else _OWN_DIRECTORY} || exit",
            # As the unit's LimitMEMLOCK: cards pin host memory. A site may not allow it.
            "ulimit -l unlimited 2> /dev/null || :",
            # exec keeps the number: it is torchrun's, by whose children the ranks are found.
            # In a container the number is that of torchrun there, which the container writes.
            "agent_pid=$logs/agent.pid",
            'echo $$ > "$agent_pid"',
            f'exec {" ".join(map(_word, argv))} "$@"',
        ]
    )


def gres_of(job: Job, cards: SlurmCards) -> str:
    """What the job asks for: the option, else what the site's nodes have, else the usual name; "" on the CPU."""
    return job.slurm.gres or (cards.gres if job.device == HPU else "") or GRES[job.device]


def _own_cards(job: Job, cards: SlurmCards) -> list[str]:
    """A job that has whole nodes has all their cards, and its ranks the first of them."""
    shares = job.device == HPU and job.slurm.cpus_per_rank
    return take_allotted(job.processes_per_node, gres_of(job, cards), cards.kernel_root) if shares else []


def _own_place(paths: JobPaths) -> list[str]:
    """On a node that no launch has prepared, which took a lost one's place, the account can only write at home."""
    return [
        'if ! mkdir -p "$logs/ranks" "$directory" "$GAUDI3_SCALE_JOB_DIR" 2> /dev/null; then',
        f'  own=$HOME/gaudi3_scale/{paths.name}"$place"',
        "  logs=$own/logs directory=$own",
        '  export GAUDI3_SCALE_JOB_DIR="$own" GAUDI3_SCALE_METRICS="$logs/metrics.jsonl"',
        '  mkdir -p "$logs/ranks" || exit',
        "fi",
    ]


def _word(word: str) -> str:
    return f'"${word[1:]}"' if word.startswith("\0") else shlex.quote(word)


def _description(job: Job) -> str:
    return json.dumps(describe(job), sort_keys=True)


def _port_offset(job: Job) -> str:
    """Of Slurm's jobs on one node each has a number of its own, and so has each point of a sweep."""
    return f"SLURM_JOB_ID % {SHARED_PORTS}" if job.shares_ports else "${SLURM_ARRAY_TASK_ID:-0}"


def _address(job: Job) -> list[str]:
    if job.slurm.nodes == NAMED:
        return [f"export MASTER_ADDR={shlex.quote(job.rendezvous_address)}"]
    return [
        'all=$(scontrol show hostnames "$SLURM_JOB_NODELIST")',
        "export MASTER_ADDR=${all%%[[:space:]]*} LAST_ADDR=${all##*[[:space:]]}",
    ]


def _node_rank(job: Job) -> list[str]:
    """Slurm numbers nodes in the order of its configuration; the ranks are to have that of the description."""
    if job.slurm.nodes != NAMED:
        return ["node_rank=$SLURM_NODEID"]
    cases = [f"{shlex.quote(host)}) node_rank={rank} ;;" for rank, host in enumerate(job.hosts)]
    unknown = '*) echo "$SLURMD_NODENAME is not a host of this job" >&2; exit 1 ;;'
    return ['case "$SLURMD_NODENAME" in', *cases, unknown, "esac"]


def _towards(job: Job) -> list[str]:
    """The first node may know its own name as a loopback address (Debian does), so it looks towards another one."""
    first = [] if job.slurm.nodes == NAMED else ['[ "$node_rank" != 0 ] || towards=$LAST_ADDR']
    return ["towards=$MASTER_ADDR", *first]
