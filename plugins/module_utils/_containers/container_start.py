# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Containers that count the node's cards: which are started, by which command, and what their counts mean. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._cards.hl_smi import parse_query
from .._errors import GaudiError
from .._node.commands import CommandResult, last_line
from .cdi import ALL, KIND
from .engines import CONTAINERD, DOCKER, PODMAN, RUNTIME

NAME = "gaudi3-scale-check"
# Made on the node, of nothing but directories: no registry is needed.
OWN_IMAGE = "gaudi3-scale-check:latest"

# How the cards get into the container.
BY_RUNTIME, BY_CDI = "runtime", "cdi"
_WAYS = {
    BY_RUNTIME: ("--runtime", RUNTIME, "--env", "HABANA_VISIBLE_DEVICES=all"),
    BY_CDI: ("--device", f"{KIND}={ALL}"),
}
_REMEDIES = {
    BY_RUNTIME: "see /var/log/habana-container-runtime.log and /etc/habana-container-runtime/config.toml",
    BY_CDI: "compare /etc/cdi/gaudi3-scale.json with /dev/accel",
}
# The vendor's runtime writes why it added no card into an environment variable of the container.
_COUNT = 'echo "$HABANA_RUNTIME_ERROR" >&2; exec hl-smi -Q bus_id -f csv'
COUNT_ON_NODE = ("hl-smi", "-Q", "bus_id", "-f", "csv")

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@-]*")


@dataclass(frozen=True)
class StartOptions:
    """The operator's wishes; see the options of the module ``hpu_container_check``."""

    engines: tuple[str, ...]
    cdi: bool = False
    image: str = ""
    mounts: tuple[str, ...] = ()
    seconds: float = 120


@dataclass(frozen=True)
class Start:
    """One container: its engine, how the cards get in, and the command."""

    engine: str
    way: str
    argv: tuple[str, ...]

    @property
    def means(self) -> str:
        """How the cards get in, in words."""
        return f"the runtime {RUNTIME}" if self.way == BY_RUNTIME else f"--device {KIND}={ALL}"


def refuse_bad_options(options: StartOptions) -> None:
    """Raise :class:`GaudiError` for what no engine could take."""
    if options.image and not _IMAGE.fullmatch(options.image):
        raise GaudiError(
            f"image: {options.image!r} is not the name of a container image; give it as registry/name:tag."
        )
    for mount in options.mounts:
        if not mount.startswith("/") or set(mount) & set(":,"):
            raise GaudiError(
                f"mounts: {mount!r} is not an absolute path without ':' and ','; give the directory's path."
            )
    if options.seconds <= 0:
        raise GaudiError(f"seconds: {options.seconds} is too short; give at least 1.")


def starts(options: StartOptions, ways: Mapping[str, Sequence[str]], mounts: Sequence[str]) -> list[Start]:
    """A container for each engine in ``ways`` and each way that it has; ``mounts`` go into our own image."""
    return [Start(engine, way, _argv(engine, way, options, mounts)) for engine in ways for way in ways[engine]]


def _argv(engine: str, way: str, options: StartOptions, mounts: Sequence[str]) -> tuple[str, ...]:
    volumes = [f"--volume={path}:{path}:ro" for path in ([] if options.image else [*mounts, *options.mounts])]
    return (
        engine, "run", "--rm", "--name", NAME,
        # With a network of its own, the vendor's hook would take the cards' external ports for the container
        # (netdevices.go): those of a training that runs.
        "--network", "host",
        # /usr of the node may not be labeled anew for a container.
        "--security-opt", "label=disable",
        *_WAYS[way], *volumes,
        "--entrypoint", "/bin/sh", options.image or OWN_IMAGE, "-c", _COUNT,
    )  # fmt: skip


def not_started(engine: str) -> str | None:
    """Why no container of this engine is started; None for those that take one command."""
    if engine == CONTAINERD:
        return "Kubernetes starts containerd's containers, so none was started here; try a pod with habana.ai/gaudi."
    return None if engine in (DOCKER, PODMAN) else f"{engine} is not known."


def addresses(text: str) -> frozenset[str]:
    """The PCI addresses of the cards in what hl-smi printed."""
    cells = (str(row["bus_id"]).lower() for row in parse_query(text))
    return frozenset(cell for cell in cells if _ADDRESS.fullmatch(cell))


def complaint(start: Start, result: CommandResult, node: frozenset[str], seconds: float) -> str | None:
    """What is wrong with a container that ended with ``result``, as a sentence; None where it saw the node's cards."""
    seen = addresses(result.stdout)
    if seen == node:
        return None
    if result.rc == 124:
        return f"{start.engine} with {start.means} did not finish within {seconds:g} s; see `{start.engine} info`."
    reason = last_line(result.stderr, "it printed nothing")
    if not seen and result.rc in (125, 126, 127):
        return f"{start.engine} cannot start a container with {start.means} ({reason}); {_REMEDIES[start.way]}."
    missing = ", ".join(sorted(node - seen))
    lacks = f" ({missing} {'is' if len(node - seen) == 1 else 'are'} missing)" if missing else ""
    said = f", and said {reason!r}" if result.stderr.strip() else ""
    return (
        f"hl-smi in a container of {start.engine} with {start.means} sees {len(seen)} of {len(node)} cards"
        f"{lacks}{said}; {_REMEDIES[start.way]}."
    )
