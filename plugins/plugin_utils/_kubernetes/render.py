# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""From the description of a launch to the text of a manifest, with what is to be said of it; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import (
    EnvironmentOptions,
    directories,
    plan_environment,
    target_of,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.recipe_cache import RECIPE_CACHE, of_job
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.settings_check import judge
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.torchrun import TELLS_STEPS
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job, check, job_from
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import Setting
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import without_secrets
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import (
    Release,
    find_release,
    version_key,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes import refusals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.kinds import Object, objects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.pod import scratch
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.serving import deployment_objects, served_by
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import (
    DEPLOYMENT,
    DRA,
    JOB,
    Pods,
    Wanted,
    pod_names,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_words import in_role_words

AUTO, NETWORK = "auto", "gaudi_ethernet"
CPU, CARDS = "cpu", "hpu"
# Options that are labels of Kubernetes' where they are given.
_NAMED = ("namespace", "queue")


@dataclass(frozen=True)
class Manifest:
    """``text`` is that of the file; ``remarks`` are sentences for the operator."""

    name: str
    text: str
    objects: Sequence[Object]
    remarks: Sequence[str]


def render(options: Mapping[str, Any]) -> Manifest:
    """The manifest for the options of the module ``kubernetes_manifests``; raises GaudiError for the first refusal."""
    release = find_release(options["release"], options["release_overrides"])
    kind = refusals.check_kind(options["kind"], bool(options["instances"]))
    if kind == DEPLOYMENT:
        return _serving(release, options)
    refusals.check_only_on_hosts(options["only_on_hosts"])
    description = options["job"]
    if description["device"] not in (CARDS, CPU):
        raise GaudiError(
            f"gaudi_training_device is {description['device']}; use {CARDS}, or {CPU} for pods without cards."
        )
    refusals.check_environment(description["environment"])
    ranks = refusals.check_cards(description["processes_per_node"], options["cards_per_node"])
    nodes = _nodes(options["nodes"])
    named = {f"{refusals.PREFIX}{name}": options[name] for name in _NAMED if options[name]}
    refusals.check_names(options["name"], kind, nodes, named)
    with _in_words_of("gaudi_training_", description):
        job = _job(options["name"], kind, nodes, {**description, "processes_per_node": ranks})
    pods = _pods(kind, release, options, needs_cards=description["device"] == CARDS)
    with _in_words_of("gaudi_flags_", options["flags"]):
        settings, remarks = _flags(options["flags"], release, options["release_overrides"])
    flags = {setting.name: setting.value for setting in settings}
    kept = _directories(settings, job.name)
    wanted = Wanted(job, pods, release.package_version, options["max_restarts"], flags, kept)
    made = objects(wanted)
    return Manifest(job.name, _text(pods, wanted.release, made), made, [*remarks, *_remarks(wanted)])


def _serving(release: Release, options: Mapping[str, Any]) -> Manifest:
    refusals.check_names(
        options["name"], JOB, 1, {f"{refusals.PREFIX}{name}": options[name] for name in _NAMED if options[name]}
    )
    pods = _pods(DEPLOYMENT, release, options, needs_cards=True)
    with _in_words_of("gaudi_serving_", options["serving"]):
        served, remarks = served_by(options, pods, release.version)
    made = deployment_objects(served)
    return Manifest(options["name"], _text(pods, release.package_version, made), made, remarks)


@contextmanager
def _in_words_of(prefix: str, options: Collection[str]) -> Iterator[None]:
    """A refusal names the variable that the operator wrote."""
    try:
        yield
    except GaudiError as error:
        raise GaudiError(in_role_words(str(error), prefix, {f"{prefix}{name}" for name in options})) from error


def _nodes(nodes: int) -> int:
    if nodes < 1:
        raise GaudiError(
            f"{refusals.PREFIX}nodes is {nodes}, and gaudi_training_hosts names none; give the number of pods."
        )
    return nodes


def _job(name: str, kind: str, nodes: int, description: Mapping[str, Any]) -> Job:
    """The description of a launch, whose hosts are the pods."""
    pods = pod_names(kind, name, nodes)
    of_launch = {**description, "name": name, "hosts": pods, "host": pods[0], "bind": "none"}
    return check(job_from({**of_launch, "rendezvous_address": f"{pods[0]}.{name}"}), None)


def _pods(kind: str, release: Release, options: Mapping[str, Any], *, needs_cards: bool) -> Pods:
    version = refusals.check_version(options["version"], release)
    refusals.check_objects(f"{refusals.PREFIX}secrets", options["secrets"])
    refusals.check_tolerations(options["tolerations"])
    refusals.check_security_context(options["security_context"])
    return Pods(
        image=refusals.check_image(options["image"]),
        version=version,
        kind=kind,
        namespace=options["namespace"],
        cards_from=refusals.check_cards_from(options["cards_from"], version) if needs_cards else "",
        resources=refusals.check_resources(options["resources"], needs_cards),
        volumes=refusals.check_volumes(options["volumes"]),
        secrets=options["secrets"],
        tolerations=options["tolerations"],
        queue=options["queue"],
        security_context=options["security_context"],
    )


def _flags(
    asked: Mapping[str, Any], release: Release, overrides: Mapping[str, Mapping[str, object]]
) -> tuple[list[Setting], list[str]]:
    """The flags of a node, judged by the catalog: the bridge is in the image, and its own paths are."""
    given = {name: value for name, value in asked.items() if value is not None}
    is_known = given.get("network", AUTO) != AUTO
    network = given["network"] if is_known else NETWORK
    options = EnvironmentOptions(release=release.version, **{**given, "network": network}, release_overrides=overrides)
    settings = plan_environment(options, release)
    number = version_key(release.version)[:2]
    judged = judge(options, settings, target_of(options.profile, network, number, options.stock_torch, None))
    remarks = [finding.sentence() for finding in judged.findings]
    if not is_known:
        remarks.append(
            f"gaudi_flags_network is {AUTO}, which only a node can determine, so the flags are for {NETWORK}; set it "
            "if the pods use another network."
        )
    return settings, remarks


def _directories(settings: Sequence[Setting], job: str) -> list[str]:
    """Those that the flags name; of recipes the job's own one."""
    found = [
        setting._replace(value=of_job(setting.value, job)) if setting.name == RECIPE_CACHE else setting
        for setting in settings
    ]
    return directories(found)


def _remarks(wanted: Wanted) -> list[str]:
    """What the operator has to know of this job; raises GaudiError where its checkpoints would be lost."""
    said = []
    place = wanted.job.checkpoint_directory
    kept = any(one.has(place or wanted.paths.directory) and not one.read_only for one in wanted.pods.volumes)
    if place and not kept:
        raise GaudiError(
            f"gaudi_training_checkpoint_directory is {place}, which is on none of {refusals.PREFIX}volumes that can be "
            "written, so its checkpoints would end with the pod; mount a claim there."
        )
    if not kept:
        said.append(
            f"Checkpoints in {scratch(wanted).get('job', wanted.paths.directory)} end with the pod, so a restart "
            f"begins at step 0; set gaudi_training_checkpoint_directory to a directory on {refusals.PREFIX}volumes."
        )
    words = list(wanted.job.command)
    if without_secrets({"command": words})["command"] != words:
        said.append(
            "gaudi_training_command has a word that looks like a secret, and the file has it as it is; read it from a "
            f"variable that one of {refusals.PREFIX}secrets sets."
        )
    if wanted.pods.cards_from == DRA:
        said.append("Intel calls its DRA driver for Gaudi beta and not for production (0.7.2).")
    if wanted.job.command[:2] == TELLS_STEPS:
        said.append("The built-in trainer needs the Python package gaudi3_scale in the image.")
    return said


# A line is never broken: kubectl and people read it as one.
_WIDTH = 1 << 16
# 1e-4 and y are texts in Python's YAML, and a number and a boolean in Go's.
_NO_TEXT_IN_GO = re.compile(r"[-+]?\.?\d.*|[yYnN]", re.DOTALL)


def dumped(made: Sequence[Object], base: Any) -> str:
    """The objects as YAML, without anchors. ``base`` is one of PyYAML's safe dumpers."""

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, _data: object) -> bool:
            return True

    def quoted(dumper: Any, text: str) -> Any:
        style = "'" if _NO_TEXT_IN_GO.fullmatch(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)

    Dumper.add_representer(str, quoted)
    return yaml.dump_all(made, Dumper=Dumper, sort_keys=False, explicit_start=True, width=_WIDTH)


def _text(pods: Pods, release: str, made: Sequence[Object]) -> str:
    """The file. By way of JSON: Ansible keeps more with its values than they say."""
    heading = (
        f"# Written by gaudi3.scale.render_kubernetes (kind {pods.kind}, Kubernetes {pods.version_text}, "
        f"release {release}).\n"
        "# Never run on a cluster. Changes by hand are replaced.\n"
    )
    plain = json.loads(json.dumps(made))
    # libyaml's is faster, and PyYAML's wheels have it.
    return heading + dumped(plain, getattr(yaml, "CSafeDumper", yaml.SafeDumper))
