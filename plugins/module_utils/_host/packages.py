# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Packages of the distribution that a setting of this layer needs, installed where they are missing."""

from __future__ import annotations

from collections.abc import Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._packages.lock_holder import locks_of, require_free
from .._packages.node_packages import of_node
from .kernel.values import value_difference

_LOCK_TIMEOUT_S = 300.0


def install_missing(names: Sequence[str], option: str, run: Run, root: str, check_mode: bool) -> list[dict[str, str]]:
    """Install those of ``names`` that are not there; the steps made (in check mode: to make)."""
    system = of_node(run, root)
    known = system.query(names)
    missing = [name for name in names if name not in known or not known[name].installed]
    if missing and not check_mode:
        require_free(locks_of(system.name), _LOCK_TIMEOUT_S, root)
        try:
            try:
                system.install(missing, _LOCK_TIMEOUT_S)
            except GaudiError:
                # The lists of a node that was never updated know no such package, or one that is gone.
                system.refresh(_LOCK_TIMEOUT_S)
                system.install(missing, _LOCK_TIMEOUT_S)
        except GaudiError as error:
            raise GaudiError(f"{option} needs the package {', '.join(missing)} of the distribution: {error}") from error
    return [value_difference(f"package {name}", None, "installed") for name in missing]
