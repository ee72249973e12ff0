# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an operator asks of the instances of a node, and what of it cannot be meant."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._errors import GaudiError
from .._flags.recipe_cache import file_system, is_remote
from .asking import read_key
from .instance import OPTION, Instance
from .runtime import RuntimeOptions

STARTED, STOPPED, ABSENT = "started", "stopped", "absent"
STATES = (STARTED, STOPPED, ABSENT)


@dataclass(frozen=True)
class ServingOptions:
    """As the module has them. ``only`` are the names of those that may change; empty: all. ``wait`` are the seconds for
    which this call waits for answers.
    """

    instances: tuple[Instance, ...] = ()
    state: str = STARTED
    registry: str = ""
    fingerprint: str = ""
    release: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    engine_version: str = ""
    runtime: RuntimeOptions = field(default_factory=lambda: RuntimeOptions("", "/opt/gaudi3_scale/venv"))
    key_file: str = ""
    certificate: str = ""
    certificate_key: str = ""
    accept_holes: tuple[str, ...] = ()
    drain_timeout: int = 120
    ready_timeout: int = 7200
    only: tuple[str, ...] = ()
    wait: int = 7200

    @property
    def targets(self) -> tuple[Instance, ...]:
        return tuple(one for one in self.instances if not self.only or one.name in self.only)


def check_options(options: ServingOptions) -> None:
    """GaudiError for what cannot be meant, before anything is looked at."""
    strange = sorted(set(options.only) - {one.name for one in options.instances})
    if strange:
        raise GaudiError(f"only has {strange[0]!r:.60}, which is not among the {OPTION}; correct it.")
    if bool(options.certificate) != bool(options.certificate_key):
        raise GaudiError("certificate and certificate_key belong together; give both, or neither.")
    for one in options.targets:
        if not one.is_local and not (options.key_file and options.certificate):
            raise GaudiError(
                f"{OPTION}: {one.name} answers at {one.address}, where everyone in the network could ask it; give "
                "key_file, certificate and certificate_key, or 127.0.0.1 as address."
            )


def check_local(state: str, proc: str) -> None:
    """GaudiError where recipes and copies of models would lie on another machine's disk, whose locks are none."""
    try:
        mounts = Path(proc, "mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    point, kind = file_system(mounts, state)
    if is_remote(kind):
        raise GaudiError(
            f"{state} lies on {point}, which is {kind}: compiled recipes need a local disk, and instances of several "
            "nodes would share one directory; mount a local disk there."
        )


def check_secrets(options: ServingOptions) -> None:
    """GaudiError for files that are not there, or that others than root can read."""
    for name in ("key_file", "certificate", "certificate_key"):
        path = getattr(options, name)
        if not path:
            continue
        try:
            found = Path(path).stat()
        except OSError as error:
            raise GaudiError(
                f"{name} {path} cannot be read on this node ({error.strerror}); put the file there."
            ) from None
        is_secret = name != "certificate"
        if is_secret and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise GaudiError(
                f"{name} {path} can be read by others than its owner (mode {stat.S_IMODE(found.st_mode):04o}); "
                f"chmod 0600 {path}."
            )
        if is_secret and os.geteuid() == 0 and found.st_uid != 0:
            raise GaudiError(f"{name} {path} belongs to account {found.st_uid}; give it to root (chown root: {path}).")
    if options.key_file:
        read_key(options.key_file)
