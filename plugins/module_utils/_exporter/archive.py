# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A module of this collection with all that it imports of it, as one file that Python runs (zipapp).

The module that Ansible sends to a node has brought these sources with it; so nothing else has to be sent, and a node
needs no package of ours.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import zipfile
from collections.abc import Iterator

# Of no meaning, but the same each time: what is the same is not written again.
_TIME = (1980, 1, 1, 0, 0, 0)


def archive_of(module: str) -> bytes:
    """A file that calls ``main(arguments)`` of ``module``, for its exit status."""
    start = f"import sys\n\nfrom {module} import main\n\nsys.exit(main(sys.argv[1:]))\n"
    files = {"__main__.py": start, **{_path(name, is_package): text for name, is_package, text in _sources(module)}}
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path, _TIME), files[path])
    return whole.getvalue()


def _path(name: str, is_package: bool) -> str:
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def _sources(module: str) -> Iterator[tuple[str, bool, str]]:
    """Each module once, with the packages that it is in; these are empty, whatever they are where this runs."""
    waiting, known = [module], set[str]()
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        found = importlib.util.find_spec(name)
        if found is None or found.loader is None:
            raise ModuleNotFoundError(name)
        is_package = found.submodule_search_locations is not None
        text = "" if is_package else str(found.loader.get_source(name))  # type: ignore[attr-defined]
        yield name, is_package, text
        waiting += [name.rpartition(".")[0]] if "." in name else []
        waiting += _imported(name, text)


def _imported(name: str, text: str) -> Iterator[str]:
    """The modules that it imports by a relative name, as each does within the collection."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join(name.split(".")[: -node.level] + ([node.module] if node.module else []))
            of_module = [f"{base}.{one.name}" for one in node.names]
            yield from [base, *(one for one in of_module if _is_module(one))]


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        # Its parent is no package: a name in a module.
        return False
