# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the bridge that is installed on this node says about its own flags: read as text, without import or device.

The bridge's build writes ``bridge_config.py`` with one ``get_<flag>`` for each C++ flag (bridge-1.19:
scripts/generate_env.py), so the file is that build's exact list. Flags of torch.compile are read by
``compile_backend/config.py``, a few others by any of its Python files. None of these says anything of HCL, the compiler
or vLLM.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .._node.rendered_files import read_text
from .._node.venv_sites import sites_of
from .catalog.flag_types import Flag

_PACKAGE = "habana_frameworks"
_CPP_FILE = f"{_PACKAGE}/torch/internal/bridge_config.py"
_PYTHON_FILE = f"{_PACKAGE}/torch/dynamo/compile_backend/config.py"
# env_setting() in the same file holds 'get_' too, but no definition of that name.
_GETTER = re.compile(r"^def get_([a-z0-9_]+)\(", re.MULTILINE)
_NAME_IN_QUOTES = re.compile(r"""["']([A-Z][A-Z0-9]*_[A-Z0-9_]+)["']""")
_READ_FROM_ENVIRONMENT = re.compile(r"""(?:environ(?:\.get\()?|getenv\()[\[\s]*["']([A-Z][A-Z0-9_]+)["']""")
# Of the names that begin so, no reader outside the Gaudi software is known.
GAUDI_PREFIXES = ("PT_HPU_", "PT_HABANA_", "PT_HCCL_", "HABANA_", "HCCL_", "HCL_")
_DISTRIBUTION = re.compile(r"(?:habana[_-]torch[_-]plugin|habana[_-]frameworks)-([0-9][^/]*)\.dist-info", re.IGNORECASE)
_CPP_SOURCE = "env_flags.yaml"
_PYTHON_SOURCE = "compile_backend/config.py"


@dataclass(frozen=True)
class InstalledBridge:
    """``cpp`` are the names its C++ code reads, ``python`` those of its torch.compile backend (empty: not known).

    ``version`` is that of the wheel, empty where none is recorded; ``file`` is the list of the C++ flags; ``package``
    is the directory of its Python files (empty: not known).
    """

    version: str
    cpp: frozenset[str]
    python: frozenset[str]
    file: str
    package: str = ""

    @property
    def label(self) -> str:
        """Who judges, as a phrase."""
        return f"installed bridge {self.version}" if self.version else f"installed bridge ({self.file})"

    @property
    def release(self) -> tuple[int, ...] | None:
        """``(major, minor)`` of its version; None where that is not known."""
        match = re.match(r"([0-9]+)\.([0-9]+)", self.version)
        return (int(match[1]), int(match[2])) if match else None

    @cached_property
    def elsewhere(self) -> frozenset[str]:
        """Flags that any other Python file of the bridge takes from the environment; looked for once, when asked."""
        texts = map(read_text, map(str, Path(self.package).rglob("*.py"))) if self.package else ()
        return frozenset(name for text in texts for name in read_names(text or ""))

    def has(self, name: str) -> bool:
        """Whether this build reads the name."""
        return name in self.cpp or name in self.python or (name.startswith(GAUDI_PREFIXES) and name in self.elsewhere)

    def answers_for(self, flag: Flag) -> bool:
        """Whether the lists of this build are complete for the part of the software that reads ``flag``."""
        places = [source.split(":", 1)[-1] for source in flag.sources]
        if any(place.endswith(_CPP_SOURCE) for place in places):
            return True
        return bool(self.python) and bool(places) and all(place.endswith(_PYTHON_SOURCE) for place in places)


def cpp_flags(text: str) -> frozenset[str]:
    """The flags that a ``bridge_config.py`` lists; comments and other functions count for nothing."""
    return frozenset(name.upper() for name in _GETTER.findall(text))


def python_flags(text: str) -> frozenset[str]:
    """The variables that a ``config.py`` names in quotes, outside of comments."""
    return frozenset(_NAME_IN_QUOTES.findall(_without_comments(text)))


def read_names(text: str) -> frozenset[str]:
    """The variables that Python code reads by ``os.environ`` or ``os.getenv``, outside of comments."""
    return frozenset(_READ_FROM_ENVIRONMENT.findall(_without_comments(text)))


def read_bridge(venv: str) -> InstalledBridge | None:
    """The bridge of a virtual environment; None where there is none, or its list is empty.

    Raises :class:`GaudiError` for a file that cannot be read.
    """
    for site in sites_of(venv) if venv else ():
        file = site / _CPP_FILE
        names = cpp_flags(read_text(str(file)) or "")
        if names:
            python = python_flags(read_text(str(site / _PYTHON_FILE)) or "")
            version = _version([entry.name for entry in site.iterdir()])
            return InstalledBridge(version, names, python, str(file), str(site / _PACKAGE))
    return None


def _without_comments(text: str) -> str:
    return "\n".join(line.split("#", 1)[0] for line in text.splitlines())


def _version(entries: Sequence[str]) -> str:
    matches = map(_DISTRIBUTION.fullmatch, sorted(entries))
    return next((match[1] for match in matches if match), "")
