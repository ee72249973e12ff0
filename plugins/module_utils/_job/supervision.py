# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How a job is to outlive its nodes: what follows from the options of its supervisors, and what they cannot be."""

from __future__ import annotations

import hashlib
from typing import Sequence

from .._errors import GaudiError
from .description import SupervisionOptions, check_global_batch

# Its ranks run on without word of the others for so much of the time after which these take a node for lost
# (gaudi3_scale.supervisor.state).
LEASE = 0.8
# Every supervisor speaks with every other one; the simulation of their decisions holds up to so many.
MOST_NODES = 64
# A supervisor that was started has to have spoken with systemd within the lease (launch.unit), on a busy node, too.
SHORTEST_LOST_AFTER = 3


def lease(options: SupervisionOptions) -> float:
    """Seconds."""
    return LEASE * options.lost_after


def control_port_of(options: SupervisionOptions, rendezvous_port: int) -> int:
    """The UDP port by which the supervisors speak with each other."""
    return options.control_port or rendezvous_port + 1


def least_nodes(options: SupervisionOptions, hosts: Sequence[str]) -> int:
    """The number of nodes with which the job still runs."""
    return options.min_nodes or len(hosts)


def nodes_of(options: SupervisionOptions, hosts: Sequence[str]) -> tuple[str, ...]:
    """All nodes with a supervisor, in the order by which the supervisors number them."""
    return (*hosts, *options.spares, *filter(None, [options.witness]))


def addresses_of(options: SupervisionOptions, hosts: Sequence[str], first: str) -> dict[str, str]:
    """By which address each node is reached, its name where none is given; ``first`` is that of the first one."""
    named = nodes_of(options, hosts)
    given = {name: address or name for name, address in zip(named, options.addresses or named)}
    return {**given, hosts[0]: first}


def check_count(nodes: Sequence[str]) -> None:
    """Refuse more nodes than supervisors keep together; ``nodes``: all that have one."""
    if len(nodes) > MOST_NODES:
        raise GaudiError(
            f"supervision is for up to {MOST_NODES} nodes, and hosts, spares and witness are {len(nodes)}; name fewer, "
            "or let Slurm run a job of that size (engine: slurm, in a playbook gaudi_training_engine: slurm)."
        )


def check_supervision(
    options: SupervisionOptions, hosts: Sequence[str], processes_per_node: int, rendezvous_port: int, batch: int
) -> None:
    """Refuse what the supervisors could not do, in the words of the option. ``batch`` 0: no global one was given."""
    _check_nodes(options, hosts)
    port = control_port_of(options, rendezvous_port)
    if not 1 <= port <= 65535 or port == rendezvous_port:
        raise GaudiError(
            f"supervision.control_port is {port}; give a port from 1 to 65535 that is not rendezvous_port "
            f"{rendezvous_port}."
        )
    if options.lost_after < SHORTEST_LOST_AFTER:
        raise GaudiError(
            f"supervision.lost_after is {options.lost_after}; give at least {SHORTEST_LOST_AFTER} seconds."
        )
    for name in ("join_timeout", "failure_grace"):
        if getattr(options, name) < 1:
            raise GaudiError(f"supervision.{name} is {getattr(options, name)}; give at least 1 second.")
    for name in ("max_restarts", "min_runtime", "hang_timeout", "start_timeout", "grow_after"):
        if getattr(options, name) < 0:
            raise GaudiError(f"supervision.{name} is {getattr(options, name)}; give 0 or more.")
    if options.start_timeout and not options.hang_timeout:
        raise GaudiError(
            f"supervision.start_timeout is {options.start_timeout} but hang_timeout is 0, which turns hang detection "
            "off; give a hang_timeout too."
        )
    if options.straggler_ratio and options.straggler_ratio <= 1:
        raise GaudiError(
            f"supervision.straggler_ratio is {options.straggler_ratio:g}, so ranks of average speed would count as "
            "slow; give more than 1, or 0 to turn this off."
        )
    for nodes in range(least_nodes(options, hosts), len(hosts)):
        _check_shared(batch, nodes, processes_per_node)


def _check_nodes(options: SupervisionOptions, hosts: Sequence[str]) -> None:
    twice = [host for host in options.spares if host in hosts or options.spares.count(host) > 1]
    if twice:
        raise GaudiError(f"supervision.spares names {twice[0]}, which is named before; name each node once.")
    if options.witness in (*hosts, *options.spares):
        raise GaudiError(
            f"supervision.witness is {options.witness}, which is one of hosts or supervision.spares; name a node that "
            "runs no ranks of the job, or leave it out."
        )
    if not 0 <= options.min_nodes <= len(hosts):
        raise GaudiError(
            f"supervision.min_nodes is {options.min_nodes} for {len(hosts)} host(s); give 1 to {len(hosts)}, or 0 for "
            "all of them."
        )
    named = nodes_of(options, hosts)
    check_count(named)
    if options.addresses and len(options.addresses) != len(named):
        raise GaudiError(
            f"supervision.addresses has {len(options.addresses)} address(es) for {len(named)} node(s); give one for "
            "each of hosts, then of spares and witness, in their order, or none."
        )


def _check_shared(batch: int, nodes: int, processes_per_node: int) -> None:
    try:
        check_global_batch(batch, nodes * processes_per_node)
    except GaudiError as error:
        raise GaudiError(
            f"supervision.min_nodes allows the job to continue with {nodes} node(s): {error} Or raise min_nodes."
        ) from None


def launch_of(key: bytes) -> str:
    """A name of the launch that tells nothing of its key."""
    return hashlib.sha256(b"launch" + key).hexdigest()[:16]
