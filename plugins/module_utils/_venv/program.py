# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A program's own requirements: what its file may say, and the environment that is made of it. Values only.

The environment is a layer on that of the stack: a virtual environment whose search path ends with the stack's packages.
``python -m venv --system-site-packages`` would see the packages of the Python that the stack was made with, and not the
stack's. So PyTorch and the node library are there once, on each node, and are the vendor's.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .node_library import refuse_own_name
from .plan import PINS_FILE
from .requirement import named_requirement, parse_requirement

# What stays as the stack has it, beside the wheels of the vendor's bundle.
KEPT = ("torch", "torchvision", "torchaudio", "gaudi3-scale")
VENDORS = "habana"
# Of pip's own options those that say nothing of where packages are from.
ALLOWED = ("--pre", "--prefer-binary", "--only-binary", "--no-binary")
_HASH = re.compile(r"\s--hash[= ]\S+")
_COMMENT = re.compile(r"(^|\s)#.*$")
LAYER, TORCHRUN = "gaudi3_scale_stack.pth", "bin/torchrun"
DIGITS = 16


@dataclass(frozen=True)
class Stack:
    """The environment below: ``frozen`` is what of it is never replaced, by name; ``interpreter`` the real Python.

    ``pip_conf`` and ``pins`` are the texts of its files; "": it has none.
    """

    path: str
    interpreter: str
    sites: tuple[str, ...]
    frozen: Mapping[str, str]
    pip_conf: str = ""
    pins: str = ""


def lines_of(text: str) -> list[str]:
    """The requirements of a file, without comments, each on a line; raises GaudiError for what cannot be one.

    ``-r FILE`` is for whoever reads the file.
    """
    joined = re.sub(r"\\\r?\n", " ", text)
    lines = [_COMMENT.sub("", line).strip() for line in joined.splitlines()]
    found = [line for line in lines if line]
    for line in found:
        _check_line(line)
    return found


def specifiers(lines: Sequence[str]) -> list[str]:
    """The packages among the lines, without their hashes."""
    return [_HASH.sub("", line).strip() for line in lines if not line.startswith("-")]


def _check_line(line: str) -> None:
    if line.startswith("-"):
        if re.split(r"[\s=]", line)[0] in ALLOWED:
            return
        raise GaudiError(
            f"requirements has '{line}', but the site sets where packages come from (gaudi_venv_index_url); of pip's "
            f"options, only these are allowed: {', '.join(ALLOWED)}, and -r FILE."
        )
    [specifier] = specifiers([line])
    refuse_own_name([specifier] if parse_requirement(specifier) else [])
    named_requirement(specifier)


def pins_beside(pins: str, lines: Sequence[str]) -> str:
    """The stack's pins but of those packages of which the program says a version itself."""
    asked = {one.name for one in map(named_requirement, specifiers(lines)) if one.wanted}
    kept = []
    for line in pins.splitlines():
        requirement = parse_requirement(line) if line and not line.startswith("#") else None
        if requirement and requirement.name not in asked:
            kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def frozen_of(installed: Mapping[str, str], bundle: Mapping[str, str]) -> dict[str, str]:
    """What is kept of the installed packages: the bundle's, and the vendor's and PyTorch's where there is no bundle."""
    kept = {name: version for name, version in installed.items() if name in KEPT or name.startswith(VENDORS)}
    return dict(sorted({**kept, **{name: installed.get(name, version) for name, version in bundle.items()}}.items()))


def refuse_unknown_vendors(lines: Sequence[str], stack: Stack) -> None:
    """A name of the vendor's that its stack does not have is on no package index of the vendor's."""
    for line in specifiers(lines):
        name = named_requirement(line).name
        if name not in stack.frozen and (name.startswith(VENDORS) or name in KEPT):
            raise GaudiError(
                f"requirements has '{line}', which comes with the training stack, but {stack.path} has none; remove "
                "it, or install the stack with it first."
            )


def refuse_replaced(wrong: Sequence[Sequence[str]], stack: Stack) -> None:
    """``wrong`` has a line, a name and the stack's version of each package that the line does not take."""
    if wrong:
        line, name, version = wrong[0]
        raise GaudiError(
            f"requirements has '{line}', and {stack.path} has {name} {version}, which is never replaced: the cards and "
            "the node library need it. Remove the version, or ask for one that is compatible with it."
        )


def digest_of(lines: Sequence[str], stack: Stack) -> str:
    """What names the environment: another file, another stack, or another Python is another one."""
    about = [list(lines), stack.path, stack.interpreter, dict(stack.frozen), stack.pins, stack.pip_conf]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:DIGITS]


def path_of(directory: str, user: str, digest: str) -> str:
    return str(Path(directory, user, digest))


def files_of(path: str, lines: Sequence[str], stack: Stack) -> dict[str, str]:
    """The environment's files but Python's own, by their paths below it."""
    return {
        f"{Path(stack.sites[0]).relative_to(stack.path)}/{LAYER}": "".join(
            f"import site; site.addsitedir({site!r})\n" for site in stack.sites
        ),
        # pip's own file of an environment: the stack's index and constraints are this one's as well.
        "pip.conf": stack.pip_conf,
        "kept.txt": "".join(f"{name}=={version}\n" for name, version in stack.frozen.items()),
        PINS_FILE: pins_beside(stack.pins, lines),
        "requirements.txt": "".join(f"{line}\n" for line in lines),
        # The stack's own starts the stack's Python.
        TORCHRUN: f"#!{path}/bin/python\nimport sys\nfrom torch.distributed.run import main\nsys.exit(main())\n",
    }
