# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whom the load is for: an instance of this node by its name, or a server by its address."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ..._errors import GaudiError
from ..._node.json_file import read_json
from ..asking import read_key
from ..control import CONTROL, ServingPaths, known_instances, reachable, read_control
from ..instance import NAME


@dataclass(frozen=True)
class Target:
    """``model`` is the served name, "" for the server's first. ``certificate`` is what its own is held against;
    ``is_pinned``: that one and no other, by whatever name it is reached. ``seats`` are the requests that it computes at
    the same time. Of what is not known, 0."""

    host: str
    port: int
    model: str = ""
    key: str = field(default="", repr=False)
    certificate: str = ""
    has_tls: bool = False
    is_pinned: bool = False
    max_tokens: int = 0
    vocabulary: int = 0
    seats: int = 0

    @property
    def authority(self) -> str:
        """As in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def context(self) -> ssl.SSLContext | None:
        """What verifies the server, if it speaks TLS. Raises GaudiError."""
        if not self.has_tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.certificate or None)
        except (OSError, ssl.SSLError) as error:
            raise GaudiError(f"certificate: {self.certificate} cannot be read as a certificate: {error}.") from error
        if self.is_pinned:
            context.check_hostname = False
        return context


def instance_target(name: str, directory: str = CONTROL) -> Target:
    """The instance ``name`` as its role wrote it down. Raises GaudiError."""
    found = read_control(ServingPaths(name, directory)) if NAME.fullmatch(name) else None
    if found is None:
        known = [one.name for one in known_instances(directory)]
        there = f"those of this node: {', '.join(known)}" if known else "this node has none; serving.yml starts one"
        raise GaudiError(f"name: {name} is no instance; {there}.", instances=known)
    return Target(
        host=reachable(found.address),
        port=found.port,
        model=found.served_name,
        key=read_key(found.key_file) if found.key_file else "",
        certificate=found.certificate,
        has_tls=bool(found.certificate),
        is_pinned=bool(found.certificate),
        max_tokens=found.limits.get("max_model_len", 0),
        vocabulary=_vocabulary(found.model),
        seats=found.limits.get("max_num_seqs", 0),
    )


def only_instance(directory: str = CONTROL) -> str:
    """The name of the node's one instance. Raises GaudiError where it has none or several."""
    known = [one.name for one in known_instances(directory)]
    if len(known) != 1:
        has = f"has {', '.join(known)}" if known else "has no instance"
        raise GaudiError(f"name is empty, and this node {has}; name one of its instances, or a server in url.")
    return known[0]


def url_target(url: str, model: str, key_file: str, certificate: str) -> Target:
    """A server that the operator names. Raises GaudiError."""
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (KeyError, ValueError):
        port = 0
    if not parts.hostname or not port or parts.path.strip("/") or parts.query or parts.username:
        raise GaudiError(f"url is {url!r}; give scheme, host and port alone, such as https://serving.example.org:8443.")
    return Target(
        parts.hostname, port, model, read_key(key_file) if key_file else "", certificate, parts.scheme == "https"
    )


def _vocabulary(directory: str) -> int:
    config = read_json(str(Path(directory, "config.json"))) if directory else None
    size = (config or {}).get("vocab_size")
    return size if isinstance(size, int) else 0
