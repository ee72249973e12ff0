# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a module finds a training job; their argument_spec is job.paths.JOB_ARGUMENTS."""

from __future__ import annotations


class ModuleDocFragment:
    """What Ansible finds here."""

    DOCUMENTATION = r"""
options:
  name:
    description: Name of the job. Letters, digits, dots, dashes and underscores.
    type: str
    required: true
  state_directory:
    description:
      - Directory on the nodes below which checkpoints lie, as C(jobs/<name>), which are the job's account's, and what
        the job is told, as C(control/<name>), which is root's.
      - That account must not be able to change the directory itself.
    type: path
    default: /var/lib/gaudi3_scale
  log_directory:
    description:
      - Directory on the nodes below which logs and metrics lie, as C(jobs/<name>), which are the job's account's; what
        supervisor, torchrun and mpirun say in its unit, as C(agents/<name>); and the logs of its last runs, as
        C(earlier/<name>).
      - That account must not be able to change the directory itself.
    type: path
    default: /var/log/gaudi3_scale
"""
