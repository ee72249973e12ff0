# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A function of the core as a filter."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

CORE = "ansible_collections.gaudi3.scale.plugins.module_utils"


def core_filter(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of ``module`` in the core.

    It is imported when it is called, since Ansible loads every filter of the collection to find one, in each of its
    forks anew.
    """

    def call(*values: Any, **options: Any) -> Any:
        try:
            return getattr(importlib.import_module(f"{CORE}.{module}"), name)(*values, **options)
        except Exception as error:
            failure = importlib.import_module(f"{CORE}.node.module_failure").module_failure(error)
            raise AnsibleFilterError(failure["msg"]) from error

    return call
