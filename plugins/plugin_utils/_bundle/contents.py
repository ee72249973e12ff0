# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a bundle has to hold, which is what the roles install; from their own lists; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

# What Ansible itself needs on a node that has nothing yet.
FOR_ANSIBLE = ["python3", "python3-apt"]
# Reads the file of a role by its path below `roles/`; None where there is no such file.
Read = Callable[[PurePosixPath], "Mapping[str, Any] | None"]


def contents(read: Read, distribution: str, os_family: str) -> dict[str, Any]:
    """The vendor's ``packages``, the distribution's ``os_packages``, pip's ``requirements`` and their ``python``.

    ``{kernel}`` in a name of ``os_packages`` stands for the kernel of a node. Raises FileNotFoundError, with the
    folder, for an operating system that the roles have no lists of.
    """

    def of_system(role: str) -> Mapping[str, Any]:
        folder = PurePosixPath(role, "vars")
        return _first(folder, (read(folder / f"{name}.yml") for name in _file_names(distribution, os_family)))

    driver, stack = of_system("gaudi_driver"), of_system("gaudi_venv")
    fabric, exporter, monitoring = map(of_system, ("gaudi_fabric", "gaudi_exporter", "gaudi_monitoring"))
    return {
        "packages": [
            *_defaults(read, "gaudi_driver")["gaudi_driver_packages"],
            _own_names(read, "gaudi_containers")["__gaudi_containers_package"],
        ],
        "os_packages": [
            *driver["__gaudi_driver_os_packages"],
            *stack["__gaudi_venv_packages"],
            *fabric["__gaudi_fabric_ofed_packages"]["distribution"],
            *fabric["__gaudi_fabric_layer3_packages"],
            *exporter["__gaudi_exporter_packages"],
            *monitoring["__gaudi_monitoring_packages"],
            *FOR_ANSIBLE,
        ],
        "requirements": list(_defaults(read, "gaudi_venv")["gaudi_venv_requirements"]),
        "python": stack["__gaudi_venv_python"],
    }


def _defaults(read: Read, role: str) -> Mapping[str, Any]:
    folder = PurePosixPath(role, "defaults")
    return _first(folder, iter([read(folder / "main.yml")]))


def _own_names(read: Read, role: str) -> Mapping[str, Any]:
    """What a role names alike on every system."""
    folder = PurePosixPath(role, "vars")
    return _first(folder, iter([read(folder / "main.yml")]))


def _file_names(distribution: str, os_family: str) -> Iterator[str]:
    # A host says what it is: nothing of that leads out of the folder.
    yield from (PurePosixPath(name).name for name in (distribution, os_family))


def _first(folder: PurePosixPath, found: Iterator[Mapping[str, Any] | None]) -> Mapping[str, Any]:
    there = next((lists for lists in found if lists is not None), None)
    if there is None:
        raise FileNotFoundError(str(folder))
    return there
