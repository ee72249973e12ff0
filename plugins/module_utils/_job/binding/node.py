# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The bindings of the ranks of this node, as it stands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..._cards.accel_sysfs import attribute
from .cpus import parse_cpus
from .plan import RankBinding, bind_ranks, spread
from .topology import VISIBLE, read_card_nodes, read_cores


def read_bindings(
    bind: str,
    device: str,
    ranks: int,
    environment: Mapping[str, str],
    host: str,
    allowed: Iterable[int],
    kernel_root: str = "/",
) -> tuple[RankBinding, ...]:
    """What each local rank is bound to where processes may run on ``allowed``; GaudiError where one has no core."""
    cores = read_cores(allowed, kernel_root)
    # A device without cards has every NUMA node as near as any other.
    nodes = read_card_nodes(device, ranks, environment, kernel_root) if device in VISIBLE else spread(ranks, cores)
    return bind_ranks(bind, cores, nodes, host)


def service_cpus(cgroups: str = "/sys/fs/cgroup") -> frozenset[int]:
    """The processors that a service may use: those of systemd itself (CPUAffinity= of systemd-system.conf(5)) that
    AllowedCPUs= leaves to system.slice (systemd.resource-control(5)).
    """
    own = frozenset(os.sched_getaffinity(1))
    confined = attribute(Path(cgroups, "system.slice"), "cpuset.cpus.effective")
    return own if confined is None else own & parse_cpus(confined)
