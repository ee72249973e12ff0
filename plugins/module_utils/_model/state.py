# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A model in its registry as it is wanted: published, verified, copied, and named by an alias."""

from __future__ import annotations

import getpass
import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from .._errors import GaudiError
from .._node.commands import Run
from . import mlflow, registry, signature
from .aliases import Alias, Move, move_alias, moved_meanwhile, read_alias
from .names import check_name, is_whole_version
from .registry import Candidate, Published
from .store import Store

# Root's on the host that publishes, like the signing key of a bundle.
SIGNING_KEY = "/var/lib/gaudi3_scale/model-signing-key.pem"


@dataclass(frozen=True)
class ModelOptions:
    """``path`` publishes what is there, ``version`` is of what is published; one of both. Empty texts say nothing."""

    registry: str
    name: str
    path: str = ""
    version: str = ""
    alias: str = ""
    expected: str = ""
    destination: str = ""
    fingerprint: str = ""
    signing_key: str = SIGNING_KEY
    facts: Mapping[str, Any] = field(default_factory=dict)
    mlflow: str = ""
    mlflow_token_file: str = ""

    def check(self) -> None:
        """GaudiError for what cannot be meant, before anything is read."""
        check_name("name", self.name)
        if self.alias:
            check_name("alias", self.alias)
        if bool(self.path) == bool(self.version):
            raise GaudiError("Set either path, to publish a model, or version, for one that is published.")
        if self.expected and not self.alias:
            raise GaudiError(
                f"expected is {self.expected!r}, and no alias is to be moved; set alias, or remove expected."
            )
        if self.mlflow:
            mlflow.check_alias(self.alias)
        elif self.mlflow_token_file:
            raise GaudiError("mlflow_token_file is set without mlflow; set mlflow to the server's URL, or remove it.")
        if self.fingerprint and not is_whole_version(self.fingerprint):
            raise GaudiError(
                f"fingerprint {self.fingerprint[:80]!r} is not the fingerprint of a key; give the 64 digits that "
                "publish_model.yml showed."
            )


def converge(options: ModelOptions, run: Run, check_mode: bool) -> dict[str, Any]:
    """Do what the options say; returns what is so afterwards. Nothing is changed in check mode."""
    options.check()
    server = mlflow.connect(options.mlflow, options.mlflow_token_file) if options.mlflow else None
    store = registry.open_store(options.registry)
    # Read before the files, which may take minutes: whoever moves the alias meanwhile is not overruled.
    alias = read_alias(store, options.name, options.alias) if options.alias else None
    if options.path:
        candidate = registry.candidate(options.name, options.path, options.facts)
        _require_expected(store, options, alias, candidate.record.version)
        published, is_new = _published(store, candidate, options, run, check_mode)
        facts = published.facts() if published else registry.facts_of(candidate.record)
    else:
        version = registry.find_version(store, options.name, options.version)
        _require_expected(store, options, alias, version)
        published, is_new = registry.verify(store, options.name, version, options.fingerprint, run), False
        facts = published.facts()
    copied = _copied(store, published, options.destination, check_mode) if published else bool(options.destination)
    moved = alias is not None and _moved(store, options.name, alias, facts["version"], check_mode)
    before = alias.version if alias else ""
    told = mlflow.follow(server, store, published, options.alias) if server and published and not check_mode else ""
    changed = {"changed": is_new or copied or moved, "new": is_new, "moved": moved, "alias_before": before}
    return {**facts, **changed, "warnings": [told] if told else []}


def _require_expected(store: Store, options: ModelOptions, alias: Alias | None, version: str) -> None:
    """GaudiError where the alias is neither what it is expected to be nor what it is to be, as after a first run."""
    if alias is None or not options.expected or alias.version == version:
        return
    if registry.expected_version(store, options.name, options.expected) != alias.version:
        raise moved_meanwhile(options.name, alias)


def _published(
    store: Store, candidate: Candidate, options: ModelOptions, run: Run, check_mode: bool
) -> tuple[Published | None, bool]:
    """None where check mode has nothing to show."""
    version = candidate.record.version
    if registry.is_published(store, options.name, version):
        return registry.verify(store, options.name, version, _own_fingerprint(options, run), run), False
    if check_mode:
        return None, True
    signature.ensure_key(options.signing_key, run)
    return registry.publish(store, candidate, options.signing_key, options.fingerprint, run), True


def _own_fingerprint(options: ModelOptions, run: Run) -> str:
    """Of the key that would sign: what somebody else has signed meanwhile is not taken for one's own."""
    if options.fingerprint or not Path(options.signing_key).exists():
        return options.fingerprint
    return signature.fingerprint(signature.public_key(options.signing_key, registry.KEY, run))


def _copied(store: Store, published: Published, destination: str, check_mode: bool) -> bool:
    if not destination or registry.same_there(published, destination):
        return False
    if not check_mode:
        registry.fetch(store, published, destination)
    return True


def _moved(store: Store, name: str, alias: Alias, version: str, check_mode: bool) -> bool:
    if check_mode:
        return alias.version != version
    by = f"{_account()}@{socket.gethostname()}"
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return move_alias(store, name, alias, Move(version, alias.version, by, now))


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # In a container it may have no name.
        return str(os.geteuid())
