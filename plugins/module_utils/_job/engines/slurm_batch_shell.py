# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a batch script does beside its ranks, as bash: tell them to end, wait for them, go on later, record the end.

Slurm's commands here are those of sbatch(1), srun(1) and scontrol(1) of 22.05 and later.
"""

from __future__ import annotations

import shlex
from typing import Sequence

# 128 + SIGTERM, as a shell tells of a program that was ended by it.
STOPPED = 143
# Seconds from the last word to the ranks until the time limit: torchrun takes 30 to kill what does not listen.
LAST_WORD = 45
# The signals by which the script is told that the time is nearly over, and that somebody stops the job.
WARNING, STOP = "USR1", "USR2"

# torchrun's own children are the ranks. pkill has status 1 where there are none, which is as well.
TELL_NODE = 'pkill -TERM -P "$(cat "$1")"; [ "$?" -le 1 ]'
# As launch.unit's RECORD_END, so that one reader serves both.
RECORD = 'mkdir -p "${1%/*}" && printf "%s\\n" "$2" > "$1.new" && mv -f "$1.new" "$1"'
RECORD_TEXT = '{"result": "%s", "code": "exited", "status": "%s", "time": %s}'


def tell_ranks(nodes: int, signal_ahead: int) -> list[str]:
    """The ranks alone get SIGTERM: torchrun that gets it kills them after 30 s, too soon for a large checkpoint.

    Where that cannot be done, and late, whatever the job has running gets it.
    """
    return [
        "tell_ranks() {",
        f'  srun --overlap --nodes={nodes} --ntasks-per-node=1 sh -c {shlex.quote(TELL_NODE)} sh "$agent" ||',
        '    scancel --signal=TERM "$me"',
        # In pieces, so that nothing of it is left when it is ended.
        f"  for _ in $(seq {max(1, signal_ahead - LAST_WORD)}); do sleep 1; done",
        '  scancel --signal=TERM "$me"',
        "}",
        "interrupted= asked_to_stop= warned=",
        f"trap 'interrupted=yes asked_to_stop=yes warned=yes; tell_ranks &' {WARNING}",
        f"trap 'interrupted=yes asked_to_stop=yes; tell_ranks &' {STOP}",
        "trap 'interrupted=yes' TERM",
    ]


# A trap runs while the shell waits, and ends that wait: it waits again, as long as a trap was what ended it. Ranks that
# are gone need not be told any more.
WAIT = """wait_for() {
  while :; do
    interrupted=
    wait "$1"
    status=$?
    [ -n "$interrupted" ] || break
  done
  kill $(jobs -p) 2> /dev/null
}"""


def go_on(limit: int) -> list[str]:
    """The job goes on in another allocation, some times."""
    return [
        "go_on() {",
        f'  [ "${{SLURM_RESTART_COUNT:-0}}" -lt {limit} ] || return 0',
        # Slurm ends this script once it has put the job into its queue again.
        "  trap - TERM",
        '  scontrol requeue "$me" && sleep 600',
        "}",
        # Ranks that were told end well, too, though they are not done: their checkpoint is what tells.
        '[ -z "$warned" ] || go_on',
    ]


def record(first: str) -> list[str]:
    """Keep how it ended on the node ``first``, which is asked how the job stands; "": on this one.

    Slurm runs the script on the first node of its own order, and forgets a job after MinJobAge (300 s) where it keeps
    no accounting.
    """
    here = f'sh -c {shlex.quote(RECORD)} sh "$ended" "$said"'
    there = f"srun --overlap --nodes=1 --ntasks=1 --nodelist={shlex.quote(first)} {here} ||\n  "
    return [
        f'[ -z "$asked_to_stop" ] || [ "$status" -ne 0 ] || status={STOPPED}',
        "result=exit-code",
        '[ "$status" -ne 0 ] || result=success',
        f'said=$(printf {shlex.quote(RECORD_TEXT)} "$result" "$status" "$(date +%s)")',
        f"{there if first else ''}{here}",
        'exit "$status"',
    ]


def sweep(array: Sequence[Sequence[str]]) -> list[str]:
    """The further arguments of this point; none where there is no sweep."""
    if not array:
        return ["set --"]
    # As torchrun_argv writes the command's own words.
    points = [shlex.join(word.replace("$", "$$") for word in words) for words in array]
    return ['case "$SLURM_ARRAY_TASK_ID" in', *(f"{n}) set -- {words} ;;" for n, words in enumerate(points)), "esac"]
