# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The objects of each kind: an indexed Job, a JobSet, or a TrainJob with its runtime; pure.

Written after the types of batch/v1, of JobSet 0.12 (api/jobset/v1alpha2) and of Kubeflow Trainer 2.4
(pkg/apis/trainer/v1alpha1).
"""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.pod import (
    CARDS,
    claim_name,
    flags_name,
    pod_spec,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import (
    DRA,
    JOB,
    JOBSET,
    NODE,
    Pods,
    Wanted,
    pod_names,
)

Object = dict[str, Any]
# Kueue reads it from whatever is queued; it counts quota, and places nothing.
QUEUE = "kueue.x-k8s.io/queue-name"
# A pod that was evicted, preempted or lost with its node. The schema of a JobSet has no default for the status.
_DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]
# backoffLimitPerIndex is on by default from here.
_FIRST_PER_INDEX = (1, 29)


def objects(wanted: Wanted) -> list[Object]:
    """All objects in the order in which they are created."""
    kinds = {JOB: _job, JOBSET: _jobset}
    name, pods = wanted.name, wanted.pods
    shared = [_flags(wanted), *([claim(name, pods, wanted.job.processes_per_node)] if pods.cards_from == DRA else [])]
    return [*shared, *kinds.get(wanted.pods.kind, _trainjob)(wanted)]


def metadata(of: str, pods: Pods, name: str = "", queued: bool = False) -> Object:
    """Of an object of the job or instance ``of``, whose own name it has unless it has another."""
    labels = {"app.kubernetes.io/name": of, "app.kubernetes.io/managed-by": "gaudi3.scale"}
    if queued and pods.queue:
        labels[QUEUE] = pods.queue
    namespace = {"namespace": pods.namespace} if pods.namespace else {}
    return {"name": name or of, **namespace, "labels": labels}


def _metadata(wanted: Wanted, name: str = "", queued: bool = False) -> Object:
    return metadata(wanted.name, wanted.pods, name, queued)


def _flags(wanted: Wanted) -> Object:
    named = _metadata(wanted, flags_name(wanted))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": dict(wanted.flags)}


def claim(of: str, pods: Pods, count: int) -> Object:
    """A claim for each pod, which Intel's DRA driver answers."""
    exactly = {"deviceClassName": "gaudi.intel.com", "allocationMode": "ExactCount", "count": count}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata(of, pods, claim_name(of)),
        "spec": {"spec": {"devices": {"requests": [{"name": CARDS, "exactly": exactly}]}}},
    }


def _address(wanted: Wanted) -> str:
    return f"{pod_names(wanted.pods.kind, wanted.name, 1)[0]}.{wanted.name}"


def _job(wanted: Wanted) -> list[Object]:
    """With a headless service, by which the pods find the first one also before it is ready."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(wanted),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": wanted.name},
        },
    }
    # Of one rank's end all learn by their lost connections, so that each index begins again. All of them are needed.
    retries: Object = {"backoffLimit": wanted.max_restarts * len(wanted.job.hosts)}
    if wanted.pods.version >= _FIRST_PER_INDEX:
        retries = {"backoffLimitPerIndex": wanted.max_restarts, "maxFailedIndexes": 0}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(wanted, queued=True),
        "spec": {
            **_completions(wanted),
            **retries,
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": _DISRUPTED}]},
            "template": _template(wanted, pod_spec(wanted, _address(wanted), wanted.name)),
        },
    }
    return [service, job]


def _completions(wanted: Wanted) -> Object:
    nodes = len(wanted.job.hosts)
    return {"completions": nodes, "parallelism": nodes, "completionMode": "Indexed"}


def _template(wanted: Wanted, spec: Object) -> Object:
    return {"metadata": {"labels": _metadata(wanted)["labels"]}, "spec": spec}


def _restarted_together(wanted: Wanted, completions: Object, labels: Object) -> Object:
    """A JobSet's ``spec``: a rank that fails ends its Job, and all begin again; disruptions are not counted."""
    job = {
        **completions,
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [{"action": "FailJob", "onPodConditions": _DISRUPTED}]},
        "template": _template(wanted, pod_spec(wanted, _address(wanted))),
    }
    uncounted = {
        "name": "disruption",
        "action": "RestartJobSetAndIgnoreMaxRestarts",
        "onJobFailureReasons": ["PodFailurePolicy"],
    }
    return {
        "failurePolicy": {"maxRestarts": wanted.max_restarts, "rules": [uncounted]},
        "replicatedJobs": [{"name": NODE, "template": {**labels, "spec": job}}],
    }


def _jobset(wanted: Wanted) -> list[Object]:
    """JobSet makes the headless service itself, with the set's name."""
    spec = _restarted_together(wanted, _completions(wanted), {})
    named = _metadata(wanted, queued=True)
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": named, "spec": spec}]


def _trainjob(wanted: Wanted) -> list[Object]:
    """With a runtime of its own, since how a TrainJob changes that of a cluster differs between Trainer's versions."""
    version, group = "trainer.kubeflow.org/v1alpha1", "trainer.kubeflow.org"
    nodes, ranks = len(wanted.job.hosts), wanted.job.processes_per_node
    step = {"metadata": {"labels": {f"{group}/trainjob-ancestor-step": "trainer"}}}
    runtime = {
        "apiVersion": version,
        "kind": "TrainingRuntime",
        "metadata": _metadata(wanted),
        "spec": {
            "mlPolicy": {"numNodes": nodes, "torch": {"numProcPerNode": ranks}},
            "template": {"spec": _restarted_together(wanted, {}, step)},
        },
    }
    trainjob = {
        "apiVersion": version,
        "kind": "TrainJob",
        "metadata": _metadata(wanted, queued=True),
        "spec": {
            "runtimeRef": {"apiGroup": group, "kind": "TrainingRuntime", "name": wanted.name},
            # Trainer gives torchrun its variables only where this is there.
            "trainer": {"numNodes": nodes, "numProcPerNode": ranks},
        },
    }
    return [runtime, trainjob]
