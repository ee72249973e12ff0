# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One supervised job on the scenario's nodes: launched as a user does, looked at past SSH, and harmed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from gaudi3_scale.core._node.process_tree import descendants
from sandbox import cluster
from sandbox.nodes import in_node, wait_for_ssh
from tests.sandbox_nodes import INVENTORY, ROOT, SANDBOX
from tests.whole_lines import whole_lines

HOSTS, SPARE = ["node1", "node2", "node3"], "node4"
NODES = [*HOSTS, SPARE]
TRAINEE = "/var/tmp/trainee.py"
KERNEL = "/var/lib/gaudi_simulator/kernel"
# Lines of a program whose ranks open the device of the module that each was given, as the vendor's bridge does.
OPENS_ITS_CARD = f"""
import glob, os
module = os.environ["HABANA_VISIBLE_MODULES"].split(",")[int(os.environ["LOCAL_RANK"])]
files = glob.glob("{KERNEL}/sys/class/accel/accel*/device/module_id")
(device,) = [path.split("/")[-3] for path in files if open(path).read().strip() == module]
card = open("{KERNEL}/dev/accel/" + device, "rb")
"""
# Of a rank all must be gone so soon after another one died.
GONE_S = 30.0
# Under load of other tests an import of torch alone can take minutes; a test that is to fail waits for nothing else.
PATIENCE_S = 600.0
# Ansible's way to this checkout.
COLLECTIONS = ROOT / ".collections"
Found = TypeVar("Found")


def shell(node: str, script: str) -> str:
    """What a shell in the node prints, whether or not it can be reached over the network."""
    return in_node(cluster.find_node(cluster.load(SANDBOX), node), "sh", "-c", script)


def podman(*arguments: str) -> None:
    subprocess.run(["podman", *arguments], check=True, capture_output=True)


def stop_node(node: str) -> None:
    """As when its power fails."""
    podman("kill", f"{SANDBOX}-{node}")
    podman("stop", "--time", "0", f"{SANDBOX}-{node}")


def start_node(node: str) -> None:
    """Returns when Ansible reaches it: it has another hardware address, which takes seconds to get around."""
    podman("start", f"{SANDBOX}-{node}")
    wait_for_ssh((cluster.find_node(cluster.load(SANDBOX), node),))


def variables(name: str, **changes: Any) -> dict[str, Any]:
    """The job of most tests: far more steps than any of them waits for."""
    return {
        "gaudi_training_name": name,
        "gaudi_training_hosts": HOSTS,
        "gaudi_training_spares": [SPARE],
        "gaudi_training_processes_per_node": 1,
        "gaudi_training_command": [TRAINEE, "5000", "0.2"],
        "gaudi_training_stop_timeout": 20,
        "gaudi_training_follow": False,
        "gaudi_training_follow_interval": 1,
        **changes,
    }


def launching(
    directory: Path, playbook: str = "launch_training", collections: Path = COLLECTIONS, **extra: Any
) -> subprocess.Popen[str]:
    """``ansible-playbook``, on its way; what it says goes to ``screen`` in ``directory``.

    ``playbook`` is one of the collection, or a file's path. The collection is the one below ``collections``.
    """
    directory.mkdir(exist_ok=True)
    chosen = directory / "variables.json"
    chosen.write_text(json.dumps({"gaudi_report_target": str(directory / "reports"), **extra}), encoding="utf-8")
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_CONFIG": str(collections / "ansible_collections" / "gaudi3" / "scale" / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "GAUDI_SANDBOX": SANDBOX,
    }
    name = playbook if playbook.endswith(".yml") else f"gaudi3.scale.{playbook}"
    command = ["ansible-playbook", "-i", str(INVENTORY), name, "-e", f"@{chosen}"]
    with (directory / "screen").open("w", encoding="utf-8") as stream:
        # A session of its own, so that its forks can be killed with it.
        return subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
        )


def signal_all(controller: subprocess.Popen[str], number: int) -> None:
    """The playbook and its workers, which have sessions of their own (ansible-core 2.19), get the signal."""
    workers = descendants(controller.pid)
    for process in (controller.pid, *workers):
        with suppress(ProcessLookupError):
            os.kill(process, number)


def kill(controller: subprocess.Popen[str]) -> None:
    """As when the controller loses its power."""
    signal_all(controller, signal.SIGKILL)
    controller.wait()


def screen(directory: Path) -> str:
    return (directory / "screen").read_text(encoding="utf-8")


def play(directory: Path, playbook: str = "launch_training", **extra: Any) -> tuple[int, str]:
    """A whole run: its exit status, and what was on the screen."""
    status = launching(directory, playbook, **extra).wait(timeout=PATIENCE_S)
    return status, screen(directory)


def status(node: str, name: str) -> dict[str, Any]:
    """What the node's supervisor says of the job; empty before it says anything."""
    text = shell(node, f"cat /var/lib/gaudi3_scale/jobs/{name}/status.json 2>/dev/null || true")
    return json.loads(text) if text else {}


def lines(node: str, name: str, file: str = "metrics.jsonl") -> list[dict[str, Any]]:
    text = shell(node, f"cat /var/log/gaudi3_scale/jobs/{name}/{file} 2>/dev/null || true")
    return whole_lines(text)


def steps(node: str, name: str) -> list[tuple[int, float]]:
    """(step, loss) in the order in which rank 0 wrote them while it ran on this node."""
    return [(line["step"], line["loss"]) for line in lines(node, name) if line["kind"] == "step"]


def processes(node: str, name: str) -> dict[int, str]:
    """The processes of the job but its supervisor, wherever they went: agents, ranks, and what these have started."""
    script = (
        f"for id in $(grep -lz '^GAUDI3_SCALE_JOB={name}$' /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3); do"
        # echo would make a new line of what a command has as \n.
        """ printf '%s %s\\n' "$id" "$(tr '\\0\\n' '  ' < /proc/$id/cmdline)"; done"""
    )
    found = {int(line.split()[0]): line.partition(" ")[2] for line in shell(node, script).splitlines()}
    # Of the supervisor, its packages' modules and files: torchrun and ranks that wait for the next start.
    own = re.compile(r"gaudi3_scale[./]supervisor")
    return {number: command for number, command in found.items() if command and not own.search(command)}


def ranks_of(node: str, name: str, script: str = TRAINEE) -> list[int]:
    """The processes of the node's ranks, which run ``script``."""
    return [number for number, command in processes(node, name).items() if f" -u {script}" in command]


def rank_of(node: str, name: str, script: str = TRAINEE) -> int:
    """The process of the node's one rank."""
    (found,) = ranks_of(node, name, script)
    return found


def wait_for(what: str, is_so: Callable[[], Found], seconds: float = PATIENCE_S, every: float = 0.3) -> Found:
    """Wait until ``is_so()``, which is asked ``every`` so many seconds, is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"{what}: not after {seconds:.0f} s"
        time.sleep(every)
    return found


def wait_for_steps(node: str, name: str, more: int = 7) -> int:
    """Wait until rank 0 on this node has made ``more`` steps than now; returns the last one."""
    before = len(steps(node, name))
    wait_for(f"{more} steps on {node}", lambda: len(steps(node, name)) >= before + more)
    return steps(node, name)[-1][0]


def wait_for_members(members: list[str], name: str, above: int = 0) -> dict[str, Any]:
    """Wait until the first of ``members`` says that they run a generation above ``above``."""

    def found() -> dict[str, Any]:
        reported = status(members[0], name)
        runs = reported.get("state") == "running" and reported["generation"] > above
        return reported if runs and reported["members"] == members else {}

    return wait_for(f"generation above {above} on {members}", found)


@contextmanager
def network_cut(node: str) -> Iterator[None]:
    """The node without its network, which also Ansible takes; it goes on, and podman still reaches into it."""
    interface = shell(node, "ip -o -4 route show default | sed 's/.* dev \\([^ ]*\\).*/\\1/'").strip()
    route = shell(node, "ip -o -4 route show default").strip()
    shell(node, f"ip link set {interface} down")
    try:
        yield
    finally:
        shell(node, f"ip link set {interface} up && (ip route show default | grep -q . || ip route add {route})")
