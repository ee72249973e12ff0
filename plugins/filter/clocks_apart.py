# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.clocks_apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: clocks_apart
short_description: One sentence where the clocks of nodes are apart
version_added: "0.1.0"
description:
  - Names the node whose clock is the furthest from those of the others. Empty where all agree, also where they agree on
    another time than the controller's.
options:
  _input:
    description: For each node how many seconds its clock is ahead of the controller's.
    type: dict
    required: true
  most:
    description: Seconds that are no reason to say something.
    type: float
    default: 60
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Refuse clocks that are apart
  ansible.builtin.assert:
    that: offsets | gaudi3.scale.clocks_apart == ''
    fail_msg: "{{ offsets | gaudi3.scale.clocks_apart }}"
  vars:
    offsets: {gaudi-01: 0.4, gaudi-02: 312.5}
"""

RETURN = r"""
_value:
  description: The sentence, or an empty text.
  type: str
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"clocks_apart": core_filter("module_utils._job.clocks", "clocks_apart")}
