# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A training job and the pods that are to run it, as one value; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job

JOB, JOBSET, TRAINJOB = "job", "jobset", "trainjob"
KINDS = (JOB, JOBSET, TRAINJOB)
# Of instances that serve, where those are of a training.
DEPLOYMENT = "deployment"
DEVICE_PLUGIN, DRA = "device_plugin", "dra"
# The name of a pod's replicated job, which Kubeflow Trainer gives its trainer (pkg/constants/constants.go, Node).
NODE = "node"


@dataclass(frozen=True)
class Volume:
    """A PersistentVolumeClaim, mounted at ``path``."""

    claim: str
    path: str
    read_only: bool = False

    def has(self, path: str) -> bool:
        return f"{path}/".startswith(f"{self.path.rstrip('/')}/")


@dataclass(frozen=True)
class Pods:
    """What a cluster is to know of the pods, as the operator says it; see the role ``gaudi_kubernetes``.

    ``version`` is (major, minor). ``resources`` are those of a pod beside its cards, in Kubernetes' own words.
    """

    image: str
    version: tuple[int, int]
    kind: str = JOB
    namespace: str = ""
    cards_from: str = DEVICE_PLUGIN
    resources: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[Volume] = ()
    secrets: Sequence[str] = ()
    tolerations: Sequence[Mapping[str, Any]] = ()
    queue: str = ""
    security_context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))


@dataclass(frozen=True)
class Wanted:
    """``flags`` are the judged ones, by name; ``directories`` are those that they name. ``release`` has its build.

    The job's ``hosts`` are the names of its pods, in the order of their ranks.
    """

    job: Job
    pods: Pods
    release: str
    max_restarts: int
    flags: Mapping[str, str]
    directories: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def paths(self) -> JobPaths:
        return JobPaths(self.job.name)


def pod_names(kind: str, name: str, nodes: int) -> list[str]:
    """The names by which pods reach each other, without the one of their service (Job and JobSet: pod hostnames)."""
    stem = name if kind == JOB else f"{name}-{NODE}-0"
    return [f"{stem}-{index}" for index in range(nodes)]
