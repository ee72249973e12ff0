# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job's systemd unit and environment file as text (systemd.service(5), systemd.exec(5), systemd.syntax(7))."""

from __future__ import annotations

from typing import Mapping, Sequence

from .._job.description import MPIRUN, SupervisionOptions
from .._job.engines.mpirun import stop_argv
from .._job.paths import JobPaths
from .._job.plan import Job, starts_in
from .._job.supervision import lease
from .._node.environment_file import assignment
from .._node.unit_words import command_line, specifiers
from .confinement import confined

# The unit's own commands run as the job's account, in that account's directory: what they record is its own story.
# How the service ended, from what systemd tells its ExecStopPost; the rename keeps a reader from half a file.
# With version 1 of control groups systemd does not see that the kernel ended a process for want of memory (it reads
# memory.events of version 2): the unit's own count is asked (memory.oom_control, since Linux 4.13).
RECORD_END = (
    'ended=$SERVICE_RESULT; group=$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup); '
    'case "$ended:$group" in exit-code:*/"$2"|signal:*/"$2") '
    'grep -qs "^oom_kill [1-9]" "/sys/fs/cgroup/memory$group/memory.oom_control" && ended=oom-kill ;; esac; '
    'printf \'{"result": "%s", "code": "%s", "status": "%s", "time": %s}\\n\' '
    '"$ended" "$EXIT_CODE" "$EXIT_STATUS" "$(date +%s)" > "$1.new" && mv -f "$1.new" "$1"'
)
# The same of a supervisor, but only of ends after which systemd leaves the unit alone: a record would keep it from
# starting (the condition). A signal, a core dump and the watchdog are none; nor is what touches no disk then, since
# after the watchdog the ranks are there until this command has ended (seen with systemd 252, KillMode=mixed).
RECORD_LAST_END = f'case "$SERVICE_RESULT" in success|exit-code|timeout) {RECORD_END} ;; esac'
# ExecStop also runs after a main process that ended by itself, but then MAINPID is not set.
RECORD_STOP = 'test -z "$MAINPID" || date +%s > "$1"'
# A node that crashed comes back to the others by itself. One that was shut down left the record of its end, and waits
# for a launch (the condition); so does any node of a job without supervisors, which would start there alone.
BOOT = ("[Install]", "WantedBy=multi-user.target", "")
# What a supervisor needs beyond the ranks' own time: to tell the others, and to see the last process gone.
SUPERVISOR_SECONDS = 30
# Of lost_after: how long systemd waits for a supervisor that the watchdog has killed, but that a disk holds, before it
# kills the ranks. With the lease, it is over before the others go on.
ABORT = 0.1
# A supervisor that is killed is back at once. One that cannot live here is given up: its disk hangs, each time for a
# lease, or somebody kills it again and again.
STARTS, STARTS_SECONDS = 10, 300


def unit_text(job: Job, paths: JobPaths, argv: Sequence[str], environment_files: Sequence[str]) -> str:
    """The unit of this node's worker group, which runs ``argv``; systemd reads ``environment_files`` as root."""
    standing_by = "the witness" if job.is_witness else "a spare"
    place = standing_by if job.node_rank is None else f"node {job.node_rank} of {len(job.hosts)}"
    record = RECORD_LAST_END if job.supervision else RECORD_END
    lines = [
        "[Unit]",
        f"Description={specifiers(f'gaudi3.scale job {job.name}: {place}')}",
        "Wants=network-online.target",
        "After=network-online.target",
        *(_start_conditions(paths) if job.supervision else []),
        "",
        "[Service]",
        # exec, not simple: starting then fails where the program cannot be executed.
        "Type=exec",
        f"ExecStart={command_line(argv)}",
        *_stop_lines(job, paths),
        f"ExecStopPost={command_line(['/bin/sh', '-c', record, 'sh', paths.ended, paths.unit])}",
        f"User={job.user}",
        f"WorkingDirectory={specifiers(starts_in(job, paths))}",
        # The last file wins over those before it, and any file over Environment=.
        *(f"EnvironmentFile={specifiers(path)}" for path in (*environment_files, paths.environment)),
        f"StandardOutput=append:{specifiers(paths.agent_log)}",
        "StandardError=inherit",
        # torchrun gets the signal and ends its ranks one by one; whatever is then left in the control group is killed.
        "KillMode=mixed",
        f"TimeoutStopSec={job.stop_timeout + (SUPERVISOR_SECONDS if job.supervision else 0)}",
        *(_watched(job.supervision) if job.supervision else ["Restart=no"]),
        # Cards pin host memory. Where the limit may not be raised, systemd sets the highest that is allowed.
        "LimitMEMLOCK=infinity",
        *confined(job, paths),
        "",
        *(BOOT if job.supervision else []),
    ]
    return "\n".join(lines)


def _start_conditions(paths: JobPaths) -> list[str]:
    """What keeps a supervisor from being started by systemd: its end, and the word that the job is to end, which is
    there also where a unit that was told to stop had to be killed, or waited to be started again.
    """
    return [
        *(f"ConditionPathExists=!{specifiers(path)}" for path in (paths.ended, paths.stop_requested)),
        f"StartLimitIntervalSec={STARTS_SECONDS}",
        f"StartLimitBurst={STARTS}",
    ]


def _watched(options: SupervisionOptions) -> list[str]:
    """A supervisor that is stopped, killed or held by a disk takes its ranks with it, as one that is alone does: before
    the other nodes go on without it. It tells systemd at each turn that it lives, and for how long that holds at most
    (sd_notify(3), WATCHDOG=1 and WATCHDOG_USEC), which any Type= may from its main process.
    """
    return [
        "NotifyAccess=main",
        f"WatchdogSec={round(1000 * lease(options))}ms",
        "WatchdogSignal=SIGKILL",
        f"TimeoutAbortSec={round(1000 * ABORT * options.lost_after)}ms",
        "Restart=on-abnormal",
        "RestartSec=100ms",
    ]


def _stop_lines(job: Job, paths: JobPaths) -> list[str]:
    """A unit that is told to end was meant to, except a supervised one: a node that goes down leaves the job to the
    others, and only the file that ``state=stopped`` makes before ends it for all. A process that the kernel ended for
    want of memory is the supervisor's business as well: the rank failed, not the node.
    """
    if job.supervision:
        return ["OOMPolicy=continue"]
    record = f"ExecStop={command_line(['/bin/sh', '-c', RECORD_STOP, 'sh', paths.unit_stopped])}"
    return [record, *([f"ExecStop={command_line(stop_argv(job))}"] if job.engine == MPIRUN else [])]


def environment_text(variables: Mapping[str, str]) -> str:
    """The job's own environment file, sorted by name."""
    return "".join(f"{assignment(name, variables[name])}\n" for name in sorted(variables))
