# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node has of instances: where each lies, and its control file, which others read to find it."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .._job.description import whole_numbers
from .._node.instances import INSTANCES
from .._node.json_file import read_json
from .instance import NAME

CONTROL = INSTANCES
STATE = "/var/lib/gaudi3_scale/serving"
ACCOUNT = "gaudi-serving"
UNIT_START, UNIT_END = "gaudi3-scale-serving-", ".service"
UNITS = f"{UNIT_START}*{UNIT_END}"


@dataclass(frozen=True)
class ServingPaths:
    """Where an instance of this name lives on a node."""

    name: str
    control_directory: str = CONTROL
    state: str = STATE
    unit_directory: str = "/etc/systemd/system"

    @property
    def unit(self) -> str:
        return f"{UNIT_START}{self.name}{UNIT_END}"

    @property
    def unit_file(self) -> str:
        return f"{self.unit_directory}/{self.unit}"

    @property
    def control(self) -> str:
        """Root's, and readable by all: no secret is in it."""
        return f"{self.control_directory}/{self.name}.json"

    @property
    def environment(self) -> str:
        """Root's alone: what the operator gives may be a secret."""
        return f"{self.control_directory}/{self.name}.environment"

    @property
    def key(self) -> str:
        """Root's alone: the key as a variable, which systemd hands to the engine."""
        return f"{self.control_directory}/{self.name}.key"

    @property
    def certificate(self) -> str:
        """What the server shows."""
        return f"{self.control_directory}/{self.name}.certificate.pem"

    @property
    def private_key(self) -> str:
        """Root's, and readable to the engine's group."""
        return f"{self.control_directory}/{self.name}.certificate_key.pem"

    @property
    def home(self) -> str:
        """What the engine may write."""
        return f"{self.state}/instances/{self.name}"

    @property
    def models(self) -> str:
        """Copies of models, by their versions; root's, read-only to the engine."""
        return f"{self.state}/models"

    @property
    def recipes(self) -> str:
        """Compiled recipes, by what they were compiled for."""
        return f"{self.state}/recipes"

    @property
    def programs(self) -> str:
        """Programs of ours that a unit starts, by their digests."""
        return f"{self.state}/programs"


@dataclass(frozen=True)
class Control:
    """An instance as it was set up. ``model`` is its directory, ``version`` its record's digest; "": it has none.

    ``certificate`` is the file that clients trust; "": it answers without TLS. ``key_file`` "": without a key.
    ``runtime`` is the virtual environment or the image's reference, ``dtype`` what it computes with; "": vLLM chooses.
    """

    name: str
    address: str
    port: int
    served_name: str
    model: str
    version: str
    modules: tuple[int, ...]
    engine: str
    unit: str
    key_file: str = ""
    certificate: str = ""
    runtime: str = ""
    dtype: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def read_control(paths: ServingPaths) -> Control | None:
    """None where there is none."""
    found = read_json(paths.control)
    return None if found is None else _control(paths, found)


def _control(paths: ServingPaths, found: Mapping[str, Any]) -> Control:
    words = {name: found[name] for name in Control.__dataclass_fields__ if isinstance(found.get(name), str)}
    limits = found.get("limits")
    port = found.get("port")
    return Control(
        **{
            **dict.fromkeys(("address", "served_name", "model", "version", "engine"), ""),
            **words,
            "name": paths.name,
            "unit": paths.unit,
            "port": port if isinstance(port, int) else 0,
            "modules": whole_numbers(found.get("modules")),
            "limits": limits if isinstance(limits, dict) else {},
        }
    )


def known_instances(control_directory: str = CONTROL) -> list[Control]:
    """Those that are set up on this node, by their names."""
    names = [path.stem for path in sorted(Path(control_directory).glob("*.json")) if NAME.fullmatch(path.stem)]
    return [one for name in names if (one := read_control(ServingPaths(name, control_directory)))]


def reachable(address: str) -> str:
    """Where an instance that listens on all addresses is met from its own node."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if not found.is_unspecified:
        return address
    return "127.0.0.1" if found.version == 4 else "::1"
