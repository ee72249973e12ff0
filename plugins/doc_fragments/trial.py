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
    description: Device to train on.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description: Virtual environment with PyTorch and the node library.
    type: path
    default: /opt/gaudi3_scale/venv
  environment:
    description:
      - Environment variables of the trials, such as C(PYTHONPATH). They override those of O(environment_files).
      - Values are strings and numbers. Booleans, lists, mappings and null are refused.
    type: dict
    default: {}
  environment_files:
    description:
      - Environment files that the job will also use. A C(-) before a path makes that file optional.
      - The default holds the node's flags and the paths of the vendor's software. When you add files, list it first.
    type: list
    elements: str
    default: ["-/etc/gaudi3_scale/environment"]
  user:
    description:
      - Account that runs the trials. Only root can name an account other than the current one.
      - The role P(gaudi3.scale.gaudi_venv#role) creates the default account.
    type: str
    default: gaudi
"""
