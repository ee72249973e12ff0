# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What becomes of the settings of NVIDIA's DeepOps and of Kubespray, by their names; pure.

Names and meanings after ``config.example/group_vars`` (github.com/NVIDIA/deepops). It never had Gaudi: what is kept is
what the nodes and the site have besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import Rule, kept, not_here, not_needed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.variables import proxies, proxy

_DOCKER = not_needed("Docker's own file stays, and containers.yml adds the runtime to it: docs/containers.md")
_SLURM = not_here("your Slurm stays as it is, with its NHC; its parts for cards: docs/slurm.md")
_KUBERNETES = not_here("your Kubernetes stays as it is; manifests of a job: docs/kubernetes.md")
_NVIDIA = not_needed("it is for NVIDIA's cards")
_MODULES = not_here("modules and programs that the site installs stay as they are")
_ACCOUNTS = not_here("accounts and their directory stay as they are")
_CONTAINERS = not_here("Enroot, Pyxis and Singularity stay as they are; containers here: docs/containers.md")
_METRICS = not_here("metrics of the nodes: docs/monitoring.md; what the site has stays")
_PROVISIONING = not_here("nodes come with an operating system, from MAAS or by hand: docs/clouds.md")
_NODES_OWN = not_needed("each node's own stays")

DEEPOPS: Mapping[str, Rule] = {
    "http_proxy": kept(partial(proxy, "http_proxy")),
    "https_proxy": kept(partial(proxy, "https_proxy")),
    "no_proxy": kept(partial(proxy, "no_proxy")),
    "proxy_env": kept(proxies),
    "chrony_*": not_needed("a running time service stays: gaudi_host_time_sync"),
    "ntp_*": not_needed("a running time service stays: gaudi_host_time_sync"),
    "dns_*": _NODES_OWN,
    "hosts_*": _NODES_OWN,
    "deepops_*": not_needed("it is about DeepOps itself"),
    "software_*": _MODULES,
    "rc_local_contents": _NODES_OWN,
    "autofs_*": not_here("a file system that is mounted stays mounted; for others see docs/storage.md"),
    "nfs_mounts": not_needed("the nodes have it in /etc/fstab, where it stays; gaudi_storage_mounts is for others"),
    "nfs_*": not_here("a server of files stays as it is"),
    "users": _ACCOUNTS,
    "user_*": _ACCOUNTS,
    "nis_*": _ACCOUNTS,
    "kerberos_*": _ACCOUNTS,
    "cuda_*": _NVIDIA,
    "gpu_*": _NVIDIA,
    "nvidia_*": _NVIDIA,
    "dcgm_*": _NVIDIA,
    "install_dcgm": _NVIDIA,
    "dgx_*": _NVIDIA,
    "allow_user_set_gpu_clocks": _NVIDIA,
    "hpcsdk_*": _NVIDIA,
    "docker_*": _DOCKER,
    "standalone_container_registry_*": not_here("a registry is named by the images that you use: docs/containers.md"),
    "enroot_*": _CONTAINERS,
    "singularity_*": _CONTAINERS,
    "bind_paths": _CONTAINERS,
    "golang_*": _CONTAINERS,
    "collectd_*": _METRICS,
    "with_dcgm_collectd": _METRICS,
    "maas_*": _PROVISIONING,
    "slurm_*": _SLURM,
    "pmix_*": _SLURM,
    "hwloc_*": _SLURM,
    "nhc_*": _SLURM,
    "sm_*": _MODULES,
    "spack_*": _MODULES,
    "openmpi_*": not_needed("an Open MPI of the site is found: docs/engines.md"),
    "install_open_ondemand": _MODULES,
    "ood_*": _MODULES,
    "servername": _MODULES,
    "httpd_*": _MODULES,
    "node_uri": _MODULES,
    "rnode_uri": _MODULES,
    "kube_*": _KUBERNETES,
    "k8s_*": _KUBERNETES,
    "container_manager": _KUBERNETES,
    "etcd_*": _KUBERNETES,
    "helm_*": _KUBERNETES,
}
