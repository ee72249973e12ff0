# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""An instance that serves as a Deployment with its Service: the engine's words and variables of a node's unit; pure.

What the model is built like is on a claim that nobody reads here, so its lengths are given and not calculated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.command import engine_argv, engine_variables
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import ServingPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.engines import Engine, choose_engine, refuse_holes
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.flags import KEY, VISIBLE
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import Instance, parse_instances
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.sizing import Size
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.kinds import Object, claim, metadata
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.pod import (
    CARDS,
    SECURITY,
    claim_name,
    resources,
    unexpanded,
    volumes,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.refusals import PREFIX, check_label
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import DRA, Pods

OPTION = "gaudi_serving_instances"
# vLLM's own share of the memory that is left after the weights.
UTILIZATION = 0.9
# The cluster takes a pod out of its Service while it is told to end; the engine refuses newcomers from then on.
LEAVING_SECONDS = 10
# Beyond the engine's own time to let requests end, as a node's unit has it.
STOP_SECONDS = 30
PROBE_SECONDS = 10
# So many unanswered probes are a hung engine: one that is busy answers /health meanwhile.
HUNG = 6


@dataclass(frozen=True)
class Served:
    """One instance in ``replicas`` pods. ``drain`` and ``ready`` are seconds, as those of the role gaudi_serving."""

    instance: Instance
    engine: Engine
    pods: Pods
    replicas: int
    drain: int
    ready: int


def served_by(options: Mapping[str, Any], pods: Pods, release: str) -> tuple[list[Served], list[str]]:
    """All instances, and sentences for the operator; raises GaudiError for the first that pods cannot serve."""
    settings = options["serving"]
    engine = choose_engine(settings["engine_version"], release, options["release_overrides"])
    refuse_holes(engine, settings["accept_holes"], ())
    if not pods.secrets:
        raise GaudiError(
            f"{PREFIX}secrets is empty, so that everyone in the cluster could ask the models; name a Secret whose key "
            f"{KEY} is what clients have to send."
        )
    instances = parse_instances(options["instances"])
    for one in instances:
        _check(one, pods)
    said = [
        *engine.warnings,
        "Pods answer without TLS, which is up to the cluster's gateway, and do not compare a model with its record.",
    ]
    replicas = options["nodes"] or 1
    made = [
        Served(one, engine, pods, replicas, settings["drain_timeout"], settings["ready_timeout"]) for one in instances
    ]
    return made, said


def _check(one: Instance, pods: Pods) -> None:
    place = f"{OPTION}: {one.name}"
    check_label(f"{place}: name", one.name)
    if not one.model.directory:
        raise GaudiError(
            f"{place}: model is {one.model.name}@{one.model.version}, and pods do not read the registry; copy it to a "
            "claim (publish_model.yml with gaudi_model_destination), and give its path in the pods."
        )
    if not any(volume.has(one.model.directory) for volume in pods.volumes):
        raise GaudiError(
            f"{place}: model is {one.model.directory}, which is on none of {PREFIX}volumes; mount its claim."
        )
    if one.modules:
        raise GaudiError(f"{place}: modules names cards of one node, and the cluster chooses them; give cards.")
    if not one.max_model_len or not one.max_num_seqs:
        raise GaudiError(
            f"{place}: max_model_len and max_num_seqs are not both given, and the model cannot be read from here to "
            "calculate them; give both, such as those that serving.yml shows on a node."
        )


def deployment_objects(served: Sequence[Served]) -> list[Object]:
    """All objects in the order in which they are created."""
    return [made for one in served for made in _objects(one)]


def _objects(served: Served) -> list[Object]:
    name, pods, port = served.instance.name, served.pods, served.instance.port
    selected = {"app.kubernetes.io/name": name}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, pods),
        "spec": {"selector": selected, "ports": [{"name": "http", "port": port, "targetPort": port}]},
    }
    # Cards are scarce: a pod that leaves makes room for the one that comes, and where there is one pod it leaves first.
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, pods, queued=True),
        "spec": {
            "replicas": served.replicas,
            "selector": {"matchLabels": selected},
            "strategy": rolling if served.replicas > 1 else {"type": "Recreate"},
            "progressDeadlineSeconds": served.ready + 600,
            "template": {"metadata": {"labels": metadata(name, pods, queued=True)["labels"]}, "spec": _pod(served)},
        },
    }
    claims = [claim(name, pods, served.instance.count)] if pods.cards_from == DRA else []
    return [*claims, service, deployment]


def _pod(served: Served) -> Object:
    pods, name = served.pods, served.instance.name
    paths = ServingPaths(name)
    mounted = dict(volumes(pods, {"home": paths.home, "recipes": paths.recipes}))
    spec: Object = {
        "terminationGracePeriodSeconds": LEAVING_SECONDS + served.drain + STOP_SECONDS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if pods.tolerations:
        spec["tolerations"] = [dict(one) for one in pods.tolerations]
    if pods.cards_from == DRA:
        spec["resourceClaims"] = [{"name": CARDS, "resourceClaimTemplateName": claim_name(name)}]
    return {
        **spec,
        "containers": [_container(served, paths, mounted)],
        "volumes": [{"name": volume, **source} for volume, (source, _mount) in mounted.items()],
    }


def _container(served: Served, paths: ServingPaths, mounted: Mapping[str, Any]) -> Object:
    pods, port = served.pods, served.instance.port
    # In a pod that is its own address alone.
    instance = replace(served.instance, address="0.0.0.0")
    size = Size(instance.max_model_len, instance.max_num_seqs, UTILIZATION, ("", ""))
    argv = engine_argv(instance, served.engine, size, instance.model.directory, program="vllm", drain=served.drain)
    variables = engine_variables(instance, served.engine, size, (), paths, paths.recipes)
    # The device plug-in says which cards a pod has.
    variables.pop(VISIBLE)
    probe = {"httpGet": {"path": "/health", "port": port}, "periodSeconds": PROBE_SECONDS}
    return {
        "name": "engine",
        "image": pods.image,
        "command": [unexpanded(word) for word in argv],
        "envFrom": [{"secretRef": {"name": secret}} for secret in pods.secrets],
        "env": [{"name": name, "value": unexpanded(text)} for name, text in sorted(variables.items())],
        "ports": [{"name": "http", "containerPort": port}],
        # The port opens after the warm-up.
        "startupProbe": {**probe, "failureThreshold": max(1, math.ceil(served.ready / PROBE_SECONDS))},
        "readinessProbe": probe,
        "livenessProbe": {**probe, "timeoutSeconds": PROBE_SECONDS, "failureThreshold": HUNG},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(LEAVING_SECONDS)]}}},
        "resources": resources(pods, instance.count),
        "securityContext": {**SECURITY, **pods.security_context},
        "volumeMounts": [{"name": name, **mount} for name, (_source, mount) in mounted.items()],
    }
