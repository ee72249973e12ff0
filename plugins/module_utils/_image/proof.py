# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An image proves itself: two ranks in a container of it add up a vector, on the CPU or on two cards."""

from __future__ import annotations

import json
from typing import Any, Sequence

from .._errors import GaudiError
from .._node.commands import CommandResult, last_line
from .._node.json_file import parse_json
from .engine import BUILDAH, CLOSED, PODMAN

RANKS = 2
TIMEOUT_S = 600
_MARK = "gaudi3_scale_proof "
# The bridge is not loaded along with PyTorch where there are no cards.
_ALONE = ("--env", "TORCH_DEVICE_BACKEND_AUTOLOAD=0", "--env", "GLOO_SOCKET_IFNAME=lo")

# Nothing of this collection is in the image, so the program comes as a word. It starts processes before PyTorch is
# loaded, so that each opens its own card.
PROGRAM = f"""
import json, multiprocessing, os, socket, sys
DEVICE = {{device!r}}
def rank(number, port, answers):
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE="{RANKS}", LOCAL_WORLD_SIZE="{RANKS}")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    try:
        import torch
        import torch.distributed as dist
        if DEVICE == "hpu":
            import habana_frameworks.torch.core, habana_frameworks.torch.distributed.hccl
        dist.init_process_group("hccl" if DEVICE == "hpu" else "gloo", rank=number, world_size={RANKS})
        vector = torch.full((1024,), float(number + 1), device=DEVICE)
        dist.all_reduce(vector)
        answers.put((number, float(vector.sum()), str(torch.__version__), ""))
        dist.destroy_process_group()
    except BaseException as error:
        answers.put((number, 0.0, "", f"{{{{type(error).__name__}}}}: {{{{error}}}}"))
if __name__ == "__main__":
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    ranks = [fork.Process(target=rank, args=(number, port, answers)) for number in range({RANKS})]
    for process in ranks:
        process.start()
    said = sorted(answers.get(timeout=300) for _rank in ranks)
    for process in ranks:
        process.join(60)
        process.kill()
    print({_MARK!r} + json.dumps(said))
"""


def program(device: str) -> str:
    """The program's text."""
    return PROGRAM.format(device=device)


def words(device: str, engine: str) -> list[str]:
    """The engine's arguments. On the CPU the container has no network but its own loopback, and no right of root's."""
    if engine == BUILDAH:
        return [*CLOSED, *_ALONE]
    if device == "hpu":
        # With a network of its own, the vendor's hook would take the cards' external ports for the container.
        shared = ["--runtime", "habana", "--network", "host", "--ipc", "host", "--ulimit", "memlock=-1:-1"]
        return [*shared, "--cap-add", "sys_nice", "--env", "HABANA_VISIBLE_DEVICES=all"]
    return [*CLOSED, "--cap-drop", "all", "--security-opt", "no-new-privileges", "--shm-size", "256m", *_ALONE]


def refuse_device(device: str, engine: str, has_cards: bool) -> None:
    """Raise :class:`GaudiError` where this host cannot test on that device."""
    if device != "hpu":
        return
    if not has_cards:
        raise GaudiError(
            "device (gaudi_device) is hpu, and the build host has no card to test the image with; set gaudi_device to "
            "cpu for this run, or build on a node.",
            option="device",
        )
    if engine != PODMAN:
        raise GaudiError(
            "device (gaudi_device) is hpu, and buildah starts no container with the vendor's runtime; install the "
            "package podman on the build host, or set gaudi_device to cpu for this run.",
            option="device",
        )


def judge(device: str, torch: str, result: CommandResult) -> dict[str, Any]:
    """What the ranks found. Raises :class:`GaudiError` where they did not add up, or loaded another PyTorch."""
    marked = [line for line in result.stdout.splitlines() if line.startswith(_MARK)]
    if result.rc == 124:
        raise GaudiError(
            f"The all-reduce of {RANKS} ranks on {device} in the image did not end within {TIMEOUT_S} s; the image "
            "was not pushed."
        )
    if result.rc or not marked:
        raise GaudiError(
            f"The all-reduce of {RANKS} ranks on {device} in the image failed: {last_line(result.stderr)}; the image "
            "was not pushed.",
            rc=result.rc,
        )
    ranks = _ranks(marked[-1][len(_MARK) :])
    for number, total, version, error in ranks:
        wanted = 1024.0 * sum(range(1, RANKS + 1))
        if error:
            raise GaudiError(
                f"Rank {number} of the all-reduce on {device} in the image failed: {error}; the image was not pushed."
            )
        if version != torch:
            raise GaudiError(
                f"Python in the image loads PyTorch {version}, and its packages name {torch}; the image was not "
                "pushed.",
                loaded=version,
                installed=torch,
            )
        if total != wanted:
            raise GaudiError(
                f"The all-reduce on {device} in the image adds up to {total:g} on rank {number}, and {wanted:g} is "
                "right; the image was not pushed."
            )
    return {"device": device, "ranks": len(ranks), "torch": torch}


def _ranks(text: str) -> Sequence[tuple[int, float, str, str]]:
    try:
        rows = parse_json(text)
        found = [(int(row[0]), float(row[1]), str(row[2]), str(row[3])) for row in rows]
    except (ValueError, TypeError, IndexError, KeyError):
        found = []
    if len(found) != RANKS:
        raise GaudiError(f"The ranks in the image answered {json.dumps(text)[:80]}; the image was not pushed.")
    return found
