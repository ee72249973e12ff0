# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An operator's machine: a home directory with the installed collection, and an inventory of the two nodes."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.installed_collection import install_collection
from tests.sandbox_nodes import INVENTORY, ROOT, hostvars
from tests.terminal import lines_of

# As the inventory names them, which is not what the nodes call themselves.
NAMES = {"node1": "gaudi-01", "node2": "gaudi-02"}


@dataclass(frozen=True)
class Shown:
    """How a command ended, and what it printed."""

    code: int
    screen: str

    @property
    def lines(self) -> list[str]:
        return lines_of(self.screen)


@dataclass(frozen=True)
class Operator:
    """Someone at a terminal, who has a home directory and nothing else."""

    home: Path

    def types(self, command: str, where: str = "") -> Shown:
        """A command of a page as it stands there, in a directory of the home directory."""
        environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "160",
        }
        done = subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.home / where,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return Shown(done.returncode, done.stdout)


@pytest.fixture(scope="session")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """With the collection's tarball installed where Galaxy puts it: what the README installs from git is the same."""
    home = tmp_path_factory.mktemp("home")
    install_collection(tmp_path_factory.mktemp("tarball"), home / ".ansible" / "collections")
    return Operator(home)


def put_hosts_in(inventory: Path) -> None:
    """What the page asks the operator to write into ``hosts.yml``, and what the sandbox differs in from servers."""
    settings = {
        name: value
        for part in ("all", "gaudi")
        for name, value in yaml.safe_load((INVENTORY / "group_vars" / f"{part}.yml").read_text("utf-8")).items()
    }
    connection = {
        NAMES[node]: {name: value for name, value in variables.items() if name.startswith("ansible_")}
        for node, variables in hostvars().items()
    }
    # A first job is 200 steps long, which two cores would be at for half an hour.
    hosts = {"gaudi": {"hosts": connection, "vars": {**settings, "gaudi_training_max_steps": 10}}}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(hosts, sort_keys=False), encoding="utf-8")


__all__ = ["NAMES", "ROOT", "Operator", "Shown", "put_hosts_in"]
