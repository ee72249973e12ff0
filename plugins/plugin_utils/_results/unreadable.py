# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A report of all nodes also where one of them has answered what nobody can read: that node has failed, no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import FACTS, Asked, Kind, Made


def made_of(kind: Kind, asked: Asked) -> Made:
    """What the kind makes of all hosts; raises GaudiError, or what it raises with each host as it is without any."""
    try:
        return kind.made(asked)
    except GaudiError:
        raise
    # Whatever it is that a node's answer makes of the report: which nodes they are is found by asking for each alone.
    except Exception:
        unreadable = {host: why for host in asked.hosts if (why := _why(kind, asked, host))}
        if not unreadable:
            raise
        hosts = {
            host: _failed(values, f"{host}: {unreadable[host]}") if host in unreadable else values
            for host, values in asked.hosts.items()
        }
        return kind.made(replace(asked, hosts=hosts))


def _why(kind: Kind, asked: Asked, host: str) -> str:
    """Why there is no report of the host alone; empty where there is one."""
    try:
        kind.made(replace(asked, hosts={host: asked.hosts[host]}))
    except GaudiError:
        return ""
    except Exception as error:
        said = literal(one_line(f"{type(error).__name__}: {error}", 200))
        return f"its answer cannot be read ({said}); find out what changed on the node, and run again."
    return ""


def _failed(values: Mapping[str, Any], why: str) -> dict[str, Any]:
    """The host's variables, with each that a task registered as that of a task that failed."""
    failed = {"failed": True, "msg": why}
    registered_by_none: dict[str, Any] = {"inventory_hostname": values.get("inventory_hostname"), FACTS: {}}
    return {name: registered_by_none.get(name, failed) for name in values}
