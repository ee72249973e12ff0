# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The Containerfile: what changes seldom comes first, so that a change of the code costs one layer; a value.

An instruction costs a container, also where its result is known, so there are few.

Each build of the same inputs gives the same image. So nothing of the day is in it: no cache, no log, no compiled Python
(pip's have their source's time in them), and `--timestamp` gives all files the base image's time. What must not be in
the image, addresses of indices among it, is a secret of the build, which leaves no trace.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Mapping, Sequence

from .options import variable_text

# In the build's context.
REQUIREMENTS, CONSTRAINTS, CODE = "requirements.txt", "pip-constraints.txt", "code"
# In the image. The constraints are where the training environment of a node has them.
_ETC = "/etc/gaudi3_scale"
WORKDIR = "/workspace"
# Secrets of the build; files of these names lie beside the context. apt takes a key for armored by its ending.
PIP, WHEELS = "gaudi3_scale_pip", "gaudi3_scale_wheels.html"
APT, SOURCES, KEY = "gaudi3_scale_apt", "gaudi3_scale_sources", "gaudi3_scale_key.asc"
SECRETS = (PIP, WHEELS, APT, SOURCES, KEY)
SECRETS_PLACE = "/run/secrets"

# What names the day of the build, or how far another one came.
_TRACES_OF_APT = (
    "/etc/group- /etc/gshadow- /etc/passwd- /etc/shadow- /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache "
    "/var/lib/dpkg/*-old /var/log/alternatives.log /var/log/apt /var/log/dpkg.log"
)
_TRACES_OF_DNF = "/var/cache/ldconfig/aux-cache /var/lib/dnf /var/log/dnf* /var/log/hawkey.log"


@dataclass(frozen=True)
class Recipe:
    """What the file says. ``base`` is a name that this host has, ``epoch`` the seconds since 1970 of all files.

    ``base_is_roots``: what the base runs, it runs as root.
    """

    base: str
    epoch: int
    labels: Mapping[str, str]
    base_is_roots: bool = True
    uses_apt: bool = True
    os_packages: Sequence[str] = ()
    requirements: bool = True
    environment: Mapping[str, object] | None = None
    build_arguments: Mapping[str, object] | None = None
    user: str = "1000:1000"
    command: Sequence[str] = ()


def render(recipe: Recipe) -> str:
    """The file's text."""
    parts = [
        "# Written by gaudi3.scale: build_image.yml writes it anew.",
        f"FROM {recipe.base}",
        *([] if recipe.base_is_roots else ["USER 0:0"]),
        *_system(recipe),
        *_python(recipe),
        _environment(recipe),
        f"WORKDIR {WORKDIR}",
        f"USER {recipe.user}",
        *([f"CMD {json.dumps(list(recipe.command))}"] if recipe.command else []),
        "# What changes with each commit comes last.",
        f"COPY --chown=0:0 {CODE}/ {WORKDIR}/",
        "LABEL " + " \\\n      ".join(f"{name}={_quoted(value)}" for name, value in sorted(recipe.labels.items())),
    ]
    return "\n".join(parts) + "\n"


def _system(recipe: Recipe) -> list[str]:
    if not recipe.os_packages:
        return []
    names = " ".join(sorted(recipe.os_packages))
    if recipe.uses_apt:
        words = [
            "RUN --mount=type=cache,target=/var/cache/apt,sharing=locked",
            "--mount=type=cache,target=/var/lib/apt/lists,sharing=locked",
            *_secrets(APT, SOURCES, KEY),
            f"export DEBIAN_FRONTEND=noninteractive APT_CONFIG={SECRETS_PLACE}/{APT} {_epoch(recipe)} &&",
            "apt-get -q update &&",
            f"apt-get -q install --yes --no-install-recommends {names} &&",
            f"rm -rf {_TRACES_OF_APT}",
        ]
    else:
        words = [
            "RUN --mount=type=cache,target=/var/cache/dnf,sharing=locked",
            f"{_epoch(recipe)} dnf --assumeyes --setopt=install_weak_deps=False --setopt=keepcache=True",
            f"install {names} &&",
            f"rm -rf {_TRACES_OF_DNF}",
        ]
    return [" \\\n    ".join(words)]


def _python(recipe: Recipe) -> list[str]:
    copied = [REQUIREMENTS, CONSTRAINTS] if recipe.requirements else [CONSTRAINTS]
    lines = [f"COPY --chown=0:0 {' '.join(copied)} {_ETC}/"]
    if not recipe.requirements:
        return lines
    arguments = [f"{name}={shlex.quote(variable_text(value))}" for name, value in _sorted(recipe.build_arguments)]
    words = [
        "RUN --mount=type=cache,target=/var/cache/pip,sharing=locked",
        *_secrets(PIP, WHEELS),
        " ".join([_epoch(recipe), *arguments]),
        f"PIP_CONFIG_FILE={SECRETS_PLACE}/{PIP} PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore",
        "PYTHONDONTWRITEBYTECODE=1 python3 -m pip install --no-compile --disable-pip-version-check --no-input",
        f"--cache-dir /var/cache/pip --constraint {_ETC}/{CONSTRAINTS} --requirement {_ETC}/{REQUIREMENTS}",
    ]
    return [*lines, " \\\n    ".join(words)]


def _epoch(recipe: Recipe) -> str:
    return f"SOURCE_DATE_EPOCH={recipe.epoch}"


def _secrets(*names: str) -> list[str]:
    # apt and pip read them with the rights of other accounts, too.
    return [f"--mount=type=secret,id={name},target={SECRETS_PLACE}/{name},mode=0444" for name in names]


def _environment(recipe: Recipe) -> str:
    # getpass, which PyTorch asks for the names of its caches, knows no number without an account.
    own = {"HOME": "/tmp", "USER": "gaudi", "LOGNAME": "gaudi", "PIP_CONSTRAINT": f"{_ETC}/{CONSTRAINTS}"}
    variables = {**own, **{name: variable_text(value) for name, value in _sorted(recipe.environment)}}
    return "ENV " + " \\\n    ".join(f"{name}={_quoted(value)}" for name, value in variables.items())


def _sorted(variables: Mapping[str, object] | None) -> list[tuple[str, object]]:
    return sorted((variables or {}).items())


def _quoted(text: str) -> str:
    """One word of an ENV, ARG or LABEL, in which nothing is a variable."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'
