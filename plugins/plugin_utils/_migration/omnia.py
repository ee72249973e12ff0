# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What becomes of the settings of Dell's Omnia 1.5 to 1.7, by their names; pure.

Names and meanings after the comments in its ``input/*.yml`` and ``input/software_config.json`` (github.com/dell/omnia).
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import Rule, kept, not_here, not_needed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.variables import (
    kernel_arguments,
    mirror,
    packages,
    release,
)

_KUBERNETES = not_here("your Kubernetes stays as it is; manifests of a job: docs/kubernetes.md")
_SLURM = not_here("your Slurm stays as it is; its parts for cards: docs/slurm.md")
_PROVISIONING = not_here("nodes come with an operating system, from MAAS or by hand: docs/clouds.md")
_NETWORKS = not_needed("addresses and networks are the nodes' own; what is between them is found by the fabric layer")
_OTHER_MAKERS = not_needed("it is for cards of other makers")
_ACCOUNTS = not_here("accounts and their directory stay as they are")
_TELEMETRY = not_here("metrics of the nodes: docs/monitoring.md; other sources stay as they are")
_IMAGES = not_here("a registry is named by the images that you use: docs/containers.md")
_OTHER_STORAGE = not_here("a file system that is mounted stays mounted; for others see docs/storage.md")
_MOUNTED = not_needed("the nodes have it in /etc/fstab, where it stays; gaudi_storage_mounts is for others")
_LOADS = not_needed("programs of the site are the site's; the layers install what they need")

OMNIA: Mapping[str, Rule] = {
    "cluster_os_type": not_needed("each node says it"),
    "cluster_os_version": not_needed("each node says it"),
    "iso_file_path": _PROVISIONING,
    "repo_config": not_needed("a mirror is gaudi_packages_url, or a bundle: docs/bundle.md"),
    "softwares.intelgaudi": kept(release),
    "softwares.gaudi": kept(release),
    "intelgaudi": not_needed("the release has its parts"),
    "intelgaudi.cluster": kept(
        packages, "gaudi_driver_packages has all but habanatools, which ended with 1.20", reads_templates=True
    ),
    "softwares.pytorch": not_needed("venv.yml installs the release's PyTorch"),
    "pytorch": not_needed("venv.yml installs the release's PyTorch"),
    "softwares.vllm": not_here("vLLM of the release: docs/serving.md"),
    "softwares.nfs": _MOUNTED,
    "softwares.k8s": _KUBERNETES,
    "softwares.service_k8s": _KUBERNETES,
    "softwares.slurm": _SLURM,
    "softwares.ofed": not_needed("gaudi_fabric_ofed, where a node uses InfiniBand or RoCE cards: docs/fabric.md"),
    "softwares.*": _LOADS,
    "amdgpu": _OTHER_MAKERS,
    "rocm": _OTHER_MAKERS,
    "bcm_roce": _NETWORKS,
    "tensorflow": not_here("the releases have PyTorch"),
    "user_repo_url": kept(mirror, "repositories of the site stay in each node's own files"),
    "omnia_repo_url_*": kept(mirror, "each node's own repositories stay, and the vendor's is known"),
    "ubuntu_os_url": not_needed("each node's own repositories stay"),
    "rhel_os_url": not_needed("each node's own repositories stay"),
    "rhel_subscription_*": not_needed("each node's own repositories stay"),
    "user_registry": _IMAGES,
    "docker_username": _IMAGES,
    "docker_password": _IMAGES,
    "lists of packages": _LOADS,
    "run_intel_gaudi_tests": not_needed("verify.yml measures; the vendor's tests: docs/qualify.md"),
    "slurm_*": _SLURM,
    "restart_slurm_services": _SLURM,
    "scheduler_type": _SLURM,
    "k8s_*": _KUBERNETES,
    "pod_external_ip_range": _KUBERNETES,
    "topology_manager_*": _KUBERNETES,
    "csi_*": _KUBERNETES,
    "nfs_node_*": _KUBERNETES,
    "nfs_client_params": _MOUNTED,
    "beegfs_*": _OTHER_STORAGE,
    "powervault_*": _OTHER_STORAGE,
    "Categories.*.os.kernel.cmdline": kept(kernel_arguments),
    "Categories.*": _NETWORKS,
    "Networks.*.ntp_servers": not_needed("a running time service stays: gaudi_host_time_sync"),
    "Networks.*": _NETWORKS,
    "enable_switch_based": _PROVISIONING,
    "pxe_*": _PROVISIONING,
    "bmc_*": _PROVISIONING,
    "provision_*": _PROVISIONING,
    "node_name": _PROVISIONING,
    "domain_name": _PROVISIONING,
    "timezone": not_needed("each node's own stays"),
    "language": not_needed("each node's own stays"),
    "default_lease_time": _PROVISIONING,
    "disk_partition": _PROVISIONING,
    "*_nic": _NETWORKS,
    "*_nic_*": _NETWORKS,
    "primary_dns": _NETWORKS,
    "secondary_dns": _NETWORKS,
    "cuda_*": _OTHER_MAKERS,
    "mlnx_ofed_*": not_needed("gaudi_fabric_ofed, where a node uses InfiniBand or RoCE cards: docs/fabric.md"),
    "roce_plugin_*": _KUBERNETES,
    "interfaces": _KUBERNETES,
    "Groups": _PROVISIONING,
    "Groups.*": _PROVISIONING,
    "Roles": _PROVISIONING,
    "user_name": _ACCOUNTS,
    "authentication_type": _ACCOUNTS,
    "ldap_*": _ACCOUNTS,
    "tls_*": _ACCOUNTS,
    "realm_name": _ACCOUNTS,
    "login_node_security_enabled": _ACCOUNTS,
    "max_failures": _ACCOUNTS,
    "alert_email_address": _ACCOUNTS,
    "openldap_*": _ACCOUNTS,
    "redhat_subscription_*": not_needed("each node's own repositories stay"),
    "*telemetry*": _TELEMETRY,
    "idrac_*": _TELEMETRY,
    "omnia_telemetry_*": _TELEMETRY,
    "prometheus_*": _TELEMETRY,
    "grafana_*": _TELEMETRY,
    "visualization_support": _TELEMETRY,
    "mysqldb_*": _TELEMETRY,
    "timescaledb_*": _TELEMETRY,
    "mount_location": _TELEMETRY,
    "service_cluster_metadata": _TELEMETRY,
}
