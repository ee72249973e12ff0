# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option that says where a module looks at the kernel and the cards."""

from __future__ import annotations


class ModuleDocFragment:
    """What Ansible finds here."""

    DOCUMENTATION = r"""
options:
  kernel_root:
    description: Directory that holds the C(sys), C(proc) and C(dev) of the kernel to look at.
    type: path
    default: /
"""
