# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards as a specification of the Container Device Interface (CDI), made from sysfs.

The vendor's toolkit (1.24.0) switches CDI on in an engine's file and makes no specification: in its sources, those of
HabanaAI/gaudi-container-runtime, it has ``runtime configure`` and ``config``, and no kind is named there. Ours is the
name under which the vendor's device plugin offers the cards to Kubernetes.
Format: SPEC.md of cncf-tags/container-device-interface. 0.5.0 is the first version with names that begin with a digit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._cards.accel_sysfs import accel_devices
from .._cards.device_nodes import node_paths
from .._errors import GaudiError
from .._node.rendered_files import read_text

KIND = "habana.ai/gaudi"
ALL = "all"
# Where every engine looks without being told, and our file there.
DIRECTORY = "/etc/cdi"
FILE = "cdi/gaudi3-scale.json"

_CDI_VERSION = "0.5.0"
_KIND_IN_TEXT = re.compile(r"""\bkind["']?\s*:\s*["']?habana\.ai/gaudi(?![\w./-])""")


@dataclass(frozen=True)
class CardNodes:
    """A card's accel index and its device nodes, as programs know them: ``/dev/accel/accel0``."""

    index: int
    paths: tuple[str, ...]


def card_nodes(kernel_root: str = "/") -> tuple[CardNodes, ...]:
    """The cards that the driver has, by index, with those of their nodes that are there."""
    cards = sorted(accel_devices(kernel_root), key=lambda device: device.index)
    return tuple(CardNodes(card.index, node_paths(kernel_root, card.index, card.pci_address)) for card in cards)


def device_names(cards: Sequence[CardNodes]) -> list[str]:
    """What ``--device`` takes: each card by its index, and all of them."""
    return [f"{KIND}={name}" for name in (*(card.index for card in cards), ALL)] if cards else []


def specification(cards: Sequence[CardNodes], kernel_root: str = "/") -> str | None:
    """The text of the specification; None without cards, since a specification has to have devices."""
    if not cards:
        return None
    every = [path for card in cards for path in card.paths]
    devices = [*((str(card.index), card.paths) for card in cards), (ALL, every)]
    content = {
        "cdiVersion": _CDI_VERSION,
        "kind": KIND,
        "devices": [{"name": name, "containerEdits": _edits(paths, kernel_root)} for name, paths in devices],
    }
    return json.dumps(content, indent=2) + "\n"


def _edits(paths: Iterable[str], kernel_root: str) -> dict[str, object]:
    """Device nodes, which the node has where its kernel's /dev is."""
    nodes = []
    for path in paths:
        here = str(Path(kernel_root, path[1:]))
        nodes.append({"path": path} if here == path else {"path": path, "hostPath": here})
    return {"deviceNodes": nodes}


def refuse_foreign(directories: Iterable[str], own: str) -> None:
    """Raise :class:`GaudiError` where another file describes devices of our kind: an engine would refuse both."""
    for directory in directories:
        for path in sorted(Path(directory).glob("*")):
            if path.suffix in (".json", ".yaml", ".yml") and str(path) != own and _is_of_our_kind(str(path)):
                raise GaudiError(
                    f"{path} describes devices of the kind {KIND} already and was not written by gaudi3.scale; remove "
                    "it, or set gaudi_containers_cdi to false.",
                    file=str(path),
                )


def _is_of_our_kind(path: str) -> bool:
    return _KIND_IN_TEXT.search(read_text(path) or "") is not None
