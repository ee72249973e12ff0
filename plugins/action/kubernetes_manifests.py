# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a training job as the objects of Kubernetes, and apply nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.loader import lookup_loader
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import INSTANCE_OPTIONS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.render import Manifest, render
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.site_variables import DESCRIBING, refuse_unseen
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import DEVICE_PLUGIN, DRA, JOB
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.command_words import command_words
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Directory, Document, place
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

TRAINING_DEFAULTS = Path(__file__).parents[2] / "roles" / "gaudi_training" / "defaults" / "main.yml"
DESCRIPTION: dict[str, dict[str, Any]] = {
    "command": {"type": "raw", "default": []},
    "environment": {"type": "dict", "default": {}},
    "processes_per_node": {"type": "raw", "default": 8},
    "rendezvous_port": {"type": "int", "default": 29500},
    "working_directory": {"type": "str", "default": ""},
    "checkpoint_directory": {"type": "str", "default": ""},
    "stop_timeout": {"type": "int", "default": 60},
    "global_batch_size": {"type": "int", "default": 0},
    "device": {"type": "str", "default": "hpu"},
    # Of the hosts; no manifest has any of it.
    "venv": {"type": "str", "default": "/opt/gaudi3_scale/venv"},
}
FLAGS: dict[str, dict[str, Any]] = {
    "profile": {"type": "str", "default": "training_compile"},
    "network": {"type": "str", "default": "auto"},
    "overrides": {"type": "dict", "default": {}},
    "environment": {"type": "dict", "default": {}},
    "recipe_cache": {"type": "str", "default": "/var/lib/gaudi3_scale/recipe_cache"},
    "recipe_cache_size": {"type": "int", "default": 8192},
    "strict": {"type": "bool", "default": False},
}
SERVING: dict[str, dict[str, Any]] = {
    "engine_version": {"type": "str", "default": ""},
    "accept_holes": {"type": "list", "elements": "str", "default": []},
    "drain_timeout": {"type": "int", "default": 120},
    "ready_timeout": {"type": "int", "default": 7200},
}
VOLUME: dict[str, dict[str, Any]] = {
    "claim": {"type": "str", "required": True},
    "path": {"type": "str", "required": True},
    "read_only": {"type": "bool", "default": False},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "job": {"type": "dict", "default": {}},
    "instances": {"type": "list", "elements": "dict", "options": INSTANCE_OPTIONS, "default": []},
    "serving": {"type": "dict", "options": SERVING, "apply_defaults": True},
    "max_restarts": {"type": "int", "default": 3},
    "only_on_hosts": {"type": "dict", "default": {}},
    "flags": {"type": "dict", "options": FLAGS, "apply_defaults": True},
    "release": {"type": "str", "required": True},
    "release_overrides": {"type": "dict", "default": {}},
    "cards_per_node": {"type": "int", "default": 8},
    "kind": {"type": "str", "default": JOB},
    "version": {"type": "str", "default": ""},
    "image": {"type": "str", "required": True},
    "nodes": {"type": "int", "required": True},
    "namespace": {"type": "str", "default": ""},
    "directory": {"type": "str", "required": True},
    "cards_from": {"type": "str", "choices": [DEVICE_PLUGIN, DRA], "default": DEVICE_PLUGIN},
    "resources": {"type": "dict", "default": {}},
    "volumes": {"type": "list", "elements": "dict", "options": VOLUME, "default": []},
    "secrets": {"type": "list", "elements": "str", "default": []},
    "tolerations": {"type": "list", "elements": "dict", "default": []},
    "queue": {"type": "str", "default": ""},
    "security_context": {"type": "dict", "default": {}},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.kubernetes_manifests``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Render the manifest, and write it where it differs."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            refuse_unseen(task_vars, self._first_host(task_vars), self._shipped())
            manifest = render({**options, "job": described(options["job"])})
            return self._written(manifest, options)
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _written(self, manifest: Manifest, options: Mapping[str, Any]) -> dict[str, Any]:
        kept = place(options["directory"], "gaudi_kubernetes_directory")
        name = f"{manifest.name}.yml"
        before = _read(kept, name)
        is_new = before != manifest.text
        if is_new and not self._task.check_mode:
            kept.write(Document(name, manifest.text))
        path = kept.address(name)
        verb = ("would be written" if self._task.check_mode else "written") if is_new else "unchanged"
        found = ", ".join(one["kind"] for one in manifest.objects)
        show(f"{path}: {verb} ({found}; {pods(manifest, options)} pods). To start it: kubectl apply -f {path}")
        headers = {"before_header": path, "after_header": path}
        diff = [{**headers, "before": before or "", "after": manifest.text}] if is_new else []
        return {
            "changed": is_new,
            "diff": diff,
            "path": path,
            "objects": [{"kind": one["kind"], "name": one["metadata"]["name"]} for one in manifest.objects],
            "warnings": list(manifest.remarks),
        }

    def _shipped(self) -> Mapping[str, Any]:
        """Each variable's default, as it is written."""
        of_launch: Mapping[str, Any] = self._loader.load_from_file(str(TRAINING_DEFAULTS), unsafe=True)
        shared = {name: option["default"] for name, option in SHARED.items() if "default" in option}
        return {**shared, **of_launch}

    def _first_host(self, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """The variables of the first host of the nodes' group, where the inventory has one."""
        pattern = self._templar.template(variables.get("gaudi_hosts", "gaudi"))
        names = lookup_loader.get("ansible.builtin.inventory_hostnames", loader=self._loader, templar=self._templar)
        hosts = names.run([pattern], variables=variables)
        raw: Mapping[str, Any] = variables["hostvars"][hosts[0]] if hosts else {}
        return {name: raw[name] for name in DESCRIBING if name in raw}


def pods(manifest: Manifest, options: Mapping[str, Any]) -> int:
    """How many are to run; of each instance that serves there is one at least."""
    served = sum(one["spec"]["replicas"] for one in manifest.objects if one["kind"] == "Deployment")
    return served or int(options["nodes"])


def described(job: Mapping[str, Any]) -> dict[str, Any]:
    """Of a launch's options those that a pod has, in their types."""
    given = {name: value for name, value in job.items() if name in DESCRIPTION and value is not None}
    read = ArgumentSpecValidator(DESCRIPTION).validate(given)
    if read.error_messages:
        raise GaudiError(f"gaudi_training_{'; '.join(read.error_messages)}; correct it.")
    options: dict[str, Any] = read.validated_parameters
    return {**options, "command": command_words(options["command"], "gaudi_training_command"), "environment_files": []}


def _read(kept: Any, name: str) -> str | None:
    """What is there; of a bucket it may be unreadable to who may write."""
    try:
        text: str = kept.read(name)
        return text
    except GaudiError:
        if isinstance(kept, Directory) and (kept.path / name).exists():
            raise
        return None
