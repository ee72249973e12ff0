# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run workloads with several batch sizes on several numbers of nodes, repeatedly, and keep the figures in a history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.variables import variables_from
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.benchmark import (
    Benchmark,
    measured,
    planned,
    read,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.runs import Where
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ranks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Limits
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import ANSWER_SECONDS, addresses, questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import given
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "workloads": {"type": "raw", "required": True},
    "batch_sizes": {"type": "list", "elements": "int", "default": [16]},
    "nodes": {"type": "list", "elements": "int", "default": [1]},
    "repeats": {"type": "int", "default": 5},
    "steps": {"type": "int", "default": 100},
    "warm_up": {"type": "int", "default": 10},
    "spread": {"type": "float", "default": 0.1},
    "confidence": {"type": "float", "default": 0.95},
    "device": {"type": "str", "default": "hpu"},
    "precision": {"type": "str", "default": ""},
    "text": {"type": "list", "elements": "str", "default": []},
    "data": {"type": "str", "default": ""},
    "processes_per_node": {"type": "int", "default": 8},
    "rendezvous_port": {"type": "int", "default": 29500},
    "timeout": {"type": "int", "default": 1800},
    "environment": {"type": "dict", "default": {}},
    "history": {"type": "str", "default": ""},
    "baseline": {"type": "raw"},
    "baseline_file": {"type": "str", "default": "the baseline"},
    "tolerance": {"type": "float", "default": 0.05},
    "job": {"type": "dict", "default": {}},
}
# What an operator raises: so long may ranks take to start, and the same again to train.
TIMEOUT = "gaudi_benchmark_timeout"


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.training_benchmark``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Measure all cases; one that fails is told in its figure."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            benchmark = read(options)
            environment = variables_from("gaudi_training_environment", options["environment"])
            found = (
                planned(benchmark)
                if self._task.check_mode
                else self._measured(benchmark, environment, options, task_vars)
            )
        except AnsibleError:
            raise
        except Exception as error:
            # Nodes say what they like, and a connection may end in any way.
            return self._in_role_words(failed(error))
        return {"changed": False, **literals(found)}

    def _measured(
        self,
        benchmark: Benchmark,
        environment: Mapping[str, str],
        options: Mapping[str, Any],
        task_vars: dict[str, Any],
    ) -> dict[str, Any]:
        names = ("device", "processes_per_node", "rendezvous_port", "timeout")
        ranks = Ranks(
            **{name: options[name] for name in names},
            job=given(options["job"]),
            limits=Limits(options["timeout"], TIMEOUT, TIMEOUT),
        )
        hosts = options["hosts"]
        ask = questions(self, hosts, task_vars, ranks.longest + ANSWER_SECONDS)
        return measured(benchmark, Where(hosts, addresses(hosts, task_vars), ranks, environment), ask, show)
