# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What no cluster can run, or nobody should: each is one sentence with the option, its value and the remedy; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import is_secret
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, Release
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import (
    DEPLOYMENT,
    DRA,
    KINDS,
    Volume,
    pod_names,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import split_refusal

PREFIX = "gaudi_kubernetes_"
HUGE_PAGES = "hugepages-2Mi"
CARD = "habana.ai/gaudi"
# RFC 1035: a Service's name before Kubernetes 1.34, and a TrainJob's in any, begin with a letter.
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST = 63
_DIGEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[kMGTPE]|[KMGTPE]i)?")
_FACTORS: Mapping[str, float] = {
    "": 1,
    "m": 0.001,
    **{letter: 1000.0**power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", start=1)},
}
# resource.k8s.io/v1 came with 1.34.
_FIRST_WITH_DRA = (1, 34)
_REPLACED = {
    "pytorchjob": "Kubeflow's training operator, which made it, is legacy; use trainjob, or jobset without Kubeflow",
    "mpijob": "Kubeflow's operators, which made it, are legacy; use jobset or trainjob, where torchrun needs no SSH",
    "pod": "a pod is not replaced where its node fails; use job, jobset or trainjob",
}
_AUTOSCALERS = ("hpa", "horizontalpodautoscaler", "autoscaler", "scaledobject", "scaledjob", "verticalpodautoscaler")
# What an image or the kernel has there; a volume would hide it.
_TAKEN = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr")
_TOLERATION = ("key", "operator", "value", "effect", "tolerationSeconds")


def check_kind(kind: str, serves: bool = False) -> str:
    """The kind, in small letters; ``serves``: there are instances that serve."""
    small = kind.strip().lower()
    if small == DEPLOYMENT:
        if serves:
            return small
        raise GaudiError(
            f"{PREFIX}kind is {kind}, which restarts what ends and is for instances that serve; list those in "
            f"gaudi_serving_instances for localhost (group_vars/all.yml or -e), or use {', '.join(KINDS)} for a "
            "training."
        )
    if small in _AUTOSCALERS:
        raise GaudiError(
            f"{PREFIX}kind is {kind}, an autoscaler, but the ranks of a training are fixed when it starts; use "
            f"{', '.join(KINDS)}, and set {PREFIX}nodes."
        )
    if small not in KINDS:
        why = _REPLACED.get(small)
        raise GaudiError(f"{PREFIX}kind is {kind}: {why or 'use one of ' + ', '.join(KINDS)}.")
    return small


def check_version(text: str, release: Release) -> tuple[int, int]:
    """(major, minor) of a version as a cluster says it; empty: the newest of the release's matrix."""
    known = release.kubernetes
    if not text and known:
        text = known[-1]
    match = re.match(r"v?(\d+)\.(\d+)", text)
    if not match:
        reason = f"is {text!r}" if text else f"is empty, and no support matrix names a version for {release.version}"
        raise GaudiError(f"{PREFIX}version {reason}; give the cluster's version, such as 1.34.")
    short = f"{match[1]}.{match[2]}"
    if known and short not in known:
        raise GaudiError(f"{PREFIX}version is {text}, and {_outside(short, release)}.")
    return int(match[1]), int(match[2])


def _outside(short: str, release: Release) -> str:
    known = release.kubernetes
    said = f"release {release.version} supports Kubernetes {', '.join(known)}"
    if f"{short}0" in known:
        return f'{said}; YAML reads 1.30 as 1.3, so quote it ("{short}0")'
    others = [name for name, row in RELEASES.items() if short in row.kubernetes]
    remedy = f"set gaudi_release to one of {', '.join(others)}" if others else "use a cluster of one of these"
    return f"{said}; {remedy}"


def check_image(image: str) -> str:
    """An image by its digest: all pods have the same, today and after a restart."""
    if not image:
        raise GaudiError(f"{PREFIX}image is empty; name the image with its digest, as NAME@sha256:….")
    if image.endswith(":latest"):
        raise GaudiError(f"{PREFIX}image is {image:.200}, and latest changes; name it by digest, as NAME@sha256:….")
    if "@" not in image:
        raise GaudiError(
            f"{PREFIX}image {image:.200} has no digest, so pods may start different images; name it as NAME@sha256:…, "
            f"which `skopeo inspect docker://{image:.200}` shows."
        )
    if not _DIGEST.fullmatch(image):
        raise GaudiError(f"{PREFIX}image is {image!a:.200}; give NAME@sha256: and 64 hexadecimal digits.")
    return image


def check_cards(asked: Any, cards_per_node: int) -> int:
    """Ranks of a pod, each with a card."""
    option = "gaudi_training_processes_per_node"
    split = split_refusal({option: asked})
    if split:
        raise GaudiError(split)
    try:
        number = int(asked)
    except (TypeError, ValueError):
        raise GaudiError(f"{option} is {asked!a:.80}; give a whole number.") from None
    if not 1 <= number <= cards_per_node:
        raise GaudiError(
            f"{option} is {number}, and a node has {cards_per_node} cards (gaudi_cards_per_node); give 1 to "
            f"{cards_per_node}, and raise {PREFIX}nodes for more ranks."
        )
    return number


def check_cards_from(source: str, version: tuple[int, int]) -> str:
    """DRA's claims where the cluster's version has them."""
    if source == DRA and version < _FIRST_WITH_DRA:
        raise GaudiError(
            f"{PREFIX}cards_from is {DRA}, which needs Kubernetes 1.34, and {PREFIX}version is "
            f"{version[0]}.{version[1]}; use device_plugin."
        )
    return source


def check_names(name: str, kind: str, nodes: int, others: Mapping[str, str]) -> None:
    """The job's name and what Kubernetes makes of it, and ``others``: option -> name of one label."""
    for option, text in {"gaudi_training_name": name, **others}.items():
        check_label(option, text)
    longest = pod_names(kind, name, nodes)[-1]
    if len(longest) > LONGEST:
        raise GaudiError(
            f"gaudi_training_name is {name}, so a pod would be called {longest}, longer than a DNS label of {LONGEST}; "
            f"shorten it by {len(longest) - LONGEST}."
        )


def check_label(option: str, text: str) -> None:
    """A name of which Kubernetes makes a host's."""
    if not _LABEL.fullmatch(text) or len(text) > LONGEST:
        raise GaudiError(
            f"{option} is {text!a:.80}, which is not a DNS label; use up to {LONGEST} small letters, digits and "
            "dashes, with a letter first and no dash last."
        )


def check_objects(option: str, names: Sequence[str]) -> None:
    """Names of objects that are there: claims and Secrets."""
    for name in names:
        if not _SUBDOMAIN.fullmatch(name) or len(name) > 253:
            raise GaudiError(f"{option} has {name!a:.80}, which cannot name an object of Kubernetes; correct it.")


def check_resources(given: Mapping[str, Any], needs_cards: bool) -> dict[str, str]:
    """The resources as texts; with cards there are huge pages and memory among them."""
    option = f"{PREFIX}resources"
    found = {str(name): str(value) for name, value in given.items()}
    for name, text in found.items():
        _check_resource(option, name, text)
    if not needs_cards:
        return found
    if not amount(found.get(HUGE_PAGES, "0")):
        raise GaudiError(
            f"{option} has no {HUGE_PAGES}, and ranks on cards need huge pages; give what a node has for the pod, "
            f"as {HUGE_PAGES}: 95000Mi (`kubectl describe node` shows it)."
        )
    if amount(found[HUGE_PAGES]) % (2 << 20):
        raise GaudiError(f"{option}: {HUGE_PAGES} is {found[HUGE_PAGES]}; give a multiple of 2Mi.")
    if not amount(found.get("memory", "0")):
        raise GaudiError(
            f"{option} has no memory, and Kubernetes gives huge pages only beside it; give the pod's, as memory: 409Gi."
        )
    return found


def _check_resource(option: str, name: str, text: str) -> None:
    if name == CARD:
        split = amount(text) % 1 if _QUANTITY.fullmatch(text) else 0
        why = "and cards cannot be split" if split else "which the job's ranks determine"
        raise GaudiError(f"{option} has {name}: {text}, {why}; remove it, and set gaudi_training_processes_per_node.")
    if name.endswith("/gpu"):
        raise GaudiError(
            f"{option} has {name}, which Gaudi nodes do not have; remove it, since each rank gets a {CARD} already."
        )
    if not _QUANTITY.fullmatch(text):
        raise GaudiError(f"{option}: {name} is {text!a:.80}; give a quantity, such as 16, 500m or 128Gi.")


def amount(text: str) -> float:
    """A quantity as a number of bytes, of processors or of pieces."""
    match = _QUANTITY.fullmatch(text)
    return float(match[1]) * _FACTORS[match[2] or ""] if match else 0.0


def check_volumes(given: Sequence[Mapping[str, Any]]) -> list[Volume]:
    """The volumes, each at a place of its own that hides nothing."""
    option = f"{PREFIX}volumes"
    volumes = [Volume(one["claim"], one["path"].rstrip("/") or "/", bool(one["read_only"])) for one in given]
    check_objects(option, [one.claim for one in volumes])
    for one in volumes:
        if not one.path.startswith("/") or ":" in one.path or ".." in one.path.split("/"):
            raise GaudiError(f"{option} has the path {one.path!a:.80}; give an absolute path without a colon.")
        if one.path == "/" or any(one.path == taken or one.path.startswith(f"{taken}/") for taken in _TAKEN):
            raise GaudiError(
                f"{option} has the path {one.path}, which would hide the image's own files; mount {one.claim} "
                "elsewhere, such as /data."
            )
    twice = [one.path for number, one in enumerate(volumes) if one.path in [other.path for other in volumes[:number]]]
    if twice:
        raise GaudiError(f"{option} has the path {twice[0]} twice; give each claim a path of its own.")
    return volumes


def check_tolerations(given: Sequence[Mapping[str, Any]]) -> None:
    """In Kubernetes' own words, of which a misspelt one would be dropped."""
    for one in given:
        unknown = [word for word in one if word not in _TOLERATION]
        if unknown:
            raise GaudiError(
                f"{PREFIX}tolerations has {unknown[0]!a:.80}; use {', '.join(_TOLERATION)}, as in key: "
                "node.kubernetes.io/spot, operator: Exists, effect: NoSchedule."
            )


def check_security_context(given: Mapping[str, Any]) -> None:
    """Cards need no privileged container: the device plug-in, or DRA, gives the devices."""
    option = f"{PREFIX}security_context"
    added = (given.get("capabilities") or {}).get("add") or []
    all_rights = [word for word in added if str(word).upper().removeprefix("CAP_") in ("ALL", "SYS_ADMIN")]
    if given.get("privileged") or all_rights:
        what = f"capabilities.add {all_rights[0]}" if all_rights else "privileged: true"
        raise GaudiError(
            f"{option} has {what}, which gives the pod its whole node; remove it, since cards, shared memory and huge "
            "pages need no privileges."
        )


def check_environment(variables: Mapping[str, Any]) -> None:
    """A manifest is kept in a repository, and read by whoever may read the job."""
    secret = sorted(str(name) for name, value in variables.items() if value is not None and is_secret(str(name)))
    if secret:
        raise GaudiError(
            f"gaudi_training_environment sets {', '.join(secret)}, which sounds like a secret, and a manifest keeps it "
            f"as it is; put it into a Secret, and name that in {PREFIX}secrets."
        )


_ONLY_ON_HOSTS = {
    "gaudi_training_spares": "Kubernetes replaces a lost pod; leave it empty",
    "gaudi_training_modules": "the device plugin or DRA chooses the cards; leave it empty",
    "gaudi_training_mounts": "a pod has volumes; use gaudi_kubernetes_volumes, and leave it empty",
    "gaudi_training_witness": "Kubernetes decides which pods run; leave it empty",
    "gaudi_training_min_nodes": "the number of pods is fixed; set it to 0",
    "gaudi_training_requirements": "pods install nothing; install them in the image, and leave it empty",
    "gaudi_training_text_upload": "nothing is copied to pods; put the text on a volume, and leave it empty",
    "gaudi_training_environment_files": "pods do not see the nodes' files; use gaudi_training_environment",
    "gaudi_training_allowed_networks": "systemd enforces it on nodes; use a NetworkPolicy, and leave it empty",
}


def check_only_on_hosts(given: Mapping[str, Any]) -> None:
    """Options of a launch that would be lost in a pod: option -> its value."""
    for option, value in given.items():
        if value and str(value) != "0":
            raise GaudiError(f"{option} is {value!a:.200} and has no effect in pods: {_ONLY_ON_HOSTS[option]}.")
