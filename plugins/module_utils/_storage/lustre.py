# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Stripes of directories on Lustre and settings of its client: lfs-setstripe(1), lfs-getstripe(1), lctl(8)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.rendered_files import WantedFile
from .._node.systemd_units import UNIT_DIRECTORY
from .mounts import LUSTRE
from .sizes import bytes_of, shown
from .units import HEADING, Mounted, below

UNIT = "gaudi3-scale-lustre-settings.service"
_TIMEOUT_S = 60
# lfs-setstripe(1): a multiple of 64 KiB, below 4 GiB.
_STRIPE_STEP, _STRIPE_END = 1 << 16, 1 << 32
_SETTING = re.compile(r"[a-z][a-z0-9_]*(\.[a-zA-Z0-9_*-]+)+")
_VALUE = re.compile(r"[A-Za-z0-9_.,:+-]+")
# Of a directory that holds small files: each of them would be an object on every server.
SMALL_BYTES, LOOKED_AT = 1 << 20, 1000


@dataclass(frozen=True)
class Stripe:
    """New files in ``path``: over ``count`` targets (-1: all), ``size`` bytes on each in turn."""

    path: str
    count: int
    size: int


def parse_stripes(given: Sequence[Mapping[str, Any]]) -> list[Stripe]:
    found = []
    for one in given:
        stripe = Stripe(
            str(one["path"]), int(one["count"]), bytes_of(one.get("size") or "1M", f"size of {one['path']}")
        )
        if not stripe.path.startswith("/") or os.path.normpath(stripe.path) != stripe.path:
            raise GaudiError(f"stripes has the path {stripe.path!r}; write a plain absolute one.")
        if stripe.count != -1 and not 1 <= stripe.count <= 2000:
            raise GaudiError(f"{stripe.path} has {stripe.count} stripes; give 1 to 2000, or -1 for all targets.")
        if stripe.size % _STRIPE_STEP or not 0 < stripe.size < _STRIPE_END:
            raise GaudiError(f"{stripe.path} has stripes of {shown(stripe.size)}; give a multiple of 64K below 4G.")
        found.append(stripe)
    return found


def check_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    found = {str(name): str(value) for name, value in settings.items()}
    for name, value in found.items():
        if not _SETTING.fullmatch(name) or not _VALUE.fullmatch(value):
            raise GaudiError(f"lustre_settings has {name}={value!r}; write one like osc.*.max_dirty_mb: 256.")
    return found


def refuse_stripe(stripe: Stripe, table: dict[str, Mounted]) -> None:
    """Raises GaudiError where it cannot be set, or would make many small files slower than they are."""
    path = Path(stripe.path)
    there = below(stripe.path, table)
    if there is None or there.type != LUSTRE:
        kind = there.type if there else "nothing"
        raise GaudiError(f"{stripe.path} is on {kind}; only directories on Lustre have stripes.")
    if os.path.realpath(path) != stripe.path or not path.is_dir():
        raise GaudiError(f"{stripe.path} is not a directory, or a link leads to it; name the directory itself.")
    sizes = _sizes(path) if stripe.count == -1 else []
    small = sum(size < SMALL_BYTES for size in sizes)
    if small * 2 > len(sizes):
        raise GaudiError(
            f"{stripe.path} is to have all targets for each file, and {small} of {len(sizes)} files that were looked "
            f"at have less than {shown(SMALL_BYTES)}: each would be an object on every target; give it count 1."
        )


def _sizes(directory: Path) -> list[int]:
    found: list[int] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(about.st_mode):
                found.append(about.st_size)
            if len(found) >= LOOKED_AT:
                break
    return found


def stripe_of(path: str, run: Run) -> Stripe:
    """What new files in the directory get now."""
    numbers = []
    for option in ("--stripe-count", "--stripe-size"):
        done = run(["lfs", "getstripe", "--directory", option, path], timeout=_TIMEOUT_S)
        said = done.stdout.strip()
        if done.rc != 0 or not re.fullmatch(r"-?[0-9]+", said):
            raise GaudiError(f"lfs getstripe does not show the stripes of {path}: {last_line(done.stderr) or said}.")
        numbers.append(int(said))
    return Stripe(path, *numbers)


def set_stripe(stripe: Stripe, run: Run) -> None:
    """As the directory's owner, which may be the account of jobs: root opens nothing that it can exchange."""
    owner = Path(stripe.path).stat()
    as_owner = ["setpriv", "--reuid", str(owner.st_uid), "--regid", str(owner.st_gid), "--clear-groups"]
    layout = ["--stripe-count", str(stripe.count), "--stripe-size", str(stripe.size)]
    done = run([*as_owner, "lfs", "setstripe", *layout, stripe.path], timeout=_TIMEOUT_S)
    if done.rc != 0:
        raise GaudiError(f"lfs setstripe refuses {stripe.path}: {last_line(done.stderr)}.")


def settings_unit(settings: Mapping[str, str], etc: str) -> WantedFile:
    """They last until the client is unmounted; ``lctl set_param -P`` is for the server that has the configuration."""
    path = str(Path(etc, UNIT_DIRECTORY, UNIT))
    # systemd expands neither * nor quotes them away; % is its own, and no value has one.
    lines = "".join(f"ExecStart=lctl set_param {name}={value}\n" for name, value in settings.items())
    text = f"""{HEADING}
[Unit]
Description=Settings of the Lustre client
After=remote-fs.target

[Service]
Type=oneshot
{lines}
[Install]
WantedBy=multi-user.target
"""
    return WantedFile(path, text if settings else None)


def settings_differ(settings: Mapping[str, str], run: Run) -> list[str]:
    """The settings that are not in force on every device that has them."""
    found = []
    for name, value in settings.items():
        done = run(["lctl", "get_param", "-n", name], timeout=_TIMEOUT_S)
        said = done.stdout.split()
        if done.rc != 0 or not said or any(one != value for one in said):
            found.append(name)
    return found
