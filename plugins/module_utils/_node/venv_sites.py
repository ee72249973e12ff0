# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where the packages of a virtual environment lie: its own, and those of the environment that it is made on."""

from __future__ import annotations

from pathlib import Path

from .json_file import read_json

SITE = "lib/python3*/site-packages"
# Below it are the environments of programs' own requirements, ACCOUNT/DIGEST each, with a record of root's beside it.
ENVIRONMENTS = "/opt/gaudi3_scale/environments"


def stack_of(venv: str) -> str:
    """The environment below ``venv``; "" for none. By root's record: what is in it is its account's to write."""
    if Path(venv).parent.parent != Path(ENVIRONMENTS):
        return ""
    stack = (read_json(f"{venv}.json") or {}).get("stack")
    return stack if isinstance(stack, str) else ""


def sites_of(venv: str) -> list[Path]:
    """The directories of packages, in the order in which Python looks into them."""
    return [site for one in filter(None, (venv, stack_of(venv))) for site in sorted(Path(one).glob(SITE))]
