# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python3 -m sandbox COMMAND`` from the root of the checkout."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable

from . import cluster, demo, disks
from .distribution import host_distribution
from .errors import SandboxError
from .fabric import DEFAULT_POOL, ensure_fabric, remove_fabric
from .nodes import in_node
from .open_mpi import ensure_open_mpi
from .paths import CACHE, STATE, cluster_state
from .plan import DEFAULT_NAME, DEFAULT_NODES, GENERATIONS
from .prerequisites import problems
from .repository.build import ensure_repository, ensure_rhel_repository, ensure_upstream_driver
from .rhel import make_stand_in
from .simulator.faults import FAULTS, FaultError, parse
from .slurm import ensure_slurm

Command = Callable[[argparse.Namespace], int]


def main() -> int:
    """Run one command; a problem is printed as a sentence and gives exit code 1."""
    options = _parser().parse_args()
    command: Command = options.command
    try:
        return command(options)
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m sandbox", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(command=command)
        added.add_argument("--name", default=DEFAULT_NAME, help=f"which sandbox (default {DEFAULT_NAME})")
        return added

    up = add("up", _up, "make the sandbox; does nothing if it exists")
    up.add_argument("--nodes", type=int, help=f"how many (default: as many as there are, or {DEFAULT_NODES})")
    up.add_argument("--cards", type=int, help="cards in each node (default: as they are, or 8)")
    up.add_argument("--generation", choices=GENERATIONS, help="of the cards (default: as they are, or gaudi3)")
    up.add_argument("--memory", help="of each node, as podman writes it (default: as it is, or 6g)")
    up.add_argument("--rebuild-image", action="store_true", help="rebuild the node image with today's packages")
    up.add_argument("--no-repository", action="store_true", help="without the package repository")
    up.add_argument("--upstream-driver", action="store_true", help="with the kernel's own driver (see `repository`)")
    up.add_argument("--golden", metavar="SANDBOX", help="new nodes begin with the disk that was captured there, if any")
    capture = add("capture", _capture, "keep a node's disk as a golden image, from which `up --golden` starts others")
    capture.add_argument("node")
    down = add("down", _down, "remove everything that `up` made, except the caches")
    down.add_argument("--golden", action="store_true", help="golden images of sandboxes that are gone, too")
    down.add_argument("--image", action="store_true", help="those and the node image too")
    down.add_argument("--caches", action="store_true", help="what was downloaded and built too")
    status = add("status", _status, "show the nodes, their cards, drivers and faults")
    status.add_argument("--json", action="store_true", help="as JSON")
    repository = add("repository", _repository, "bring the package repository's packages up to date with the checkout")
    repository.add_argument("--rhel", action="store_true", help="the dnf repository too; needs rpm, createrepo-c")
    repository.add_argument(
        "--upstream-driver",
        action="store_true",
        help="the one with the kernel's own driver too, from Debian's kernel sources (300 MB)",
    )
    fault = add("fault", _fault, "inject faults into a node, or clear them; `status` shows them")
    fault.epilog = "faults:\n" + "\n".join(f"  {name:<21} {kind}: {what}" for name, (kind, what) in FAULTS.items())
    fault.formatter_class = argparse.RawDescriptionHelpFormatter
    fault.add_argument("node")
    fault.add_argument("faults", nargs="+", metavar="KEY=VALUE|clear")
    reset = add("reset", _reset, "make nodes virgin again")
    reset.add_argument("nodes", nargs="*", metavar="NODE")
    reset.add_argument("--golden", metavar="SANDBOX", help="or as the disk that was captured there")
    reboot = add("reboot", _reboot, "boot nodes again, keeping what is on their disks")
    reboot.add_argument("nodes", nargs="*", metavar="NODE")
    add("slurm", _slurm, "install a real Slurm on the nodes, if it is not there")
    add("open-mpi", _open_mpi, "install Open MPI on the nodes, with keys between them, if it is not there")
    disk = add("disk", _disk, "give a node its own rate-limited disk; prints its device")
    disk.add_argument("node")
    disk.add_argument(
        "--size", default="4G", help="as truncate(1) has it (default 4G; what is not written takes no room)"
    )
    disk.add_argument("--read-rate", type=int, default=0, metavar="BYTES", help="a second (default: no limit)")
    disk.add_argument("--write-rate", type=int, default=0, metavar="BYTES", help="a second (default: no limit)")
    disk.add_argument("--remove", action="store_true", help="take it away")
    fabric = add("fabric", _fabric, "cable the cards' ports to a switch that routes, if they are not")
    fabric.add_argument("--remove", action="store_true", help="take the switch and all cables away")
    fabric.add_argument("--pool", default=DEFAULT_POOL, help=f"network of the ports (default {DEFAULT_POOL})")
    rhel = add("rhel", _rhel, "make a node stand in for RHEL 9, with real dnf and rpm; `reset` undoes it")
    rhel.add_argument("node")
    add("prerequisites", _prerequisites, "list what this host lacks")
    add("demo", _demo, "make the sandbox and play the demo on it; where that cannot be, the half that needs no nodes")
    add("demo-clean", _demo_clean, "remove everything that the demo made, and only that")
    return parser


def _up(options: argparse.Namespace) -> int:
    wanted = cluster.Wanted(
        options.name, options.nodes, options.cards, options.generation, options.memory,
        rebuild_image=options.rebuild_image, repository=not options.no_repository,
        upstream_driver=options.upstream_driver, golden=options.golden,
    )  # fmt: skip
    made = cluster.up(wanted)
    for node in made.nodes:
        print(f"{node.name} {node.address}")
    if not options.no_repository:
        print(f"repository {made.repository_address}")
    return 0


def _capture(options: argparse.Namespace) -> int:
    print(cluster.capture(options.name, options.node))
    return 0


def _demo(options: argparse.Namespace) -> int:
    try:
        cluster.up(cluster.Wanted(options.name))
    except SandboxError as error:
        return demo.play_here(str(error))
    return demo.play(options.name)


def _demo_clean(options: argparse.Namespace) -> int:
    demo.remove_what_it_made_here()
    # Who is not root has made no sandbox, and may have shown the half of the demo that needs none.
    if os.geteuid() == 0 or STATE.exists():
        cluster.down(options.name, image=True, caches=True)
    return 0


def _down(options: argparse.Namespace) -> int:
    cluster.down(options.name, golden_too=options.golden, image=options.image, caches=options.caches)
    return 0


def _status(options: argparse.Namespace) -> int:
    found = cluster.status(options.name)
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    repository = found["repository"]
    print(f"sandbox {found['name']} on {found['network']}, repository {repository['address']} {repository['state']}")  # type: ignore[index]
    for node in found["nodes"]:  # type: ignore[attr-defined]
        faults = " ".join(f"{name}={value}" for name, value in node["faults"].items()) or "no faults"
        print(f"{node['name']:<8} {node['address']:<15} {node['state']:<10} {node['cards']} x {node['generation']}  "
              f"kernel {node['kernel']}  driver {node['driver'] or 'not loaded'}  {faults}")  # fmt: skip
    return 0


def _repository(options: argparse.Namespace) -> int:
    ensure_repository(host_distribution())
    if options.rhel:
        ensure_rhel_repository()
    if options.upstream_driver:
        ensure_upstream_driver(host_distribution())
    return 0


def _fault(options: argparse.Namespace) -> int:
    node = cluster.find_node(cluster.load(options.name), options.node)
    try:
        parse([] if options.faults == ["clear"] else options.faults)
    except FaultError as error:
        raise SandboxError(f"{error}.") from error
    print(in_node(node, "gaudi-simulator", "faults", *options.faults), end="")
    return 0


def _reset(options: argparse.Namespace) -> int:
    cluster.reset(options.name, options.nodes, options.golden)
    return 0


def _reboot(options: argparse.Namespace) -> int:
    cluster.reboot(options.name, options.nodes)
    return 0


def _slurm(options: argparse.Namespace) -> int:
    print(ensure_slurm(cluster.load(options.name)), end="")
    return 0


def _open_mpi(options: argparse.Namespace) -> int:
    print(ensure_open_mpi(cluster.load(options.name)), end="")
    return 0


def _disk(options: argparse.Namespace) -> int:
    node, state = cluster.find_node(cluster.load(options.name), options.node), cluster_state(options.name)
    if options.remove:
        disks.detach(node, state)
        return 0
    print(disks.attach(node, state, options.size))
    disks.limit(node, state, options.read_rate, options.write_rate)
    return 0


def _fabric(options: argparse.Namespace) -> int:
    if options.remove:
        remove_fabric(cluster.load(options.name))
        return 0
    for cable in ensure_fabric(cluster.load(options.name), options.pool):
        print(f"{cable.node} {cable.interface} {cable.address}/30  {cable.switch_port} {cable.gateway}/30")
    return 0


def _rhel(options: argparse.Namespace) -> int:
    make_stand_in(cluster.find_node(cluster.load(options.name), options.node))
    return 0


def _prerequisites(options: argparse.Namespace) -> int:
    del options
    found = problems({cluster.PODMAN_STORAGE: cluster.NODE_BYTES, CACHE: cluster.CACHE_BYTES})
    print("\n".join(found) or "Everything that the sandbox needs is here.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
