# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The job that tests render for Kubernetes: options as the action of the role hands them on."""

from __future__ import annotations

from typing import Any

DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGE = f"registry.example.org/llama@{DIGEST}"
RESOURCES = {"cpu": 128, "memory": "690Gi", "hugepages-2Mi": "42000Mi"}
LATEST = IMAGE.replace(f"@{DIGEST}", ":latest")
UNPINNED = IMAGE.replace(f"@{DIGEST}", ":1.24.1")
CHECKPOINTS = {"claim": "checkpoints", "path": "/checkpoints", "read_only": False}
FLAGS = {
    "profile": "training_compile",
    "network": "gaudi_ethernet",
    "overrides": {},
    "environment": {},
    "recipe_cache": "/var/lib/gaudi3_scale/recipe_cache",
    "recipe_cache_size": 8192,
    "strict": False,
}
INSTANCE = {
    "name": "chat",
    "model": "/models/llama",
    "cards": 4,
    "port": 8000,
    "max_model_len": 4352,
    "max_num_seqs": 64,
}
LAUNCH = {
    "command": ["/srv/train.py", "--learning-rate", "1e-4"],
    "environment": {"NCCL_DEBUG": "INFO"},
    "environment_files": [],
    "processes_per_node": 8,
    "rendezvous_port": 29500,
    "working_directory": "",
    "checkpoint_directory": "/checkpoints/llama",
    "stop_timeout": 60,
    "global_batch_size": 0,
    "device": "hpu",
    "venv": "/opt/gaudi3_scale/venv",
}


def described_pods(job: dict[str, Any] | None = None, flags: dict[str, Any] | None = None, **changes: Any) -> Any:
    """Two pods of eight cards each, on the newest release's newest Kubernetes."""
    options = {
        "name": "llama",
        "max_restarts": 3,
        "only_on_hosts": {},
        "release": "1.24.1",
        "release_overrides": {},
        "cards_per_node": 8,
        "kind": "job",
        "version": "",
        "image": IMAGE,
        "nodes": 2,
        "namespace": "",
        "cards_from": "device_plugin",
        "resources": RESOURCES,
        "volumes": [CHECKPOINTS],
        "secrets": [],
        "tolerations": [],
        "queue": "",
        "security_context": {},
        "instances": [],
        "serving": {"engine_version": "", "accept_holes": [], "drain_timeout": 120, "ready_timeout": 7200},
    }
    return {**options, **changes, "job": {**LAUNCH, **(job or {})}, "flags": {**FLAGS, **(flags or {})}}


def described_instances(**changes: Any) -> Any:
    """An instance that serves from a claim with models, in two pods."""
    models = {"claim": "models", "path": "/models", "read_only": True}
    served = {"kind": "deployment", "name": "serving", "instances": [INSTANCE], "secrets": ["key"], "volumes": [models]}
    return described_pods(**{**served, **changes})
