# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A function of ours as a filter."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

PLUGINS = "ansible_collections.gaudi3.scale.plugins"


def core_filter(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of ``module``, such as ``module_utils._job.clocks``.

    It is imported when it is called, since Ansible loads every filter of the collection to find one, in each of its
    forks anew.
    """

    def call(*values: Any, **options: Any) -> Any:
        try:
            return getattr(importlib.import_module(f"{PLUGINS}.{module}"), name)(*values, **options)
        except Exception as error:
            failure = importlib.import_module(f"{PLUGINS}.module_utils._node.module_failure").module_failure(error)
            raise AnsibleFilterError(failure["msg"]) from error

    return call
