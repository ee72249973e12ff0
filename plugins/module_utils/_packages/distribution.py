# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Packages of the distribution that a layer needs: what is there stays at its version, what is missing is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .lock_holder import locks_of, require_free
from .package_system import PackageSystem

# What Debian's packages ask before they start a service (invoke-rc.d(8)): 101 is no.
_POLICY = "usr/sbin/policy-rc.d"
_NO_STARTS = "#!/bin/sh\n# Written by gaudi3.scale, while it installs packages.\nexit 101\n"


def converge(
    names: Sequence[str],
    system: PackageSystem,
    *,
    refresh: bool,
    starts: bool,
    lock_timeout: float,
    check_mode: bool,
    root: str = "/",
) -> dict[str, Any]:
    """What the module returns; raises GaudiError with the package manager's reason.

    ``refresh`` reads the package lists first. Otherwise those that the node has are used, so that a node whose mirrors
    are out of reach is not stopped, and read where they do not do. Not ``starts``: services stay off.
    """
    missing = _missing(names, system)
    if missing and not check_mode:
        require_free(locks_of(system.name), lock_timeout, root)
        if system.interrupted():
            system.repair([])
        if refresh:
            system.refresh(lock_timeout)
        with _services(starts, Path(root)):
            try:
                system.install(missing, lock_timeout)
            except GaudiError:
                if refresh:
                    raise
                # A new node has no lists, or old ones.
                system.refresh(lock_timeout)
                system.install(missing, lock_timeout)
    return {"changed": bool(missing), "installed": missing}


def _missing(names: Sequence[str], system: PackageSystem) -> list[str]:
    there = system.query(names)
    return [name for name in dict.fromkeys(names) if name not in there or not there[name].installed]


@contextmanager
def _services(starts: bool, root: Path) -> Iterator[None]:
    policy = root / _POLICY
    if starts or policy.exists() or not policy.parent.is_dir():
        # The site's own policy stands.
        yield
        return
    policy.write_text(_NO_STARTS, encoding="utf-8")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()
