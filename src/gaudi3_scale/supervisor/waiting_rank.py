# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A rank before it is needed: a process that has loaded PyTorch, and becomes the user's program when it is told to.

Run as a file in place of the program, whose words follow: ``python -u waiting_rank.py train.py --epochs 3``. The
program finds all as if Python had started it: its arguments, its place on ``sys.path``, its environment. PyTorch is
there at once when it imports that, and only then the device's backend is loaded, as an import of PyTorch does: what the
program has put into its environment before counts for the backend, too. Of the collection's own programs it is known
what they import after that.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.machinery
import json
import os
import runpy
import sys
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Callable, Mapping, NoReturn, Sequence

# What a list of processes shows until then.
NAME = "waiting_rank"
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
# What takes seconds to import, and needs no backend for it, of programs that do not touch their environment before.
LOADS_NEXT = {"gaudi3_scale.train": "lightning.pytorch"}
# Libraries read these as they are loaded. A program that has changed one before its import starts over.
READ_AT_IMPORT = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "TORCH", "PYTORCH_", "ATEN_", "NPY_")


class Held(MetaPathFinder, Loader):
    """A package that is loaded, and that the program does not have before it imports it."""

    def __init__(self, name: str, before: Callable[[], None], after: Callable[[], None]) -> None:
        """``before`` and ``after`` are called when the program gets it."""
        self._name, self._before, self._after = name, before, after
        names = [one for one in sys.modules if one.partition(".")[0] == name]
        self._modules = {one: sys.modules.pop(one) for one in names}
        self._spec = self._modules[name].__spec__

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # Python imports the parent of a submodule first, which gives back all of them.
        if fullname != self._name or self._spec is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=self._spec.origin, is_package=True)
        spec.submodule_search_locations = list(self._spec.submodule_search_locations or ())
        return spec

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self._modules[self._name]

    def exec_module(self, module: ModuleType) -> None:
        self._before()
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        module.__spec__ = self._spec
        self._after()


def main() -> None:
    """Load PyTorch, wait for the words, and become the program. Without words the agent has ended, and so it ends."""
    program = sys.argv[1:]
    if not getattr(sys.flags, "safe_path", False):
        # The folder of this file.
        del sys.path[0]
    called = _call_it(NAME)
    load_backends = _load_torch()
    _load_next(program)
    # A library may have named it otherwise.
    _call_it(NAME)
    words = sys.stdin.readline()
    if not words:
        sys.exit(1)
    told = json.loads(words)
    _call_it(called)
    _show_words_of_program()
    _use_files(told["stdout"], told["stderr"])
    os.environ.update(told["environment"])
    environment, place = dict(os.environ), Path.cwd()

    def start_over_if_changed() -> None:
        if _read_by_libraries(os.environ) != _read_by_libraries(environment):
            _start_over(program, environment, place)

    for name, after in (("numpy", _nothing), ("torch", load_backends)):
        if name in sys.modules:
            sys.meta_path.insert(0, Held(name, start_over_if_changed, after))
    _become(program)


def _load_torch() -> Callable[[], None]:
    """Import it without a backend of another device; what is returned does what was left out."""
    asked = os.environ.get(AUTOLOAD)
    os.environ[AUTOLOAD] = "0"
    import torch

    del os.environ[AUTOLOAD]
    if asked is not None:
        os.environ[AUTOLOAD] = asked
    # Since torch 2.5; without them it ends here, and the rank is started as ever.
    is_wanted: Callable[[], bool] = torch._is_device_backend_autoload_enabled
    load: Callable[[], None] = torch._import_device_backends

    def load_backends() -> None:
        if is_wanted():
            load()

    return load_backends


def _load_next(program: Sequence[str]) -> None:
    if program[0] == "-m" and program[1] in LOADS_NEXT:
        importlib.import_module(LOADS_NEXT[program[1]])


def _nothing() -> None:
    pass


def _read_by_libraries(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT)}


def _start_over(program: Sequence[str], environment: Mapping[str, str], place: Path) -> NoReturn:
    """As the same process, by Python itself, without anything loaded before."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(place)
    os.execve(sys.executable, [sys.executable, "-u", *program], environment)


def _call_it(name: str) -> str:
    """Give this process a name, and return the one that it had."""
    with Path("/proc/self/comm").open("r+", encoding="utf-8") as stream:
        before = stream.read().strip()
        stream.write(name)
    return before


def _show_words_of_program() -> None:
    """Have a list of processes show the program's words alone, as who looks for the program expects them."""
    shown = Path("/proc/self/cmdline").read_bytes()
    words = shown.replace(b"\0" + os.fsencode(sys.argv[0]) + b"\0", b"\0", 1).ljust(len(shown), b"\0")
    # Where the kernel reads them: arg_start in proc_pid_stat(5). Without a right to see it, they stay as they are.
    with contextlib.suppress(OSError, ValueError, IndexError):
        start = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[45])
        if start:
            ctypes.memmove(start, words, len(words))


def _use_files(stdout: str | None, stderr: str | None) -> None:
    """Write there from now on; None: where the agent writes. There is nothing to read."""
    for path, number in ((os.devnull, 0), (stdout, 1), (stderr, 2)):
        if path is not None:
            opened = os.open(path, os.O_RDWR)
            os.dup2(opened, number)
            os.close(opened)


def _become(program: Sequence[str]) -> None:
    """As ``python PROGRAM`` and ``python -m MODULE`` do it, in a main module of its own."""
    main_module = ModuleType("__main__")
    sys.modules["__main__"] = main_module
    safe = getattr(sys.flags, "safe_path", False)
    if program[0] == "-m":
        sys.argv[:] = program[1:]
        sys.path[:0] = [] if safe else [str(Path.cwd())]
        runpy._run_module_as_main(program[1])  # type: ignore[attr-defined]
        return
    script = program[0]
    sys.argv[:] = program
    sys.path[:0] = [] if safe else [str(Path(script).resolve().parent)]
    loader = importlib.machinery.SourceFileLoader("__main__", script)
    main_module.__dict__.update(__file__=script, __loader__=loader, __builtins__=__builtins__, __cached__=None)
    code = compile(Path(script).read_bytes(), script, "exec", dont_inherit=True)
    exec(code, main_module.__dict__)


if __name__ == "__main__":
    main()
