# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Facts of a node that would stand for options, where Ansible makes variables of facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible import constants
from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import facts_of

_OPTION = re.compile(r"_*gaudi_")


def foreign_facts(host: str, facts: Mapping[str, Any]) -> str:
    """Why nothing is done for a host; empty where none of its facts has the name of an option.

    With INJECT_FACTS_AS_VARS, which is Ansible's default, a fact wins over the inventory's variable of that name, and
    facts are what the node says.
    """
    if not constants.INJECT_FACTS_AS_VARS:
        return ""
    Display().warning(
        f"inject_facts_as_vars is on in {constants.CONFIG_FILE or 'the defaults of Ansible'}: facts from nodes become "
        "variables. gaudi3.scale refuses nodes that return one of its options as a fact; set it to false to protect "
        "all other variables."
    )
    # What modules of the collection set; every other name of this kind is an option of a role.
    own = facts_of("hpu_fabric") | facts_of("hpu_batch_probe")
    foreign = sorted(name for name in facts if _OPTION.match(str(name)) and name not in own)
    if not foreign:
        return ""
    return (
        f"{host} returns {foreign[0]} as a fact, which would override the option of that name. Nothing was "
        "done; find out who changed that node before you trust it, and set inject_facts_as_vars = false."
    )
