# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What becomes of the variables of Intel's recipes, and of what scripts of one click are given; pure.

The recipes: ``recipes/ai-gaudi-*`` (github.com/intel/optimized-cloud-recipes), 1.17.1 to 1.23.0. The scripts: the
vendor's ``habanalabs-installer.sh`` as public files call it, whose own text and log nobody has published (UNVERIFIED),
and ``inference-config.cfg`` (github.com/opea-project/Enterprise-Inference).
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import Rule, kept, not_here, not_needed
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.variables import (
    hugepages,
    index_url,
    packages,
    release,
    requirements,
)

_RELEASE = not_needed("the release has it")
_FIRMWARE = not_needed("the release has it, and upgrade_firmware.yml writes it card by card: docs/firmware.md")
_LOGS = not_needed("a run's report has it: docs/report.md")
_LIBFABRIC = not_needed("gaudi_fabric_libfabric_archive, where a node uses its own network cards: docs/host_nics.md")
_STACK = not_here("services of Enterprise Inference stay as they are; a model that serves: docs/serving.md")
INSTALLER = "habanalabs-installer.sh"

RECIPES: Mapping[str, Rule] = {
    "habana_version": kept(release),
    "sub_habana_version": kept(release),
    "hosts": not_needed("the inventory has the nodes; a recipe knows the machine alone that it runs on"),
    "become": not_needed("ansible_become is set for the nodes"),
    "tasks": not_needed("the layers do it; what a recipe left on a node is found there: docs/existing_nodes.md"),
    # A recipe writes it to /etc/sysctl.conf: with the same number here the node stays as it is.
    "tasks.vm.nr_hugepages": kept(hugepages),
    "spi_version": _FIRMWARE,
    "gaudi2spi": _FIRMWARE,
    "erom_version": _FIRMWARE,
    "expected_erom_version": _FIRMWARE,
    "log_base": _LOGS,
    "log_file": _LOGS,
    "pytorch_version": _RELEASE,
    "py_sub_ver": _RELEASE,
    "py_build_num": _RELEASE,
    "pillow_simd_version": not_here("the release's own Pillow is used"),
    "venv_path": not_needed("venv.yml makes its own; theirs stays where it is: gaudi_venv_directory"),
    "extra_index_url": kept(index_url, "the vendor's wheels come from the release's archive"),
    "habana_packages": kept(packages, "gaudi_driver_packages has them", reads_templates=True),
    "habana_packages_base": kept(packages, "gaudi_driver_packages has them", reads_templates=True),
    "habana_drivers": not_needed("the release has the modules and their order"),
    "pip_packages": kept(requirements, "the release brings them", reads_templates=True),
    "libfabric_*": _LIBFABRIC,
    "openmpi_*": not_needed("an Open MPI of the site is found: docs/engines.md"),
    "habana_profile_path": not_needed("jobs get their flags from flags.yml, not from a shell's profile"),
    "hl_custom_hugepage": kept(hugepages),
    "rhel_*": not_needed("each node says it"),
    "habana_os_id": not_needed("each node says it"),
}
SCRIPTS: Mapping[str, Rule] = {
    INSTALLER: kept(release),
    f"{INSTALLER} install": not_needed("driver.yml and the layers after it"),
    f"{INSTALLER} upgrade": not_needed("upgrade_driver.yml: docs/upgrade.md"),
    f"{INSTALLER} uninstall": not_here("no layer removes the driver"),
    f"{INSTALLER} validate": not_needed("verify.yml"),
    f"{INSTALLER} --type base": not_needed("driver.yml, containers.yml and fabric.yml"),
    f"{INSTALLER} --type dependencies": not_needed("venv.yml"),
    f"{INSTALLER} --type deps": not_needed("venv.yml"),
    f"{INSTALLER} --type pytorch": not_needed("venv.yml"),
    f"{INSTALLER} --venv": not_needed("venv.yml makes its own: gaudi_venv_directory"),
    f"{INSTALLER} --skip-driver-load": kept(lambda _value: {"gaudi_driver_load_modules": False}),
    f"{INSTALLER} --skip-install-firmware": not_needed(
        "firmware of the cards is written by upgrade_firmware.yml alone"
    ),
    f"{INSTALLER} -y": not_needed("nothing is asked"),
    f"{INSTALLER} -v": not_needed("ansible-playbook -v"),
    f"{INSTALLER} --verbose": not_needed("ansible-playbook -v"),
    "habanalabs packages": kept(release),
    "HABANALABS_VIRTUAL_DIR": not_needed("venv.yml makes its own; theirs stays where it is: gaudi_venv_directory"),
    "HABANA_LOGS": not_needed("flags.yml has it: docs/flags.md"),
    "GC_KERNEL_PATH": not_needed("flags.yml has it: docs/flags.md"),
    "HABANA_SCAL_BIN_PATH": not_needed("flags.yml has it: docs/flags.md"),
    "HABANA_PLUGINS_LIB_PATH": not_needed("flags.yml has it: docs/flags.md"),
    "RDMA_CORE_*": not_needed("flags.yml has it: docs/flags.md"),
    "DATA_LOADER_AEON_LIB_PATH": not_needed("flags.yml has it: docs/flags.md"),
    "HABANALABS_HLTHUNK_TESTS_BIN_PATH": not_needed("flags.yml has it: docs/flags.md"),
    "LIBFABRIC_ROOT": _LIBFABRIC,
    "MPI_ROOT": not_needed("an Open MPI of the site is found: docs/engines.md"),
    "OPAL_PREFIX": not_needed("an Open MPI of the site is found: docs/engines.md"),
    "PATH": not_needed("jobs get theirs from the unit, not from a shell's profile"),
    "LD_LIBRARY_PATH": not_needed("jobs get theirs from the unit, not from a shell's profile"),
    "PYTHONPATH": not_needed("jobs get theirs from the unit, not from a shell's profile"),
    "other lines": not_needed("they set nothing: words of a log or a script are not read"),
    "cluster_url": _STACK,
    "cert_file": _STACK,
    "key_file": _STACK,
    "keycloak_*": _STACK,
    "models": _STACK,
    "cpu_or_gpu": not_needed("each node says it"),
    "deploy_*": _STACK,
    "uninstall_*": _STACK,
    "airgap_enabled": not_needed("a mirror is gaudi_packages_url, or a bundle: docs/bundle.md"),
    "jfrog_*": not_needed("a mirror is gaudi_packages_url, or a bundle: docs/bundle.md"),
}
