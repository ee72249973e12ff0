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
      - Directory on the nodes for job state. Checkpoints are in C(jobs/<name>), owned by the job's account; control
        files are in C(control/<name>), owned by root.
      - The job's account must not be able to change the directory itself.
    type: path
    default: /var/lib/gaudi3_scale
  log_directory:
    description:
      - Directory on the nodes for logs. Logs and metrics of the job are in C(jobs/<name>), owned by the job's account.
        Unit output of the supervisor, torchrun and mpirun is in C(agents/<name>), and logs of previous runs are in
        C(earlier/<name>).
      - The job's account must not be able to change the directory itself.
    type: path
    default: /var/log/gaudi3_scale
"""
