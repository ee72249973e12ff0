# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A machine in the network of a running job sends what it likes: the job goes on, and the controller runs nothing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import cluster
from tests.long_rows import named_rows
from tests.sandbox_jobs import TRAINEE, lines, play, podman, shell, status, variables, wait_for_steps
from tests.sandbox_nodes import ROOT, SANDBOX, run

JOB = "attacked"
MEMBERS = ["node1", "node2"]
# It runs no rank and has a vote: a forged word of it, or to it, would decide who goes on.
WITNESS = "node4"
SUPERVISED = [*MEMBERS, WITNESS]
HOSTILE = "node3"
STORE, CONTROL = 29500, 29501
SECONDS = 8
ATTACKER = "/var/tmp/attacker.py"
# What a supervisor may take at most, however much is sent to it; at rest it is some 30 MB.
MOST_KB = 150_000
# Reads what the kernel hands to the node for the control port, from outside of it.
SNIFF = """
import json, socket, sys, time
found, end = [], time.monotonic() + 4
with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as sniffer:
    sniffer.settimeout(1)
    while time.monotonic() < end:
        try:
            packet = sniffer.recv(65535)
        except TimeoutError:
            continue
        header = (packet[0] & 15) * 4
        if packet[9] == 17 and int.from_bytes(packet[header + 2 : header + 4], "big") == int(sys.argv[1]):
            found.append(packet[header + 8 :].hex())
print(json.dumps(found))
"""


def address(node: str) -> str:
    return cluster.find_node(cluster.load(SANDBOX), node).address


@pytest.fixture(scope="module", autouse=True)
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A job of two nodes and a witness behind their firewall; the third has only what it attacks with."""
    directory = tmp_path_factory.mktemp("peers")
    addresses = [address(node) for node in SUPERVISED]
    members = ",".join(SUPERVISED)
    for playbook, limit, given in (
        ("venv", members, {}),
        ("host", members, {"gaudi_host_firewall": True, "gaudi_host_firewall_nodes": addresses}),
        # Its hl-smi is to answer, too, also where no golden image was there for it to begin with.
        ("driver", HOSTILE, {}),
    ):
        done = run(directory, playbook, arguments=f"--limit {limit}", **given)
        assert done.status == "successful", done.stdout.read()[-4000:]
    for node in MEMBERS:
        podman("cp", str(ROOT / "molecule/surviving/tests/trainee.py"), f"{SANDBOX}-{node}:{TRAINEE}")
    podman("cp", str(Path(__file__).with_name("attacker.py")), f"{SANDBOX}-{HOSTILE}:{ATTACKER}")
    chosen = {"gaudi_training_hosts": MEMBERS, "gaudi_training_spares": [], "gaudi_training_witness": WITNESS}
    ended, said = play(directory / "launch", **variables(JOB, **chosen))
    assert ended == 0, said
    wait_for_steps("node1", JOB)
    yield
    of_job = {"gaudi_training_hosts": MEMBERS, "gaudi_training_witness": WITNESS}
    play(directory / "stop", "stop_training", gaudi_training_name=JOB, **of_job)


def attack(kind: str, port: int) -> int:
    targets = " ".join(address(node) for node in SUPERVISED)
    return int(json.loads(shell(HOSTILE, f"python3 {ATTACKER} {kind} {port} {SECONDS} {targets}")))


def peak_kb(node: str) -> int:
    """The most memory that the supervisor has ever had."""
    of = "/^VmHWM/s/[^0-9]//gp"
    script = f"for id in $(pgrep -f '[s]upervision.json'); do sed -n '{of}' /proc/$id/status; done"
    return max(map(int, shell(node, script).split()))


@pytest.fixture
def goes_on() -> Iterator[None]:
    """As before the attack: the same generation, no event, more steps, no more memory than any message is worth."""
    before = [(status(node, JOB)["generation"], len(lines(node, JOB, "events.jsonl"))) for node in SUPERVISED]
    yield
    wait_for_steps("node1", JOB)
    after = [(status(node, JOB)["generation"], len(lines(node, JOB, "events.jsonl"))) for node in SUPERVISED]
    assert after == before
    assert all(peak_kb(node) < MOST_KB for node in SUPERVISED)


def without_firewall() -> None:
    """The supervisor alone, as where a site has no firewall."""
    for node in SUPERVISED:
        shell(node, "systemctl stop gaudi3-scale-firewall")


def with_firewall() -> None:
    for node in SUPERVISED:
        shell(node, "systemctl start gaudi3-scale-firewall")


@pytest.fixture
def open_ports() -> Iterator[None]:
    without_firewall()
    yield
    with_firewall()


@pytest.fixture(scope="module")
def capture() -> int:
    """What the job's nodes really say to each other, into the hands of the attacker; how many datagrams."""
    pid = subprocess.run(
        ["podman", "inspect", "--format", "{{.State.Pid}}", f"{SANDBOX}-node1"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    sniffing = ["nsenter", "--target", pid, "--net", "python3", "-c", SNIFF, str(CONTROL)]
    found = subprocess.run(sniffing, capture_output=True, text=True, check=True).stdout
    shell(HOSTILE, f"cat > /var/tmp/captured.json <<'END'\n{found}\nEND")
    return len(json.loads(found))


@pytest.mark.usefixtures("goes_on", "open_ports")
def test_datagrams_of_chance_are_nobodys_word() -> None:
    assert attack("noise", CONTROL) > 1000


@pytest.mark.usefixtures("goes_on", "open_ports")
@pytest.mark.parametrize("kind", ["replay", "forge"])
def test_the_jobs_own_datagrams_again_and_changed_are_nobodys_word(capture: int, kind: str) -> None:
    assert capture > 1
    assert attack(kind, CONTROL) > 1000


@pytest.mark.usefixtures("goes_on")
def test_the_store_of_the_ranks_takes_no_connection_from_outside() -> None:
    assert attack("connect", STORE) == 0


@pytest.mark.usefixtures("goes_on")
def test_the_firewall_lets_no_datagram_through_either() -> None:
    counted = "nft list table inet gaudi3_scale | sed -n 's/.*counter packets \\([0-9]*\\) .*drop.*/\\1/p'"
    before = int(shell("node1", counted))
    attack("noise", CONTROL)
    assert int(shell("node1", counted)) > before


CODE = "{{{{ lookup('ansible.builtin.pipe', 'touch {mark}') }}}}"
# The real tool's answer with a title, a cleared screen and code in each version of firmware, so that it can be read.
TOOL = """#!/bin/sh
escape=$(printf '\\033]0;owned\\007\\033[2J')
/usr/bin/hl-smi.kept "$@" | sed "s|-fw-[0-9.]*|-fw-$escape{code}|"
"""
SYSTEM = """NAME="Debian {code}"
ID=debian
VERSION_ID=12
PRETTY_NAME="../../../../{code}"
"""


@pytest.fixture
def poisoned(tmp_path: Path) -> Iterator[Path]:
    """The third node answers with code wherever it is asked for words; returns what the code would make."""
    mark = tmp_path / "was-here"
    places = {"/usr/bin/hl-smi": (TOOL, 0o755), "/etc/os-release": (SYSTEM, 0o644)}
    for place, (text, mode) in places.items():
        own = tmp_path / Path(place).name
        own.write_text(text.format(code=CODE.format(mark=mark)), encoding="utf-8")
        own.chmod(mode)
        shell(HOSTILE, f"mv {place} {place}.kept")
        podman("cp", str(own), f"{SANDBOX}-{HOSTILE}:{place}")
    assert str(mark) in shell(HOSTILE, "hl-smi")
    yield mark
    for place in places:
        shell(HOSTILE, f"mv {place}.kept {place}")


ASKING = ("preflight", "explain_node", "plan_upgrade")


@pytest.mark.parametrize("playbook", named_rows({name: name for name in ASKING}, {"explain_node"}))
def test_what_a_node_answers_is_never_code(poisoned: Path, tmp_path: Path, playbook: str) -> None:
    given = {"gaudi_upgrade_node": HOSTILE} if playbook == "explain_node" else {}
    _ended, said = play(tmp_path / "run", playbook, **given)
    assert HOSTILE in said
    assert not poisoned.exists()
    assert "\033" not in said
    if playbook == "explain_node":
        # It was read as what it is: this node's firmware, which no other node has.
        assert str(poisoned) in said
