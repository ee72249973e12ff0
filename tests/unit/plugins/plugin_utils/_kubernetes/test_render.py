# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Manifests as files that people read, and as objects that each version's own schema takes.

Where a golden file changes on purpose, REWRITE=1 in the environment of this test writes it again.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.render import dumped, render
from ansible_collections.gaudi3.scale.tests.unit.described_pods import (
    CHECKPOINTS,
    DIGEST,
    IMAGE,
    INSTANCE,
    LATEST,
    RESOURCES,
    UNPINNED,
    described_instances,
    described_pods,
)

HERE = Path(__file__).parent
SCHEMAS: dict[str, Any] = yaml.safe_load((HERE / "custom_resources.yml").read_text(encoding="utf-8"))
KINDS = ("job", "jobset", "trainjob")
SPOT = {"key": "node.kubernetes.io/spot", "operator": "Exists", "effect": "NoSchedule"}
FULL = {
    "namespace": "research",
    "secrets": ["wandb"],
    "tolerations": [SPOT],
    "queue": "team",
    "security_context": {"runAsUser": 1000},
    "volumes": [CHECKPOINTS, {"claim": "text", "path": "/data/", "read_only": True}],
}
SERVING = described_instances()
GOLDEN = {
    "job": described_pods(),
    "job_with_all_options": described_pods(**FULL),
    "jobset": described_pods(kind="jobset"),
    "trainjob": described_pods(kind="trainjob"),
    "deployment": SERVING,
    "deployment_with_claims": {**SERVING, "cards_from": "dra", "version": "1.34", "nodes": 1},
    "jobset_with_claims": described_pods(kind="jobset", cards_from="dra", version="1.34"),
}
# Each version of Kubernetes that a release names, with one of these releases.
MATRIX = sorted({version: name for name, row in RELEASES.items() for version in row.kubernetes}.items())


@pytest.mark.parametrize("name", GOLDEN)
def test_a_manifest_is_as_its_golden_file(name):
    path = HERE / "golden" / f"{name}.txt"
    text = render(GOLDEN[name]).text
    if os.environ.get("REWRITE"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", GOLDEN)
def test_each_file_says_first_that_it_was_never_run(name):
    assert "Never run on a cluster." in render(GOLDEN[name]).text.partition("---")[0]


@pytest.mark.parametrize("name", GOLDEN)
def test_with_and_without_libyaml_the_text_is_the_same(name):
    made = json.loads(json.dumps(render(GOLDEN[name]).objects))
    assert dumped(made, yaml.CSafeDumper) == dumped(made, yaml.SafeDumper)


def objects(options: dict[str, Any]) -> dict[str, Any]:
    """The objects of the text by their kinds, as a reader of YAML has them."""
    return {one["kind"]: one for one in yaml.safe_load_all(render(options).text)}


def pod_of(options: dict[str, Any]) -> dict[str, Any]:
    found = objects(options)
    if options["kind"] == "job":
        return found["Job"]["spec"]["template"]["spec"]
    return job_specs(found.get("JobSet") or found["TrainingRuntime"])[0]["template"]["spec"]


def job_specs(custom: dict[str, Any]) -> list[dict[str, Any]]:
    """The specifications of Jobs in an object of JobSet's or of Trainer's."""
    spec = custom["spec"] if custom["kind"] == "JobSet" else custom["spec"].get("template", {}).get("spec", {})
    return [one["template"]["spec"] for one in spec.get("replicatedJobs", [])]


def validate(one: dict[str, Any], version: str) -> None:
    """Strictly; of an unknown kind by its schema here, and of what is a Job in it by Kubernetes' own."""
    if one["kind"] not in SCHEMAS:
        kubernetes_validate.validate(one, version, strict=True)
        return
    jsonschema.validate(one, {"$defs": SCHEMAS["$defs"], **SCHEMAS[one["kind"]]})
    for spec in job_specs(one):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}
        kubernetes_validate.validate(job, version, strict=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("version", "release"), MATRIX)
def test_each_version_of_the_matrix_takes_all_objects(version, release, kind):
    sources = ["device_plugin", *(["dra"] if version >= "1.34" else [])]
    for source in sources:
        options = described_pods(kind=kind, version=version, release=release, cards_from=source, **FULL)
        for one in yaml.safe_load_all(render(options).text):
            validate(one, version)


@pytest.mark.parametrize(("version", "release"), MATRIX)
def test_each_version_of_the_matrix_takes_a_deployment_whole(version, release):
    for source in ("device_plugin", *(["dra"] if version >= "1.34" else [])):
        holes = ["CVE-2026-22807", "CVE-2026-27893"]
        serving = {**SERVING["serving"], "accept_holes": holes, "engine_version": "0.19.0"}
        options = {**SERVING, "version": version, "release": release, "cards_from": source, "serving": serving}
        for one in yaml.safe_load_all(render(options).text):
            validate(one, version)


def test_a_pod_that_serves_leaves_its_service_before_it_drains():
    spec = objects(SERVING)["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    (engine,) = pod["containers"]
    words = engine["command"]
    drain = int(words[words.index("--shutdown-timeout") + 1])
    leaving = int(engine["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > leaving + drain
    assert engine["startupProbe"]["periodSeconds"] * engine["startupProbe"]["failureThreshold"] == 7200
    assert spec["progressDeadlineSeconds"] > 7200
    assert "HABANA_VISIBLE_MODULES" not in {one["name"] for one in engine["env"]}
    assert engine["envFrom"] == [{"secretRef": {"name": "key"}}]
    assert "VLLM_API_KEY" not in json.dumps(words)


@pytest.mark.parametrize(
    ("changes", "instance", "sentence"),
    [
        ({"instances": []}, {}, "gaudi_kubernetes_kind is deployment, which restarts what ends"),
        ({"secrets": []}, {}, "gaudi_kubernetes_secrets is empty, so that everyone in the cluster could ask"),
        ({}, {"model": "llama@production"}, "model is llama@production, and pods do not read the registry"),
        ({}, {"model": "/srv/llama"}, "model is /srv/llama, which is on none of gaudi_kubernetes_volumes"),
        ({}, {"modules": [1, 2, 3, 4]}, "modules names cards of one node, and the cluster chooses them"),
        ({}, {"max_num_seqs": 0}, "max_model_len and max_num_seqs are not both given"),
        ({}, {"name": "7b"}, "name is '7b', which is not a DNS label"),
        ({}, {"flags": {"pipeline-parallel-size": 2}}, "the plug-in for Gaudi serves on one node alone"),
        ({"release": "1.22.2"}, {}, "vLLM 0.11.2 has CVE-2026-22807"),
        ({"resources": {"memory": "9Gi"}}, {}, "gaudi_kubernetes_resources has no hugepages-2Mi"),
    ],
)
def test_what_pods_cannot_serve_is_one_sentence(changes, instance, sentence):
    options = {**SERVING, "instances": [{**INSTANCE, **instance}], **changes}
    with pytest.raises(GaudiError) as caught:
        render(options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def misspelt(one: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """The object with a field more at the end of ``path``."""
    changed = copy.deepcopy(one)
    place: Any = changed
    for step in path:
        place = place[step]
    place["misspelt"] = 1
    return changed


def places(one: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the object has fields, but where any name is one."""
    if isinstance(one, dict):
        free = path and path[-1] in ("labels", "data", "limits", "requests")
        if not free:
            yield path
        for name, value in one.items():
            yield from places(value, (*path, name))
    elif isinstance(one, list):
        for number, value in enumerate(one):
            yield from places(value, (*path, number))


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_nothing_knows_is_found_wherever_it_is(kind):
    options = described_pods(kind=kind, **FULL)
    for one in yaml.safe_load_all(render(options).text):
        for path in places(one):
            with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
                validate(misspelt(one, path), "1.35")


def test_a_kind_without_a_schema_is_no_success():
    with pytest.raises(kubernetes_validate.SchemaNotFoundError):
        validate({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "x"}}, "1.35")


@pytest.mark.parametrize("kind", KINDS)
def test_huge_pages_are_request_and_limit_beside_memory_and_cards_come_from_the_plug_in(kind):
    (container,) = pod_of(described_pods(kind=kind))["containers"]
    amounts = {"habana.ai/gaudi": 8, "cpu": "128", "memory": "690Gi", "hugepages-2Mi": "42000Mi"}
    assert container["resources"] == {"limits": amounts, "requests": amounts}


def test_claims_of_dra_stand_instead_of_the_plug_in_s_resource():
    options = described_pods(cards_from="dra", version="1.34.2")
    pod = pod_of(options)
    resources = pod["containers"][0]["resources"]
    assert "habana.ai/gaudi" not in resources["limits"]
    assert resources["claims"] == [{"name": "cards"}]
    template = objects(options)["ResourceClaimTemplate"]
    assert pod["resourceClaims"] == [{"name": "cards", "resourceClaimTemplateName": template["metadata"]["name"]}]
    (asked,) = template["spec"]["spec"]["devices"]["requests"]
    assert asked["exactly"] == {"deviceClassName": "gaudi.intel.com", "allocationMode": "ExactCount", "count": 8}
    assert "beta" in " ".join(render(options).remarks)


def test_shared_memory_is_memory_and_no_namespace_of_the_host_is_used():
    pod = pod_of(described_pods())
    mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    assert mounts["shared-memory"] == "/dev/shm"
    assert {"name": "shared-memory", "emptyDir": {"medium": "Memory"}} in pod["volumes"]
    assert not {"hostIPC", "hostNetwork", "hostPID"} & set(pod)
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SYS_NICE"]}


def test_a_pod_without_cards_asks_for_none():
    pod = pod_of(described_pods(job={"device": "cpu"}, resources={}))
    assert pod["containers"][0]["resources"] == {"limits": {}, "requests": {}}


@pytest.mark.parametrize(("version", "per_index"), [("1.28", False), ("1.29", True), ("1.35", True)])
def test_the_back_off_is_per_index_where_the_version_has_it(version, per_index):
    row = {"1.24.1": {"kubernetes": [version]}}
    spec = objects(described_pods(version=version, release_overrides=row))["Job"]["spec"]
    counts = {name: spec[name] for name in ("backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes") if name in spec}
    assert counts == ({"backoffLimitPerIndex": 3, "maxFailedIndexes": 0} if per_index else {"backoffLimit": 6})


@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_pod_is_no_failure_of_the_program(kind):
    found = objects(described_pods(kind=kind))
    custom = found.get("JobSet") or found.get("TrainingRuntime")
    job = job_specs(custom)[0] if custom else found["Job"]["spec"]
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert rule["action"] == ("FailJob" if custom else "Ignore")
    if custom:
        of_set = custom["spec"] if custom["kind"] == "JobSet" else custom["spec"]["template"]["spec"]
        assert (job["backoffLimit"], of_set["failurePolicy"]["maxRestarts"]) == (0, 3)


def test_what_the_job_writes_outside_of_its_claims_ends_with_the_pod():
    pod = pod_of(described_pods(volumes=[CHECKPOINTS, {"claim": "logs", "path": "/var/log", "read_only": False}]))
    empty = {one["name"] for one in pod["volumes"] if one.get("emptyDir") == {}}
    paths = {one["mountPath"] for one in pod["containers"][0]["volumeMounts"] if one["name"] in empty}
    job = "/var/lib/gaudi3_scale/jobs/llama"
    recipes = {path for path in paths if path.startswith("/var/lib/gaudi3_scale/recipe_cache/1.24.1-482/")}
    assert paths - recipes == {job} and all(path.endswith("/llama") for path in recipes)
    assert pod["containers"][0]["workingDir"] == job


def test_flags_are_judged_and_a_job_s_own_variables_win():
    options = described_pods(
        job={"environment": {"PT_HPU_LAZY_MODE": "1", "PRICE": "5$ $(HOME)"}},
        flags={"network": "infiniband", "environment": {"SITE": "x"}},
    )
    (container,) = pod_of(options)["containers"]
    data = objects(options)["ConfigMap"]["data"]
    assert (data["PT_HPU_LAZY_MODE"], data["RDMAV_FORK_SAFE"], data["SITE"]) == ("0", "1", "x")
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert (variables["PT_HPU_LAZY_MODE"], variables["PRICE"]) == ("1", "5$$ $$(HOME)")
    assert variables["OMP_NUM_THREADS"] == "16"


def test_a_network_that_only_a_node_can_find_is_said():
    (remark,) = render(described_pods(flags={"network": "auto"})).remarks
    assert remark.startswith(
        "gaudi_flags_network is auto, which only a node can determine, so the flags are for gaudi_"
    )


def test_checkpoints_that_end_with_the_pod_are_said():
    (remark,) = render(described_pods(job={"checkpoint_directory": ""})).remarks
    assert remark.startswith("Checkpoints in /var/lib/gaudi3_scale/jobs/llama end with the pod")


def test_a_secret_in_the_command_is_said_and_not_shown():
    (remark,) = render(described_pods(job={"command": ["train.py", "--api-key=s3cret-0123456789"]})).remarks
    assert remark.startswith("gaudi_training_command has a word that looks like a secret")
    assert "s3cret" not in remark
    assert render(described_pods()).remarks == []


@pytest.mark.parametrize("text", ["1e-4", "0x10", "y", "N", "123e4", "on", "null", "1_000", ".5", "0o17", "~", "12:30"])
def test_a_text_stays_one_whichever_yaml_reads_it(text):
    """YAML 1.1 of Python, of Go and YAML 1.2 take different words for numbers and booleans: all are in quotes."""
    line = next(
        line
        for line in render(described_pods(job={"environment": {"VALUE": text}})).text.splitlines()
        if line.strip().removeprefix("value: ").strip("'\"") == text and "value: " in line
    )
    assert line.strip() in (f"value: '{text}'", f'value: "{text}"')


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"version": "1.29"},
            "version is 1.29, and release 1.24.1 supports Kubernetes 1.33, 1.34, 1.35",
        ),
        ({"version": "1.32"}, "set gaudi_release to one of 1.23.0"),
        ({"version": "1.3", "release": "1.22.1"}, 'YAML reads 1.30 as 1.3, so quote it ("1.30")'),
        ({"version": "new"}, "gaudi_kubernetes_version is 'new'; give the cluster's version, such as 1.34."),
        ({"release": "1.20.1"}, "no support matrix names a version for 1.20.1"),
        ({"job": {"processes_per_node": "0.25"}}, "is 0.25, and cards cannot be split"),
        ({"job": {"processes_per_node": "some"}}, "gaudi_training_processes_per_node is 'some'; give a whole number."),
        ({"job": {"processes_per_node": 9}}, "is 9, and a node has 8 cards (gaudi_cards_per_node)"),
        ({"job": {"processes_per_node": 0}}, "is 0, and a node has 8 cards"),
        ({"resources": {**RESOURCES, "nvidia.com/gpu": 0.25}}, "has nvidia.com/gpu, which Gaudi nodes do not have"),
        (
            {"resources": {**RESOURCES, "habana.ai/gaudi": 0.5}},
            "habana.ai/gaudi: 0.5, and cards cannot be split",
        ),
        ({"resources": {**RESOURCES, "habana.ai/gaudi": 8}}, "which the job's ranks determine"),
        ({"resources": {}}, "gaudi_kubernetes_resources has no hugepages-2Mi, and ranks on cards need huge pages"),
        ({"resources": {**RESOURCES, "hugepages-2Mi": 0}}, "has no hugepages-2Mi"),
        ({"resources": {"hugepages-2Mi": "3Mi", "memory": "1Gi"}}, "hugepages-2Mi is 3Mi; give a multiple of 2Mi"),
        ({"resources": {"hugepages-2Mi": "4Gi"}}, "has no memory, and Kubernetes gives huge pages only beside it"),
        ({"resources": {**RESOURCES, "cpu": "many"}}, "cpu is 'many'; give a quantity"),
        ({"kind": "PyTorchJob"}, "gaudi_kubernetes_kind is PyTorchJob: Kubeflow's training operator"),
        ({"kind": "MPIJob"}, "use jobset or trainjob, where torchrun needs no SSH"),
        ({"kind": "HorizontalPodAutoscaler"}, "an autoscaler, but the ranks of a training are fixed when it starts"),
        ({"kind": "Deployment"}, "which restarts what ends and is for instances that serve"),
        ({"kind": "cronjob"}, "gaudi_kubernetes_kind is cronjob: use one of job, jobset, trainjob."),
        ({"image": ""}, "gaudi_kubernetes_image is empty"),
        ({"image": LATEST}, "latest changes; name it by digest"),
        ({"image": UNPINNED}, "has no digest, so pods may start different images"),
        ({"image": IMAGE[:-1]}, "give NAME@sha256: and 64 hexadecimal digits."),
        ({"image": f"a b@{DIGEST}"}, "give NAME@sha256: and 64 hexadecimal digits."),
        ({"security_context": {"privileged": True}}, "has privileged: true, which gives the pod its whole node"),
        ({"security_context": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "has capabilities.add SYS_ADMIN"),
        ({"name": "My_Job"}, "gaudi_training_name is 'My_Job', which is not a DNS label"),
        ({"name": "4b"}, "gaudi_training_name is '4b', which is not a DNS label"),
        ({"name": "a" * 60, "kind": "jobset"}, "longer than a DNS label of 63; shorten it by 6."),
        ({"namespace": "A"}, "gaudi_kubernetes_namespace is 'A', which is not a DNS label"),
        ({"queue": "a.b"}, "gaudi_kubernetes_queue is 'a.b', which is not a DNS label"),
        ({"secrets": ["a/b"]}, "gaudi_kubernetes_secrets has 'a/b', which cannot name an object"),
        ({"nodes": 0}, "gaudi_kubernetes_nodes is 0, and gaudi_training_hosts names none"),
        ({"cards_from": "dra", "version": "1.33"}, "is dra, which needs Kubernetes 1.34"),
        ({"volumes": [{**CHECKPOINTS, "path": "/etc/x"}]}, "which would hide the image's own files"),
        ({"volumes": [{**CHECKPOINTS, "path": "/"}]}, "which would hide the image's own files"),
        ({"volumes": [{**CHECKPOINTS, "path": "data"}]}, "give an absolute path without a colon"),
        ({"volumes": [CHECKPOINTS, CHECKPOINTS]}, "has the path /checkpoints twice"),
        ({"volumes": []}, "gaudi_training_checkpoint_directory is /checkpoints/llama, which is on none"),
        ({"volumes": [{**CHECKPOINTS, "read_only": True}]}, "on none of gaudi_kubernetes_volumes that can be written"),
        ({"tolerations": [{"kee": "x"}]}, "gaudi_kubernetes_tolerations has 'kee'"),
        ({"job": {"environment": {"WANDB_API_KEY": "x"}}}, "name that in gaudi_kubernetes_secrets."),
        ({"job": {"environment": {"A": True}}}, "gaudi_training_environment: A is true without quotes"),
        ({"job": {"command": []}}, "gaudi_training_command is empty"),
        ({"job": {"device": "cuda"}}, "gaudi_training_device is cuda; use hpu"),
        ({"flags": {"overrides": {"PT_HPU_NOTHING": "1"}}}, "PT_HPU_NOTHING is not a known Gaudi flag"),
        ({"flags": {"network": "token_ring"}}, "gaudi_flags_network 'token_ring' is not known"),
        ({"release": "1.99.0"}, "Release '1.99.0' is not known"),
        ({"only_on_hosts": {"gaudi_training_spares": ["n9"]}}, "has no effect in pods: Kubernetes replaces a lost pod"),
        ({"only_on_hosts": {"gaudi_training_modules": [0, 1]}}, "the device plugin or DRA chooses the cards"),
        ({"only_on_hosts": {"gaudi_training_min_nodes": "1"}}, "has no effect in pods: the number of pods is fixed"),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_what_cannot_be_meant_is_one_sentence(changes, sentence):
    with pytest.raises(GaudiError) as refused:
        render(described_pods(**changes))
    said = str(refused.value)
    assert sentence in said
    assert said.endswith(".") and "\n" not in said


def test_nothing_is_refused_that_a_launch_has_by_default():
    unset = {"gaudi_training_spares": [], "gaudi_training_witness": "", "gaudi_training_min_nodes": 0}
    assert render(described_pods(only_on_hosts=unset)).objects


def test_the_number_of_pods_costs_nothing():
    small, large = (render(described_pods(nodes=nodes)).text for nodes in (2, 512))
    assert len(large.splitlines()) == len(small.splitlines())
