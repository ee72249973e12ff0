# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From a bundle to a job, a qualification and an answer, on two bare nodes without a route and without DNS.

node2 has the bundle: it is cut off, too, once that is built.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played, hosts, sandbox
from tests.small_trainings import play_in

from .bundle import BUNDLE, cut_off, play, served_from

pytestmark = pytest.mark.long
JOB = "offline"
REGISTRY = "/shared/models"
# What an export and its answers need, and what answers, besides what every node gets.
EXTRAS = {"gaudi_venv_extras": ["hf"]}
SERVED = {"gaudi_venv_requirements": ["lightning==2.6.6", "vllm==0.26.0", "vllm-gaudi==0.26.0"]}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def nodes(directory: Path) -> dict[str, Host]:
    sandbox("reset", "node1")
    found = hosts()
    kept = {"gaudi_driver_kernel": kernel(found["node2"])}
    built = play(directory, "build_bundle", "serve_bundle", **EXTRAS, **SERVED, **kept)
    assert built.ok, built.output
    for host in found.values():
        cut_off(host)
        forget_names(host)
    return found


def kernel(host: Host) -> str:
    name: str = host.check_output("cat /etc/gaudi_simulator_kernel")
    return name


def forget_names(host: Host) -> None:
    """Nothing outside has a name any more: neither does what the node's own package sources name."""
    mirrors = "grep -rhoE '^(URIs:|deb) .*' /etc/apt/sources.list* | grep -oE '//[^/]+' | tr -d / | sort -u"
    (mirror, *_others) = host.check_output(mirrors).split()
    host.check_output(": > /etc/resolv.conf")
    assert host.run(f"getent ahosts {mirror}").rc != 0


@pytest.fixture(scope="module")
def run(directory: Path, nodes: dict[str, Host]) -> Callable[..., Played]:
    """A playbook of the collection, with what such a site sets."""
    server = nodes["node2"].check_output("hostname -I").split()[0]
    site: dict[str, Any] = {**served_from(nodes["node2"], server), **EXTRAS}
    return lambda playbook, **more: play_in(directory, playbook, **site, **more)


def test_the_collection_in_it_brings_its_documentation(nodes: dict[str, Host]) -> None:
    archive = f"$(ls {BUNDLE}/gaudi3_scale/collections/gaudi3-scale-*.tar.gz)"
    listed = nodes["node2"].check_output(f"tar -tzf {archive}").splitlines()
    assert {"README.md", "docs/bundle.md", "docs/serving.md", "docs/qualify.md"} <= set(listed)


def test_a_kernel_that_the_nodes_are_to_keep_is_in_it(nodes: dict[str, Host]) -> None:
    server = nodes["node2"]
    server.check_output(f"find {BUNDLE} -name 'linux-image-{kernel(server)}_*.deb' | grep .")


def test_site_yml_installs_both_nodes_in_one_run(run: Callable[..., Played]) -> None:
    done = run("site")
    assert done.status == "successful", done.screen[-6000:]


def test_a_training_over_both_nodes_ends(run: Callable[..., Played]) -> None:
    done = run(
        "launch_training",
        gaudi_training_name=JOB,
        gaudi_training_hosts=["node1", "node2"],
        gaudi_training_batch_size=8,
        gaudi_training_max_steps=20,
    )
    assert done.status == "successful", done.screen[-6000:]


def test_the_nodes_qualify(run: Callable[..., Played], directory: Path) -> None:
    """Each stage is played; of ranks that share two cores one may be late, which is not what this is about."""
    done = run("qualify_nodes", gaudi_qualify_training_steps=5, gaudi_qualify_tolerance=0.99)
    assert done.status == "successful", done.screen[-6000:]
    report = json.loads((directory / "qualify_nodes.json").read_text())
    assert {node["state"] for node in report["data"]["nodes"].values()} == {"healthy"}, report["notes"]


def test_what_it_has_trained_answers(run: Callable[..., Played]) -> None:
    # Last: what is served holds its card.
    done = run("serve_model", gaudi_training_name=JOB, gaudi_model_registry=REGISTRY, gaudi_serving_host="node1")
    assert done.status == "successful", done.screen[-6000:]
    assert f"{JOB} answers on node1, port 8000: " in done.screen
