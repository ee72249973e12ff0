# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files of other tools as their public descriptions have them, written for these tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

SECRET = "hunter2-of-the-site"
OMNIA: Mapping[str, str] = {
    "input/software_config.json": json.dumps(
        {
            "cluster_os_type": "ubuntu",
            "cluster_os_version": "22.04",
            "repo_config": "always",
            "softwares": [
                {"name": "intelgaudi", "version": "1.19.2-32"},
                {"name": "k8s", "version": "1.29.5"},
                {"name": "openldap"},
            ],
            "intelgaudi": [{"name": "intel"}],
        }
    ),
    "input/config/ubuntu/22.04/intelgaudi.json": json.dumps(
        {
            "intelgaudi": {
                "cluster": [
                    {"package": f"{name}={{{{ intelgaudi_version }}}}", "type": "deb", "repo_name": "gaudi"}
                    for name in ("habanalabs-dkms", "habanalabs-thunk", "habanatools")
                ]
            }
        }
    ),
    "input/config/ubuntu/22.04/amdgpu.json": "{}",
    "input/local_repo_config.yml": (
        "user_repo_url:\n"
        "  - {url: 'http://10.5.0.2/mirror/debian jammy main', gpgkey: ''}\n"
        "  - {url: 'http://10.5.0.2/habana/debian jammy main', gpgkey: ''}\n"
        "ubuntu_os_url: http://archive.ubuntu.com/ubuntu\n"
    ),
    "input/omnia_config.yml": "k8s_cni: calico\nrun_intel_gaudi_tests: true\npod_external_ip_range: ''\n",
    "input/server_spec.yml": (
        "Categories:\n  - category-1:\n      - network:\n          - ensp0:\n              nicnetwork: nic_network1\n"
        "      - os:\n          - kernel:\n              - cmdline: iommu=pt processor.max_cstate=0\n"
    ),
    "input/provision_config_credentials.yml": f"provision_password: {SECRET}\nsite_invention: 7\n",
    "input/telemetry_config.yml": (
        "idrac_telemetry_support: true\ngrafana_username: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3031\n"
    ),
    "input/encrypted.yml": "$ANSIBLE_VAULT;1.1;AES256\n3031\n",
    "pxe_mapping_file.csv": "SERVICE_TAG,HOSTNAME,ADMIN_MAC,ADMIN_IP,BMC_IP\nX1,gaudi-01,aa:bb,10.5.0.101,10.3.0.101\n",
    "inventory": (
        "# Slurm\n[slurm_control_node]\n10.5.0.2\n\n[slurm_node]\n10.5.0.101\n10.5.0.[102:103] ansible_port=2222\n\n"
        "[login]\n10.5.0.3\n\n[all:vars]\nansible_user=ubuntu\n"
        f"ansible_ssh_common_args='-o ProxyCommand=\"touch planted\"'\nansible_become_password={SECRET}\n"
    ),
}
DEEPOPS: Mapping[str, str] = {
    "config/inventory": (
        "[all]\nmgmt01 ansible_host=10.0.0.1\nlogin01 ansible_host=10.0.1.1\ngpu01 ansible_host=10.0.2.1\n"
        "gpu02 ansible_host=10.0.2.2\n\n[kube-master]\nmgmt01\n\n[slurm-master]\nlogin01\n\n"
        "[slurm-node]\ngpu01\ngpu02\n\n"
        "[slurm-cluster:children]\nslurm-master\nslurm-node\n\n[all:vars]\nansible_user=ubuntu\n"
    ),
    "config/group_vars/all.yml": (
        "http_proxy: http://10.0.2.5:3128\nno_proxy: localhost,10.0.2.10\n"
        "proxy_env:\n  http_proxy: '{{ http_proxy }}'\n"
        "docker_daemon_json: {bip: 192.168.99.1/24}\ncuda_version: cuda-toolkit-11-0\n"
        "users:\n  - {username: nvidia, password: $6$abc}\n"
    ),
    "config/group_vars/slurm-cluster.yml": (
        f"slurm_version: 20.11.3\nslurm_password: {SECRET}\nnfs_mounts:\n"
        "  - {mountpoint: /home, server: '{{ groups[\"slurm-master\"][0] }}', path: /home, options: async}\n"
    ),
    "config/host_vars/gpu01": "hl_custom_hugepage: 9000\nansible_port: 2222\n",
    "config/host_vars/gpu09": "ansible_port: 2222\n",
    "config/group_vars/slurm-node.yml": "ansible_python_interpreter: /usr/bin/python3\n",
}
RECIPE: Mapping[str, str] = {
    "baremetal-recipe-1.22.0.yml": (
        "- name: stack\n  hosts: localhost\n  become: true\n  vars:\n"
        '    habana_version: "1.22.0"\n    sub_habana_version: "1.22.0-740"\n'
        '    log_file: "{{ log_base }}/x.log"\n    spi_version: "1.22.0-fw-61.3.2-sec-3 "\n'
        '    hl_custom_hugepage: "17601"\n'
        '    extra_index_url: "https://vault.habana.ai/artifactory/api/pypi/gaudi-python/simple"\n'
        '    habana_packages: ["habanalabs-dkms={{ sub_habana_version }}", "habanalabs-graph={{ version }}"]\n'
        '    pip_packages: [{name: "pip==22.2.2"}, {name: "einops==0.8.0"}]\n'
        "  tasks:\n    - ansible.builtin.command: touch planted\n"
        '    - sysctl: {name: vm.nr_hugepages, value: "17601", state: present}\n'
    ),
}
INSTALLER: Mapping[str, str] = {
    "install.sh": (
        "#!/bin/bash\nset -e\nwget -nv https://vault.habana.ai/artifactory/gaudi-installer/1.21.3/habanalabs-installer.sh\n"
        "export HABANALABS_VIRTUAL_DIR=$HOME/venv\nGAUDI_TOKEN='" + SECRET + "'\n"
        "sudo bash ./habanalabs-installer.sh install -t base -y --skip-driver-load && echo done\n"
    ),
    "packages.txt": (
        "habanalabs-dkms/jammy,now 1.21.3-57 all [installed]\nhabanalabs-thunk=1.21.3-57\n"
        "ii  habanalabs-qual  1.21.3-57  amd64\n"
    ),
}
TOOLS = {"omnia": OMNIA, "deepops": DEEPOPS, "recipe": RECIPE, "installer": INSTALLER}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """The directory, with the files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
