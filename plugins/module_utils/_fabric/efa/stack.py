# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What of EFA a node has: the effects behind ``coherence.py``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ..._cards.accel_sysfs import attribute
from ..._errors import GaudiError
from ..._node.commands import Run
from ..._node.environment_file import parse
from ..._node.kernel_modules import loaded_modules
from ..._node.rendered_files import read_text
from ..._node.screen_text import one_line
from ..ofi_wrapper import WRAPPER, wrapper_file
from ..sysfs import EFA, host_nics
from .coherence import Stack

MODULE = "efa"
PREFIX = "opt/amazon/efa"
_LIBRARY = "libfabric.so.1"
_NCCL = re.compile(r"libnccl-net[\w.-]*\.so[\w.]*")
# The libraries' ABI in `ldconfig -p`: others are for 32-bit programs.
_ABIS = ("x86-64", "AArch64")
_CACHED = re.compile(r"^\s*(\S+) \(([^)]*)\) => (/.+)$", re.MULTILINE)
_LOADED = re.compile(rf"^\s*{re.escape(_LIBRARY)} => (\S+)", re.MULTILINE)
_LIBFABRIC_LINE = re.compile(r"^libfabric:\s*(\S+)", re.MULTILINE)
_LONGEST_VERSION = 60
_TIMEOUT_S = 60.0


def read_stack(run: Run, kernel_root: str, root: str, environment_file: str) -> Stack:
    """Look at the node; nothing is changed."""
    environment, unreadable = _environment(environment_file)
    cache = cached_libraries(run(["ldconfig", "-p"], timeout=_TIMEOUT_S).stdout)
    directories = [path for path in environment.get("LD_LIBRARY_PATH", "").split(":") if path.startswith("/")]
    devices = tuple(nic.device for nic in host_nics(kernel_root) if nic.kind == EFA)
    library = _first(Path(root, PREFIX), f"lib/{_LIBRARY}", f"lib64/{_LIBRARY}")
    fi_info = Path(root, PREFIX, "bin/fi_info")
    wrapper = _wrapper(directories, cache, root)
    return Stack(
        devices=devices,
        loaded=_loaded(kernel_root),
        module_file=_module_file(run),
        libfabric_file=str(library.resolve()) if library else None,
        libfabric=_libfabric_version(run, fi_info) if library else None,
        libraries=tuple(str(path.resolve()) for path in _on_path(_LIBRARY, directories, cache)),
        nccl_plugins=tuple(map(str, _nccl_plugins(directories, cache))),
        wrapper=wrapper,
        wrapper_libfabric=libfabric_of(run, wrapper, ":".join(directories)) if wrapper else None,
        answers=run([str(fi_info), "-p", "efa"], timeout=_TIMEOUT_S).rc == 0 if devices and library else None,
        environment=environment,
        environment_file=environment_file,
        unreadable=unreadable,
    )


def cached_libraries(text: str) -> dict[str, list[str]]:
    """``ldconfig -p``: the name that programs ask for to the files that answer, the one that is taken first."""
    found: dict[str, list[str]] = {}
    for name, flags, path in _CACHED.findall(text):
        if any(abi in flags for abi in _ABIS):
            found.setdefault(name, []).append(path.strip())
    return found


def _on_path(name: str, directories: list[str], cache: Mapping[str, list[str]]) -> list[Path]:
    """As ld.so(8) looks: LD_LIBRARY_PATH, then the cache."""
    own = [Path(directory, name) for directory in directories]
    return [path for path in own if path.exists()] + [Path(path) for path in cache.get(name, [])]


def _nccl_plugins(directories: list[str], cache: Mapping[str, list[str]]) -> list[Path]:
    own = [path for directory in directories for path in sorted(Path(directory).glob("libnccl-net*.so*"))]
    cached = [Path(path) for name, paths in cache.items() if _NCCL.fullmatch(name) for path in paths]
    return list(dict.fromkeys(path.resolve() for path in [*own, *cached]))


def _wrapper(directories: list[str], cache: Mapping[str, list[str]], root: str) -> str | None:
    places = [*_on_path(WRAPPER, directories, cache), wrapper_file(root)]
    return next((str(path.resolve()) for path in places if path.exists()), None)


def libfabric_of(run: Run, library: str, directories: str) -> str | None:
    """The file of libfabric that the loader gives to ``library``: empty where it asks for none, ``not`` where it finds
    none, and None where that cannot be told."""
    done = run(["ldd", library], timeout=_TIMEOUT_S, env={"LD_LIBRARY_PATH": directories} if directories else None)
    if done.rc != 0:
        return None
    found = _LOADED.search(done.stdout)
    return os.path.realpath(found[1]) if found and found[1] != "not" else found[1] if found else ""


def _loaded(kernel_root: str) -> str | None:
    """The module's version; empty for the kernel's own, which tells none, and None where it is not loaded."""
    if not loaded_modules((MODULE,), kernel_root):
        return None
    return attribute(Path(kernel_root, "sys/module", MODULE), "version") or ""


def _module_file(run: Run) -> str | None:
    done = run(["modinfo", "-F", "version", MODULE], timeout=_TIMEOUT_S)
    return one_line(done.stdout.strip(), _LONGEST_VERSION) or None if done.rc == 0 else None


def _libfabric_version(run: Run, fi_info: Path) -> str | None:
    match = _LIBFABRIC_LINE.search(run([str(fi_info), "--version"], timeout=_TIMEOUT_S).stdout)
    return one_line(match[1], _LONGEST_VERSION) if match else None


def _first(directory: Path, *names: str) -> Path | None:
    return next((directory / name for name in names if (directory / name).exists()), None)


def _environment(path: str) -> tuple[dict[str, str], str]:
    """The variables of the jobs' file, and what is wrong with it."""
    try:
        return parse(read_text(path) or "", path), ""
    except GaudiError as error:
        return {}, str(error).rstrip(".")
