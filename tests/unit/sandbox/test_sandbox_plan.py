# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a sandbox is made of: names, addresses, apt sources, keys; and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from sandbox import distribution, open_mpi, prerequisites, ssh_keys
from sandbox.__main__ import main as sandbox_main
from sandbox.errors import SandboxError
from sandbox.paths import CHECKOUT
from sandbox.plan import Cards, choose_subnet, plan
from sandbox.simulator.faults import FAULTS

CARDS = Cards("gaudi3", 8)
SUBNET = "10.203.71.0/24"


def test_nodes_have_fixed_names_and_addresses() -> None:
    made = plan("gaudi3", SUBNET, 2, CARDS)
    assert [(node.name, node.address, node.container) for node in made.nodes] == [
        ("node1", "10.203.71.11", "gaudi3-node1"),
        ("node2", "10.203.71.12", "gaudi3-node2"),
    ]
    assert made.repository_address == "10.203.71.5"
    assert ("packages.sandbox.internal", "10.203.71.5") in made.hosts
    assert ("node16", "10.203.71.26") in made.hosts


@pytest.mark.parametrize(
    ("name", "nodes", "cards", "said"),
    [
        ("Gaudi 3", 2, 8, "--name 'Gaudi 3'"),
        ("gaudi3", 0, 8, "--nodes 0"),
        ("gaudi3", 17, 8, "--nodes 17"),
        ("gaudi3", 2, 0, "--cards 0"),
        ("gaudi3", 2, 9, "--cards 9"),
    ],
)
def test_what_cannot_be_made_is_refused(name: str, nodes: int, cards: int, said: str) -> None:
    with pytest.raises(SandboxError, match=said):
        plan(name, SUBNET, nodes, Cards("gaudi3", cards))


def test_known_sandboxes_have_their_networks_and_others_the_first_free_one() -> None:
    assert choose_subnet("gaudi3", []) == SUBNET
    assert choose_subnet("gaudi3-test", [SUBNET]) == "10.203.72.0/24"
    assert choose_subnet("mine", ["10.203.73.0/24", "10.88.0.0/16"]) == "10.203.74.0/24"


def test_a_network_that_is_taken_is_refused() -> None:
    with pytest.raises(SandboxError, match="No free network for the sandbox gaudi3"):
        choose_subnet("gaudi3", ["10.203.0.0/16"])


def test_apt_sources_are_the_distribution_s_own(tmp_path: Path) -> None:
    sources = tmp_path / "apt" / "sources.list.d"
    sources.mkdir(parents=True)
    (sources / "other.sources").write_text("URIs: https://example.org\nSuites: bookworm\n")
    (sources / "debian.sources.disabled").write_text("URIs: https://example.org\nSuites: bookworm\n")
    (sources / "debian.sources").write_text("URIs: http://mirror.example.org/debian\nSuites: bookworm\n")
    assert "mirror.example.org" in distribution.own_sources(tmp_path, "bookworm")


def test_without_apt_sources_the_remedy_is_a_mirror(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="GAUDI_SANDBOX_MIRROR"):
        distribution.own_sources(tmp_path, "bookworm")


def test_an_unknown_distribution_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "fedora"})
    with pytest.raises(SandboxError, match="'fedora'"):
        distribution.host_distribution()


def test_missing_programs_are_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites.Tool, "found", lambda tool: tool.package not in ("podman", "gnupg"))
    assert "Missing on this host: podman gnupg; run `apt-get install --no-install-recommends podman gnupg`." in (
        prerequisites.problems({})
    )


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    (problem,) = [text for text in prerequisites.problems({tmp_path / "new": 2**60}) if "free" in text]
    assert "the sandbox needs 1073741824.0 GiB there" in problem


def test_host_packages_are_those_of_the_programs() -> None:
    listed = (Path(prerequisites.__file__).with_name("packages.txt")).read_text(encoding="utf-8").splitlines()
    assert {tool.package for tool in prerequisites.TOOLS} <= {line for line in listed if not line.startswith("#")}


def test_known_hosts_has_address_type_and_key() -> None:
    text = ssh_keys.known_hosts({"10.203.71.12": "ssh-ed25519 BBB root@node2", "10.203.71.11": "ssh-ed25519 AAA x"})
    assert text == "10.203.71.11 ssh-ed25519 AAA\n10.203.71.12 ssh-ed25519 BBB\n"


def test_the_inventory_has_the_nodes_of_the_sandbox(tmp_path: Path) -> None:
    inventory = _inventory()["inventory"]
    names = [f"node{number}" for number in range(1, 12)]
    cluster = {"nodes": [{"name": name, "address": f"10.0.0.{number}"} for number, name in enumerate(names)]}
    made = inventory(cluster, tmp_path)
    assert made["gaudi"]["hosts"] == names
    assert made["_meta"]["hostvars"]["node1"] == {"ansible_host": "10.0.0.0"}
    assert "StrictHostKeyChecking=yes" in made["gaudi"]["vars"]["ansible_ssh_common_args"]
    assert json.dumps(made)


def _inventory():  # type: ignore[no-untyped-def]
    """The functions of the inventory script, which is no package, by name."""
    path = Path(distribution.__file__).parents[1] / "inventories" / "sandbox" / "nodes.py"
    names: dict[str, object] = {"__file__": str(path), "__name__": "nodes"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def test_open_mpi_s_keys_are_for_the_account_that_the_training_stack_makes() -> None:
    variables = yaml.safe_load((CHECKOUT / "inventories/sandbox/group_vars/all.yml").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((CHECKOUT / "roles/gaudi_venv/defaults/main.yml").read_text(encoding="utf-8"))
    account = variables.get("gaudi_venv_user", defaults["gaudi_venv_user"])
    assert (account, variables["gaudi_venv_user_uid"]) == (open_mpi.ACCOUNT, open_mpi.NUMBER)
    # The others' daemons are started by its login shell.
    assert "nologin" not in variables["gaudi_venv_user_shell"]


def test_a_python_that_lacks_a_part_is_told_so_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prerequisites, "PARTS", {"a-part": "no_such_module"})
    (said,) = [one for one in prerequisites.problems({}) if "lacks" in one]
    assert "lacks a-part" in said and "make setup" in said


def test_the_help_of_fault_lists_every_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["sandbox", "fault", "--help"])
    with pytest.raises(SystemExit):
        sandbox_main()
    said = capsys.readouterr().out
    assert [name for name in FAULTS if f"  {name}" not in said] == []
