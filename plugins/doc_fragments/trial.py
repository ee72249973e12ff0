# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a module that trains for a moment in order to measure something."""

from __future__ import annotations


class ModuleDocFragment:
    """What Ansible finds here."""

    DOCUMENTATION = r"""
options:
  device:
    description: What to train on.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description: The virtual environment with PyTorch and the node library.
    type: path
    default: /opt/gaudi3_scale/venv
  environment:
    description:
      - Variables of the trials, such as C(PYTHONPATH). They win over those of O(environment_files).
      - Values are texts and numbers. A boolean, a list, a mapping or nothing is refused.
    type: dict
    default: {}
  environment_files:
    description:
      - Files of variables that the job will have, too. One with a C(-) before its path may be missing.
      - The node's flags with the paths of the vendor's software are in the default; name it first beside your own.
    type: list
    elements: str
    default: ["-/etc/gaudi3_scale/environment"]
  user:
    description:
      - Account that the trials run as. Only root can name another one than its own.
      - The role P(gaudi3.scale.gaudi_venv#role) makes the default one.
    type: str
    default: gaudi
"""
