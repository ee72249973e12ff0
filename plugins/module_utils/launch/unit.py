# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job's systemd unit and environment file as text (systemd.service(5), systemd.exec(5), systemd.syntax(7))."""

from __future__ import annotations

from typing import Mapping, Sequence

from ..engines.mpirun import stop_argv
from ..job.description import MPIRUN
from ..job.paths import JobPaths
from ..job.plan import Job
from ..node.environment_file import assignment

# How the service ended, from what systemd tells its ExecStopPost; the rename keeps a reader from half a file.
RECORD_END = (
    'printf \'{"result": "%s", "code": "%s", "status": "%s", "time": %s}\\n\' '
    '"$SERVICE_RESULT" "$EXIT_CODE" "$EXIT_STATUS" "$(date +%s)" > "$1.new" && mv -f "$1.new" "$1"'
)
# ExecStop also runs after a main process that ended by itself, but then MAINPID is not set.
RECORD_STOP = 'test -z "$MAINPID" || date +%s > "$1"'
# A node that crashed comes back to the others by itself. One that was shut down left the record of its end, and waits
# for a launch (the condition); so does any node of a job without supervisors, which would start there alone.
BOOT = ("[Install]", "WantedBy=multi-user.target", "")
# What a supervisor needs beyond the ranks' own time: to tell the others, and to see the last process gone.
SUPERVISOR_SECONDS = 30


def unit_text(job: Job, paths: JobPaths, argv: Sequence[str]) -> str:
    """The unit of this node's share, which runs ``argv``."""
    place = "a spare" if job.node_rank is None else f"node {job.node_rank} of {len(job.hosts)}"
    lines = [
        "[Unit]",
        f"Description={_specifiers(f'gaudi3.scale job {job.name}: {place}')}",
        "Wants=network-online.target",
        "After=network-online.target",
        *([f"ConditionPathExists=!{_specifiers(paths.ended)}"] if job.supervision else []),
        "",
        "[Service]",
        # exec, not simple: starting then fails where the program cannot be executed.
        "Type=exec",
        f"ExecStart={command_line(argv)}",
        *_stop_lines(job, paths),
        f"ExecStopPost=+{command_line(['/bin/sh', '-c', RECORD_END, 'sh', paths.ended])}",
        f"User={job.user}",
        f"WorkingDirectory={_specifiers(job.working_directory)}",
        # The last file wins over those before it, and any file over Environment=.
        *(f"EnvironmentFile={_specifiers(path)}" for path in (*job.environment_files, paths.environment)),
        f"StandardOutput=append:{_specifiers(paths.agent_log)}",
        "StandardError=inherit",
        # torchrun gets the signal and ends its ranks one by one; whatever is then left in the control group is killed.
        "KillMode=mixed",
        f"TimeoutStopSec={job.stop_timeout + (SUPERVISOR_SECONDS if job.supervision else 0)}",
        "Restart=no",
        # Cards pin host memory. Where the limit may not be raised, systemd sets the highest that is allowed.
        "LimitMEMLOCK=infinity",
        "",
        *(BOOT if job.supervision else []),
    ]
    return "\n".join(lines)


def _stop_lines(job: Job, paths: JobPaths) -> list[str]:
    """A unit that is told to end was meant to, except a supervised one: a node that goes down leaves the job to the
    others, and only the file that ``state=stopped`` makes before ends it for all. A process that the kernel ended for
    want of memory is the supervisor's business as well: the rank failed, not the node.
    """
    if job.supervision:
        return ["OOMPolicy=continue"]
    record = f"ExecStop=+{command_line(['/bin/sh', '-c', RECORD_STOP, 'sh', paths.stop_requested])}"
    return [record, *([f"ExecStop={command_line(stop_argv(job))}"] if job.engine == MPIRUN else [])]


def command_line(argv: Sequence[str]) -> str:
    """``argv`` as systemd reads it back, word for word."""
    return " ".join(_word(word) for word in argv)


def _word(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return '"' + "".join(f"\\x{ord(char):02x}" if ord(char) < 32 else char for char in escaped) + '"'


def _specifiers(text: str) -> str:
    """For settings that know no quotes but expand %: a path may have spaces as it is."""
    return text.replace("%", "%%")


def environment_text(variables: Mapping[str, str]) -> str:
    """The job's own environment file, sorted by name."""
    return "".join(f"{assignment(name, variables[name])}\n" for name in sorted(variables))
