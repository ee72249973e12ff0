# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Open MPI on a sandbox's nodes, from the distribution's packages, and the jobs' way from each node to each other one.

That is what an operator provides for ``mpirun``: the collection makes no keys.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from .commands import step
from .nodes import in_node
from .packages_in_nodes import install, write_files
from .plan import ClusterPlan, NodePlan
from .ssh_keys import known_hosts

# The account of jobs in inventories/sandbox, which the training stack makes; its group is there before.
ACCOUNT, NUMBER = "gaudi", 900
MAKE_GROUP = f"getent group {ACCOUNT} || groupadd --system --gid {NUMBER} {ACCOUNT}"
# Of the whole node, as its host key is: root and the account of jobs can read it, and no home is needed.
PRIVATE_KEY = "/etc/ssh/open_mpi_key"
# One key for all nodes, made on the first one.
MAKE_KEY = f'test -e {PRIVATE_KEY} || ssh-keygen -q -t ed25519 -N "" -f {PRIVATE_KEY}'
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key.pub"


def ensure_open_mpi(cluster: ClusterPlan) -> str:
    """Bring Open MPI and the keys to every node; does nothing where they are. Returns the version."""
    first = cluster.nodes[0]
    with step(f"Open MPI on {len(cluster.nodes)} nodes"), ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: install(node, "openmpi-bin"), cluster.nodes))
        in_node(first, "sh", "-c", MAKE_KEY)
        wanted = _files(cluster, in_node(first, "cat", PRIVATE_KEY), in_node(first, "cat", f"{PRIVATE_KEY}.pub"))
        list(pool.map(lambda node: _write(node, wanted), cluster.nodes))
    return in_node(first, "mpirun", "--version").splitlines()[0] + "\n"


def _files(cluster: ClusterPlan, private: str, public: str) -> dict[str, str]:
    keys = {node: in_node(node, "cat", HOST_KEY) for node in cluster.nodes}
    names = {name: key for node, key in keys.items() for name in (node.name, node.address)}
    return {
        PRIVATE_KEY: private,
        # Where the nodes' sshd looks for the keys that open an account; a job may be root's, too.
        f"/etc/ssh/authorized_keys.d/{ACCOUNT}": public,
        "/etc/ssh/authorized_keys.d/root": public,
        "/etc/ssh/ssh_config.d/open_mpi.conf": f"IdentityFile {PRIVATE_KEY}\n",
        "/etc/ssh/ssh_known_hosts": known_hosts(names),
    }


def _write(node: NodePlan, wanted: dict[str, str]) -> None:
    write_files(node, wanted)
    in_node(node, "sh", "-c", MAKE_GROUP)
    # ssh(1) wants nobody else to read a key of its user's; this one is root's.
    in_node(node, "chgrp", ACCOUNT, PRIVATE_KEY)
    in_node(node, "chmod", "640", PRIVATE_KEY)
