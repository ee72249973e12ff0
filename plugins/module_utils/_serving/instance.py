# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An instance as an operator describes it: one server, of one model, on some cards of one node. Values and refusals."""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._errors import GaudiError
from .._model.names import check_name as check_model_name
from .._model.names import is_version
from .._node.listening import check_port
from .flags import check_environment, check_flags

OPTION = "instances"
LOOPBACK = "127.0.0.1"
# Part of a unit's name, of a file's, and of a server's in the proxy.
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
MOST_LENGTH, MOST_SEQUENCES = 1 << 24, 1 << 16
# Beyond any node's cards.
MOST_MODULE = 255
# Ansible's argument_spec of one.
INSTANCE_OPTIONS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "model": {"type": "str", "required": True},
    "cards": {"type": "int", "default": 0},
    "modules": {"type": "list", "elements": "int", "default": []},
    "port": {"type": "int", "required": True},
    "address": {"type": "str", "default": LOOPBACK},
    "max_model_len": {"type": "int", "default": 0},
    "max_num_seqs": {"type": "int", "default": 0},
    "skip_warm_up": {"type": "bool", "default": False},
    "flags": {"type": "dict", "default": {}},
    "environment": {"type": "dict", "default": {}},
}


@dataclass(frozen=True)
class Model:
    """What is served, as it was written: ``name`` and ``version`` (or an alias) of the registry, or a ``directory``."""

    name: str = ""
    version: str = ""
    directory: str = ""

    @property
    def served_name(self) -> str:
        """What clients call it: the same for all versions, so that a change of version changes no client."""
        return self.name or posixpath.basename(self.directory)


@dataclass(frozen=True)
class Instance:
    """``modules``, where they are named, or ``cards``, of which the node chooses the modules.

    ``max_model_len`` 0: what the model can; ``max_num_seqs`` 0: what fits. ``flags`` are options of the engine by their
    names without dashes before them, ``environment`` its variables.
    """

    name: str
    model: Model
    port: int
    cards: int = 0
    modules: tuple[int, ...] = ()
    address: str = LOOPBACK
    max_model_len: int = 0
    max_num_seqs: int = 0
    skip_warm_up: bool = False
    flags: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Cards, among which the model is split."""
        return len(self.modules) or self.cards

    @property
    def is_local(self) -> bool:
        return ipaddress.ip_address(self.address).is_loopback


def parse_instances(given: Sequence[Mapping[str, Any]]) -> tuple[Instance, ...]:
    """Those of a node, in their order; GaudiError for the first that cannot be meant."""
    found = tuple(map(parse_instance, given))
    for number, one in enumerate(found):
        for other in found[:number]:
            _check_apart(one, other)
    return found


def parse_instance(given: Mapping[str, Any]) -> Instance:
    """One, whose types Ansible has made right; GaudiError for what cannot be meant."""
    name = str(given.get("name", ""))
    if not NAME.fullmatch(name):
        raise GaudiError(
            f"{OPTION}: {name[:80]!r} is not a valid name; use 1 to 40 lower-case letters, digits and dashes, "
            "beginning and ending with a letter or a digit, such as chat-1."
        )
    place = f"{OPTION}: {name}"
    modules = tuple(given.get("modules") or ())
    cards = int(given.get("cards") or 0)
    _check_cards(place, cards, modules)
    for option, most in (("max_model_len", MOST_LENGTH), ("max_num_seqs", MOST_SEQUENCES)):
        if not 0 <= int(given.get(option) or 0) <= most:
            raise GaudiError(f"{place}: {option} is {given[option]}; give a number from 1 to {most}, or leave it out.")
    address = str(given.get("address") or LOOPBACK)
    _check_address(place, address)
    port = int(given["port"])
    check_port(f"{place}: port", port)
    skips = bool(given.get("skip_warm_up"))
    flags = check_flags(place, given.get("flags") or {})
    environment = check_environment(place, given.get("environment") or {}, skips_warm_up=skips)
    return Instance(
        name=name,
        model=parse_model(place, str(given.get("model", ""))),
        port=port,
        cards=cards,
        modules=modules,
        address=address,
        max_model_len=int(given.get("max_model_len") or 0),
        max_num_seqs=int(given.get("max_num_seqs") or 0),
        skip_warm_up=skips,
        flags=flags,
        environment=environment,
    )


def parse_model(place: str, text: str) -> Model:
    """``NAME@ALIAS``, ``NAME@VERSION`` or the absolute path of an exported directory."""
    if text.startswith("/"):
        if posixpath.normpath(text) != text or text == "/":
            raise GaudiError(f"{place}: model is {text[:200]!r}; give a plain absolute path.")
        return Model(directory=text)
    name, at, version = text.partition("@")
    if not at or not version:
        raise GaudiError(
            f"{place}: model is {text[:80]!r}; give NAME@ALIAS or NAME@VERSION of the registry, such as "
            "llama-support@production, or the absolute path of an exported directory."
        )
    check_model_name(f"{place}: model", name)
    if not is_version(version):
        check_model_name(f"{place}: model", version)
    return Model(name, version)


def _check_cards(place: str, cards: int, modules: tuple[int, ...]) -> None:
    if cards and modules and cards != len(modules):
        raise GaudiError(f"{place}: cards is {cards} and modules names {len(modules)}; give one of the two.")
    if not cards and not modules:
        raise GaudiError(f"{place}: neither cards nor modules is given; say how many cards it gets, such as cards: 1.")
    strange = [number for number in (cards, *modules) if not 0 <= number <= MOST_MODULE]
    if strange:
        raise GaudiError(f"{place}: cards and modules are numbers from 0 to {MOST_MODULE}, and not {strange[0]}.")
    if len(set(modules)) != len(modules):
        raise GaudiError(f"{place}: modules names a card twice; name each once.")


def _check_address(place: str, address: str) -> None:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        raise GaudiError(
            f"{place}: address is {address!r:.80}, which is not an address; give one of this node's."
        ) from None
    if found.is_unspecified:
        raise GaudiError(f"{place}: address is {address}, which is every network of the node; give one address.")


def _check_apart(one: Instance, other: Instance) -> None:
    if one.name == other.name:
        raise GaudiError(f"{OPTION}: {one.name} is described twice; give each a name of its own.")
    if one.port == other.port:
        raise GaudiError(f"{OPTION}: {one.name} and {other.name} both have port {one.port}; give each its own.")
    both = sorted(set(one.modules) & set(other.modules))
    if both:
        raise GaudiError(f"{OPTION}: {one.name} and {other.name} both have module {both[0]}; give each its own cards.")
