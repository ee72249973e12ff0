# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Reports by kind: what playbooks register on their hosts, as options of the module ``report``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Kind

NAMES = (
    "audit_cluster",
    "benchmark_training",
    "cap_power",
    "compare_settings",
    "probe_batch_size",
    "training",
    "explain_flags",
    "explain_node",
    "find_bad_nodes",
    "measure_collectives",
    "measure_serving",
    "measure_storage",
    "benchmark_fabric",
    "plan_fabric",
    "plan_upgrade",
    "profile_training",
    "qualify_nodes",
    "report_cost",
    "report_serving_cost",
    "show_fleet",
    "support_bundle",
    "tune_training",
    "upgrade_driver",
    "upgrade_firmware",
    "verdict",
)
_HERE = __name__.rpartition(".")[0]


class _Kinds(Mapping[str, Kind]):
    """Each by its name, from the file that is named after it, once it is asked for.

    A run makes one or two of them, and Ansible compiles what it imports of a collection anew in each run: all of them
    were two thirds of a second of each run.
    """

    def __getitem__(self, name: str) -> Kind:
        if name not in NAMES:
            raise KeyError(name)
        kind: Kind = import_module(f"{_HERE}.{name}_kind").KIND
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


KINDS: Mapping[str, Kind] = _Kinds()
