# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards that Slurm allots to a job on a shared node, as the modules that its ranks are to take; as shell.

Slurm hands out devices by the files of gres.conf, and stock Slurm sets no HABANA_VISIBLE_MODULES. Which they are is in
SLURM_STEP_GPUS where the cards are called ``gpu`` (srun(1)), and for any name in ``scontrol --details show job``, as
``GRES=hpu:2(IDX:0,3)`` of each node. A device's index is not its module id: the node's sysfs has both.
"""

from __future__ import annotations

import shlex

from ..binding.modules import VARIABLE

# The allotment of this node, with commas and ranges; a line of --details may be that of several nodes.
_ALLOTTED = r"""devices=${SLURM_STEP_GPUS-}
# What srun hands on of the batch script's own is that node's alone.
[ -n "$devices" ] || [ "${SLURM_JOB_NUM_NODES-}" != 1 ] || devices=${SLURM_JOB_GPUS-}
line="^ *Nodes=([^ ]*) .*GRES=([^ ]*,)?$gres(:[^:,( ]*)?:[0-9]+\(IDX:([0-9,-]+)\).*"
[ -n "$devices" ] || devices=$(scontrol --details show job "$SLURM_JOB_ID" |
  sed -n -E "s/$line/\1 \4/p" | while read -r nodes found; do
    scontrol show hostnames "$nodes" | grep -qxF "$SLURMD_NODENAME" && echo "$found" && break
  done)"""
_MODULES = r"""modules= taken=0
for range in $(echo "$devices" | tr , ' '); do
  for device in $(seq "${range%-*}" "${range#*-}"); do
    module=$(cat "$accel/accel$device/device/module_id" 2> /dev/null) || module=
    [ -n "$module" ] || { echo "$SLURMD_NODENAME: Slurm allots device accel$device, and $accel shows no module of it;" \
      "see whether gres.conf has the node's own files and the driver is loaded" >&2; exit 1; }
    modules=$modules${modules:+,}$module taken=$((taken + 1))
  done
done"""
_REFUSED = r"""  echo "$SLURMD_NODENAME: this job has $ranks of $cards cards and may share the node, and Slurm does" \
    "not say which: 'scontrol --details show job $SLURM_JOB_ID' has no IDX of $gres; ask for whole nodes" \
    "(cpus_per_rank: 0), give gres.conf the files of the cards and restart slurmd everywhere, then slurmctld, or name" \
    "the modules in environment" >&2
  exit 1"""


def take_allotted(ranks: int, gres: str, kernel_root: str = "/") -> list[str]:
    """Lines that set HABANA_VISIBLE_MODULES where the job has fewer cards than the node, or end the node's part with
    the reason. What the job, the node's files or Slurm itself has set stays.
    """
    accel = f"{kernel_root.rstrip('/')}/sys/class/accel"
    return [
        f"accel={shlex.quote(accel)} gres={shlex.quote(gres)} ranks={ranks} cards=0",
        'for file in "$accel"/accel[0-9]*/device/module_id; do [ ! -e "$file" ] || cards=$((cards + 1)); done',
        f'if [ -z "${{{VARIABLE}-}}" ] && [ "$ranks" -lt "$cards" ]; then',
        _ALLOTTED,
        _MODULES,
        'if [ "$taken" -lt "$ranks" ]; then',
        _REFUSED,
        "fi",
        f'export {VARIABLE}="$modules"',
        "fi",
    ]
