# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The pod that runs one node's part of a job, alike in all kinds; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._flags.recipe_cache import RECIPE_CACHE, of_job
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.torchrun import torchrun_argv
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import job_environment, starts_in
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.refusals import CARD, amount
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import (
    DRA,
    NODE,
    TRAINJOB,
    Pods,
    Wanted,
)

# The interface that the cluster's network gives each pod (containerd and CRI-O call it so).
INTERFACE = "eth0"
# Set in the container of each pod of an indexed Job, so also of a JobSet.
INDEX = "JOB_COMPLETION_INDEX"
CARDS = "cards"
THREADS = "OMP_NUM_THREADS"
# As the vendor's own pods (docs.habana.ai, Running Workloads on Kubernetes) without hostIPC: /dev/shm is a volume here.
SECURITY: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"], "add": ["SYS_NICE"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
# What Kubeflow Trainer tells torchrun by variables (PET_NNODES and so on, pkg/runtime/framework/plugins/torch).
_TOLD_BY_TRAINER = ("--nnodes", "--node-rank", "--nproc-per-node", "--master-addr")


def pod_spec(wanted: Wanted, address: str, subdomain: str = "") -> dict[str, Any]:
    """The ``spec`` of a pod template; the first pod is reached by ``address``."""
    pods = wanted.pods
    mounted = dict(volumes(pods, scratch(wanted)))
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": wanted.job.stop_timeout,
        # Ranks ask the cluster for nothing, and its services are no part of their environment.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    if subdomain:
        spec["subdomain"] = subdomain
    if pods.tolerations:
        spec["tolerations"] = [dict(one) for one in pods.tolerations]
    if pods.cards_from == DRA:
        spec["resourceClaims"] = [{"name": CARDS, "resourceClaimTemplateName": claim_name(wanted.name)}]
    return {
        **spec,
        "containers": [_container(wanted, address, mounted)],
        "volumes": [{"name": name, **source} for name, (source, _mount) in mounted.items()],
    }


def claim_name(name: str) -> str:
    """The ResourceClaimTemplate of DRA."""
    return f"{name}-{CARDS}"


def flags_name(wanted: Wanted) -> str:
    """The ConfigMap with the flags."""
    return f"{wanted.name}-flags"


def _container(wanted: Wanted, address: str, mounted: Mapping[str, Any]) -> dict[str, Any]:
    pods = wanted.pods
    sources: list[dict[str, Any]] = [{"configMapRef": {"name": flags_name(wanted)}}]
    sources += [{"secretRef": {"name": name}} for name in pods.secrets]
    return {
        "name": NODE,
        "image": pods.image,
        "command": _command(wanted, address),
        "workingDir": starts_in(wanted.job, wanted.paths),
        # A later source wins over those before it, and `env` over all of them.
        "envFrom": sources,
        "env": [{"name": name, "value": unexpanded(text)} for name, text in sorted(environment(wanted).items())],
        "resources": resources(pods, wanted.job.processes_per_node if wanted.job.device == "hpu" else 0),
        "securityContext": {**SECURITY, **pods.security_context},
        "volumeMounts": [{"name": name, **mount} for name, (_source, mount) in mounted.items()],
    }


def environment(wanted: Wanted) -> dict[str, str]:
    """The variables beside flags, Secrets and what the cluster's controller sets."""
    flag = wanted.flags.get(RECIPE_CACHE)
    recipes = of_job(flag, wanted.name) if flag else None
    variables = job_environment(wanted.job, wanted.paths, INTERFACE, recipes)
    # torchrun would set 1.
    cores = int(amount(wanted.pods.resources.get("cpu", "0"))) // wanted.job.processes_per_node
    threads = {THREADS: str(cores)} if cores and THREADS not in wanted.flags else {}
    return {**threads, **variables}


def unexpanded(text: str) -> str:
    """A word that Kubernetes leaves as it is: it would replace ``$(NAME)``, and makes one ``$`` of two."""
    return text.replace("$", "$$")


def _command(wanted: Wanted, address: str) -> list[str]:
    """torchrun by its name, since the image decides where Python is; what ranks print, kubectl shows too."""
    reference = f"$({INDEX})"
    # The index comes from the controller; torchrun_argv has put all other words in form for torchrun's own templates.
    _program, *words = torchrun_argv(wanted.job, wanted.paths, node_rank=reference, address=address)
    words[words.index("--redirects")] = "--tee"
    if wanted.pods.kind == TRAINJOB:
        words = list(_without(words, _TOLD_BY_TRAINER, wanted.job.command))
    return ["torchrun", *(word if word == reference else unexpanded(word) for word in words)]


def _without(words: Sequence[str], options: Sequence[str], command: Sequence[str]) -> Iterator[str]:
    """The words without these options and their values; the command's own words stay."""
    end = len(words) - len(command)
    for place in range(0, end, 2):
        if words[place] not in options:
            yield from words[place : place + 2]
    yield from words[end:]


def resources(pods: Pods, cards: int) -> dict[str, Any]:
    """Requests equal limits: so it has to be with huge pages, and then a node that pins gives whole processors."""
    amounts: dict[str, Any] = {**({CARD: cards} if cards and pods.cards_from != DRA else {}), **pods.resources}
    claims = {"claims": [{"name": CARDS}]} if cards and pods.cards_from == DRA else {}
    return {**claims, "limits": amounts, "requests": dict(amounts)}


def volumes(
    pods: Pods, ends_with_pod: Mapping[str, str]
) -> Iterator[tuple[str, tuple[dict[str, Any], dict[str, Any]]]]:
    """Each volume's name, source and mount: shared memory, claims, and directories, by name, that no claim keeps."""
    # Without a size it may take the pod's memory, which counts it.
    yield "shared-memory", ({"emptyDir": {"medium": "Memory"}}, {"mountPath": "/dev/shm"})
    for number, one in enumerate(pods.volumes):
        claim = {"claimName": one.claim, **({"readOnly": True} if one.read_only else {})}
        mount = {"mountPath": one.path, **({"readOnly": True} if one.read_only else {})}
        yield f"claim-{number}", ({"persistentVolumeClaim": claim}, mount)
    for name, path in ends_with_pod.items():
        yield name, ({"emptyDir": {}}, {"mountPath": path})


def scratch(wanted: Wanted) -> dict[str, str]:
    """Directories that end with the pod, by the names of their volumes."""
    paths = {"job": wanted.paths.directory, "logs": wanted.paths.logs}
    paths |= {f"flags-{number}": path for number, path in enumerate(wanted.directories)}
    return {name: path for name, path in paths.items() if not any(one.has(path) for one in wanted.pods.volumes)}
