# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an operator asks of the proxy, and what of it cannot be meant."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .._errors import GaudiError
from .._node.listening import check_port
from .proxy import NAME, Places, Server

PRESENT, ABSENT, DRAINED, READY = "present", "absent", "drained", "ready"
STATES = (PRESENT, ABSENT, DRAINED, READY)
# As inventories name hosts: no path, and no option of a command.
HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,252}")
# Ansible's argument_spec of an instance: a row of what model_serving returns, and its node.
INSTANCE_OPTIONS: dict[str, dict[str, Any]] = {
    "node": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "url": {"type": "str", "required": True},
    "served_name": {"type": "str", "required": True},
    "max_num_seqs": {"type": "int", "required": True},
    "max_model_len": {"type": "int", "default": 0},
    "certificate": {"type": "str", "default": ""},
    "admitted": {"type": "bool", "default": False},
}


@dataclass(frozen=True)
class ProxyOptions:
    """``host`` is this one's name in the inventory. ``keep_nodes`` are nodes that said nothing in this run, whose
    instances stay as they are. ``name`` is NODE:INSTANCE, for the states drained and ready."""

    state: str = PRESENT
    host: str = ""
    address: str = "127.0.0.1"
    port: int = 8080
    instances: tuple[Server, ...] = ()
    keep_nodes: tuple[str, ...] = ()
    key_file: str = ""
    certificate: str = ""
    certificate_key: str = ""
    timeout: int = 1800
    health_timeout: int = 30
    name: str = ""
    wait: int = 20
    places: Places = field(default_factory=Places)
    unit_directory: str = "/etc/systemd/system"


def parse_servers(given: Sequence[Mapping[str, Any]], host: str) -> tuple[Server, ...]:
    """Those in the list; GaudiError for the first that cannot be reached from ``host``, or stands there twice."""
    servers = tuple(_server(one, host) for one in given)
    names = [one.name for one in servers]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise GaudiError(f"instances has {twice[0]} twice; name each instance of a node once.")
    return servers


def _server(given: Mapping[str, Any], host: str) -> Server:
    name = f"{given['node']}:{given['name']}"
    if not NAME.fullmatch(name):
        raise GaudiError(
            f"instances: {name[:120]!r} is not a name that the proxy can have; use letters, digits and dashes."
        )
    parts = urlsplit(str(given["url"]))
    try:
        port, address = parts.port or 0, parts.hostname or ""
    except ValueError:
        port, address = 0, ""
    if parts.scheme not in ("http", "https") or not address or not port:
        raise GaudiError(f"instances: {name}: url is {given['url']!r:.80}; give such as http://10.0.0.11:8000.")
    if _is_loopback(address) and given["node"] != host:
        raise GaudiError(
            f"instances: {name} answers at {address}, and the proxy runs on {host}; give the instance an address of "
            "its node, or run the proxy there."
        )
    certificate = str(given.get("certificate") or "")
    if (parts.scheme == "https") != bool(certificate):
        raise GaudiError(f"instances: {name}: an https URL and a certificate belong together; give both, or neither.")
    model = str(given["served_name"])
    if not model.isprintable() or not model:
        raise GaudiError(f"instances: {name}: served_name is {model!r:.80}; give the model's name.")
    return Server(
        name=name,
        model=model,
        address=address,
        port=port,
        max_num_seqs=int(given["max_num_seqs"]),
        max_model_len=int(given.get("max_model_len") or 0),
        certificate=certificate,
        admitted=bool(given.get("admitted")),
    )


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _check_names(options: ProxyOptions) -> None:
    if options.host and not HOST.fullmatch(options.host):
        raise GaudiError(f"host is {options.host!r:.80}; give this host's name in the inventory.")
    if options.name and not NAME.fullmatch(options.name):
        raise GaudiError(f"name is {options.name!r:.80}; give an instance as NODE:INSTANCE.")


def check_options(options: ProxyOptions) -> None:
    """GaudiError for what cannot be meant, before anything is looked at."""
    _check_names(options)
    if options.state in (DRAINED, READY):
        if not options.name:
            raise GaudiError(f"state is {options.state}, and name is empty; give the instance as NODE:INSTANCE.")
        return
    if options.state == ABSENT:
        return
    check_port("port", options.port)
    try:
        is_local = ipaddress.ip_address(options.address).is_loopback
    except ValueError:
        raise GaudiError(
            f"address is {options.address!r:.60}; give an address of this host, such as 10.0.0.2."
        ) from None
    if bool(options.certificate) != bool(options.certificate_key):
        raise GaudiError("certificate and certificate_key belong together; give both, or neither.")
    if not is_local and not (options.certificate and options.key_file):
        raise GaudiError(
            f"the proxy would answer at {options.address}, where everyone in the network could ask it; give key_file, "
            "certificate and certificate_key, or 127.0.0.1 as address."
        )
    for name in ("timeout", "health_timeout"):
        if not 1 <= getattr(options, name) <= 86400:
            raise GaudiError(f"{name} is {getattr(options, name)}; give seconds from 1 to 86400.")
