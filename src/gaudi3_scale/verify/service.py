# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that is ill takes itself out of Slurm's service, as long as not too many have done so."""

from __future__ import annotations

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import Run, last_line
from gaudi3_scale.core._slurm.commands import call_slurm
from gaudi3_scale.core._upgrade.drain.ownership import MARK
from gaudi3_scale.core._upgrade.drain.state import DrainOptions, converge

# By this our drains of this kind are told from those of playbooks.
REASON = "health check"
_LONGEST_REASON = 200
_TIMEOUT_S = 20


def take_out(node: str, reason: str, share: float, run: Run) -> str:
    """Drain the node; returns what was done, in a sentence. Raises GaudiError where Slurm cannot be asked."""
    drained, known = _drained(run)
    if node in drained:
        return f"{node} is out of service already."
    most = max(1, int(share * len(known)))
    if len(drained) >= most:
        return (
            f"{node} is NOT taken out of service: {len(drained)} of {len(known)} nodes are already, and {most} may be; "
            "check whether the nodes are at fault."
        )
    said = f"{REASON}: {reason}"[:_LONGEST_REASON]
    found = converge(DrainOptions(node, "slurm", "drained", said), run, False)
    if found["drained_by"] == "other":
        return f"{node} was taken out of service by somebody else ({found['reason']}), and stays so."
    return f"{node} is out of service now."


def give_back(node: str, run: Run) -> str:
    """Lift a drain of this check; nothing else's."""
    found = converge(DrainOptions(node, "slurm", "resumed", only_reason=REASON), run, False)
    return f"{node} is in service again." if found["changed"] else ""


def _drained(run: Run) -> tuple[set[str], set[str]]:
    """The nodes that this check has taken out, and all nodes."""
    argv = ["sinfo", "--all", "--noheader", "--Node", "--format=%N|%E"]
    done = call_slurm(argv, run, time_format="standard", timeout=_TIMEOUT_S)
    if done.rc != 0:
        raise GaudiError(f"sinfo cannot be queried: {last_line(done.stderr)}; see whether slurmctld runs.")
    lines = [line.split("|", 1) for line in done.stdout.splitlines() if "|" in line]
    ours = {name for name, reason in lines if reason.startswith(f"{MARK} {REASON}")}
    return ours, {name for name, _reason in lines}
