# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A whole sandbox: up, down, status, reset. The order of things; how each is done is in the other files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import disks, golden, network, nodes, ssh_keys
from .commands import say
from .distribution import Distribution, host_distribution
from .errors import SandboxError
from .image import days_old, ensure_image, image_name, remove_images
from .paths import CACHE, STATE, cluster_state, locked, write_state
from .plan import DEFAULT_MEMORY, DEFAULT_NODES, REPOSITORY_HOST, Cards, ClusterPlan, NodePlan, plan
from .podman import Container, containers, image_exists, podman, remove_containers, sandboxes_here
from .prerequisites import GIB, require, require_podman
from .repository.build import ensure_repository, ensure_upstream_driver
from .repository.container import ensure_repository_container

CLUSTER_FILE = "cluster.json"
PODMAN_STORAGE = Path("/var/lib/containers")
CACHE_BYTES = 3 * GIB
NODE_BYTES = 4 * GIB
# The distribution keeps the headers of one or two kernels; an old image then names one that is gone.
OLD_IMAGE_DAYS = 30


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for; None leaves what the sandbox has, or the default.

    ``upstream_driver``: the package repository has the kernel's own driver too, below its ``/upstream_driver``.
    ``golden``: new nodes begin with the disk that was captured of that sandbox, virgin where nothing was.
    """

    name: str
    nodes: int | None = None
    cards: int | None = None
    generation: str | None = None
    memory: str | None = None
    rebuild_image: bool = False
    repository: bool = True
    upstream_driver: bool = False
    golden: str | None = None


def up(wanted: Wanted) -> ClusterPlan:
    """Make the sandbox as wanted; does nothing where it already is."""
    require({})
    state = cluster_state(wanted.name)
    with locked(state):
        network.refuse_foreign(wanted.name)
        # Another sandbox that is made at the same time would choose the same subnet.
        with locked(STATE):
            cluster = _plan(wanted)
            existing = containers(cluster.name)
            _require_disk(cluster, existing)
            network.ensure_network(cluster)
        image = _artifacts(wanted, host_distribution())
        ssh_keys.ensure_key(state)
        disk = _disk(wanted.golden, image)
        existing = _remove_unwanted(cluster, existing, disk)
        if wanted.repository:
            ensure_repository_container(cluster, image, existing)
        _start_nodes(cluster, disk, existing)
    return cluster


def _disk(golden_of: str | None, image: str) -> str:
    if golden_of is None:
        return image
    captured = golden.captured(golden_of)
    if captured is None:
        say(f"No golden image was captured of the sandbox {golden_of}: new nodes begin virgin.")
    return captured or image


def capture(name: str, node_name: str) -> str:
    """Keep a node's disk as the sandbox's golden image; returns the image's name."""
    # Half made, it has no name and no container, and another sandbox that goes would take it for one nobody needs.
    with locked(cluster_state(name)), locked(STATE):
        network.refuse_foreign(name)
        return golden.capture(name, find_node(load(name), node_name))


def down(name: str, *, golden_too: bool = False, image: bool = False, caches: bool = False) -> None:
    """Remove what ``up`` made for this sandbox, and nothing else; what other sandboxes use stays."""
    require_podman()
    state = cluster_state(name)
    with locked(state):
        network.refuse_foreign(name)
        gone = [container.name for container in containers(name)]
        remove_containers(gone)
        gone += network.remove_networks(name)
        disks.detach_all(state)
        # Whoever held the lock before may have removed it.
        if state.is_dir():
            shutil.rmtree(state)
    with locked(STATE):
        gone += golden.remove_unneeded(named=golden_too or image)
        gone += remove_images() if image else []
    gone += _remove_caches() if caches else []
    say(f"Removed: {', '.join(gone) or 'nothing was there'}.")


def _remove_caches() -> list[str]:
    others = sandboxes_here()
    if others:
        say(f"The caches stay: {', '.join(others)} of this checkout uses them.")
        return []
    shutil.rmtree(CACHE, ignore_errors=True)
    if STATE.exists() and not any(STATE.iterdir()):
        STATE.rmdir()
    return [str(CACHE)]


def status(name: str) -> dict[str, object]:
    """The sandbox as it is: nodes with their state, cards, loaded driver and faults."""
    cluster = load(name)
    states = {container.name: container.state for container in containers(name)}
    members = []
    for node in cluster.nodes:
        running = states.get(node.container) == "running"
        about = json.loads(nodes.in_node(node, "cat", "/var/lib/gaudi_simulator/node.json")) if running else {}
        members.append(
            {
                "name": node.name,
                "address": node.address,
                "state": states.get(node.container, "missing"),
                "cards": len(about.get("cards", [])),
                "generation": about.get("generation", ""),
                "kernel": about.get("kernel_release", ""),
                "driver": about.get("modules", {}).get("habanalabs", ""),
                "faults": about.get("faults", {}),
            }
        )
    repository = {"address": cluster.repository_address, "state": states.get(cluster.repository_container, "missing")}
    return {"name": name, "network": cluster.subnet, "repository": repository, "nodes": members}


def reset(name: str, node_names: list[str], golden_of: str | None = None) -> None:
    """Make these nodes (all without a name) virgin again, or as ``golden_of``'s captured disk."""
    with locked(cluster_state(name)):
        network.refuse_foreign(name)
        cluster = load(name)
        chosen = [find_node(cluster, node_name) for node_name in node_names] or list(cluster.nodes)
        remove_containers([node.container for node in chosen])
        _start_nodes(cluster, _disk(golden_of, ensure_image(host_distribution())), containers(name))


def reboot(name: str, node_names: list[str]) -> None:
    """Boot these nodes (all without a name) again, with everything that is on their disks."""
    with locked(cluster_state(name)):
        cluster = load(name)
        chosen = tuple(find_node(cluster, node_name) for node_name in node_names) or cluster.nodes
        podman("restart", "--time", "10", *(node.container for node in chosen))
        nodes.wait_for_ssh(chosen)


def load(name: str) -> ClusterPlan:
    """The sandbox that ``up`` made."""
    require_podman()
    path = cluster_state(name) / CLUSTER_FILE
    if not path.exists():
        raise SandboxError(f"There is no sandbox {name}; make it with `python3 -m sandbox up --name {name}`.")
    data = json.loads(path.read_text(encoding="utf-8"))
    return plan(data["name"], data["subnet"], len(data["nodes"]), Cards(**data["cards"]), data["memory"])


def find_node(cluster: ClusterPlan, name: str) -> NodePlan:
    """The node called ``name``."""
    for node in cluster.nodes:
        if node.name == name:
            return node
    raise SandboxError(
        f"The sandbox {cluster.name} has no node {name!r}; it has {', '.join(node.name for node in cluster.nodes)}."
    )


def _plan(wanted: Wanted) -> ClusterPlan:
    before = load(wanted.name) if (cluster_state(wanted.name) / CLUSTER_FILE).exists() else None
    old = before or plan(wanted.name, "10.0.0.0/24", DEFAULT_NODES, Cards("gaudi3", 8), DEFAULT_MEMORY)
    cards = Cards(wanted.generation or old.cards.generation, old.cards.count if wanted.cards is None else wanted.cards)
    count = len(old.nodes) if wanted.nodes is None else wanted.nodes
    subnet = network.subnet_of(wanted.name)
    return plan(wanted.name, subnet, count, cards, wanted.memory or old.memory)


def _require_disk(cluster: ClusterPlan, existing: list[Container]) -> None:
    present = {container.name for container in existing}
    missing = sum(node.container not in present for node in cluster.nodes)
    needed = {PODMAN_STORAGE: missing * NODE_BYTES} if missing else {}
    if not (CACHE / "repository").exists():
        needed[CACHE] = CACHE_BYTES
    require(needed)


def _artifacts(wanted: Wanted, distribution: Distribution) -> str:
    """The node image and the package repository's content, made at the same time where both are missing."""
    name = image_name(distribution)
    if image_exists(name) and not wanted.rebuild_image and days_old(name) > OLD_IMAGE_DAYS:
        say(
            f"The node image is over {OLD_IMAGE_DAYS} days old; where apt finds no kernel headers, use --rebuild-image."
        )
    with ThreadPoolExecutor(max_workers=2) as pool:
        image = pool.submit(ensure_image, distribution, rebuild=wanted.rebuild_image)
        repository = pool.submit(ensure_repository, distribution) if wanted.repository else None
        if repository is not None:
            repository.result()
            if wanted.upstream_driver:
                ensure_upstream_driver(distribution)
        return image.result()


def _remove_unwanted(cluster: ClusterPlan, existing: list[Container], image: str) -> list[Container]:
    """Remove surplus nodes and those with other cards, memory or key; returns what stays.

    Nodes of an older image stay: they may hold work.
    """
    wanted = {node.container for node in cluster.nodes}
    identity = nodes.identity(cluster, cluster_state(cluster.name))
    others = (cluster.repository_container, cluster.switch.container)
    members = [container for container in existing if container.name not in others]
    stale = sorted(
        container.name
        for container in members
        if container.name not in wanted or container.labels.get(nodes.LABEL_IDENTITY) != identity
    )
    if stale:
        say(f"Removing nodes that are not wanted this way any more: {', '.join(stale)}")
        remove_containers(stale)
    if any(container.image != image for container in members if container.name not in stale):
        say("Some nodes were made from an older image; `python3 -m sandbox reset` recreates them.")
    return [container for container in existing if container.name not in stale]


def _start_nodes(cluster: ClusterPlan, image: str, existing: list[Container]) -> None:
    state = cluster_state(cluster.name)
    made = nodes.ensure_nodes(cluster, image, state, existing)
    nodes.wait_for_ssh(cluster.nodes)
    known_hosts = state / ssh_keys.KNOWN_HOSTS
    if made or not known_hosts.exists():
        keys = {node.address: nodes.host_key(node) for node in cluster.nodes}
        write_state(known_hosts, ssh_keys.known_hosts(keys))
    write_state(state / CLUSTER_FILE, json.dumps(_description(cluster, image), indent=2) + "\n")


def _description(cluster: ClusterPlan, image: str) -> Mapping[str, object]:
    return {
        "name": cluster.name,
        "subnet": cluster.subnet,
        "image": image,
        "memory": cluster.memory,
        "cards": {"generation": cluster.cards.generation, "count": cluster.cards.count},
        "repository": {"address": cluster.repository_address, "host": REPOSITORY_HOST},
        "nodes": [{"name": node.name, "address": node.address, "container": node.container} for node in cluster.nodes],
    }
