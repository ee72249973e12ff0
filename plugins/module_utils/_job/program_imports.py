# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a program finds what it imports first, before anything is started: for a launch, a probe and a comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.account_unit import DEFAULT_LIMITS
from .._node.commands import Run, last_line
from .._node.job_user import run_as_user

PYTHONPATH = "PYTHONPATH"
# Of the program's own files only the imports that it cannot do without: not those in functions, in `try` and under
# `if`. Nothing is executed but the packages above a module, as Python itself does to find it. Finding is enough to see
# a package that one node lacks, and takes milliseconds where importing torch takes seconds. Files are the program's own
# that are neither Python's nor installed. One that changes sys.path finds what is not found here.
IMPORTS = """
import ast, importlib.util, json, os, sys, sysconfig, tokenize
MOST_FILES = 500
def parse(file):
    with tokenize.open(file) as stream:
        return ast.parse(stream.read(), file)
def is_own(file):
    places = {os.path.realpath(place) for name, place in sysconfig.get_paths().items() if "lib" in name}
    real = os.path.realpath(file)
    installed = "site-packages" in real or "dist-packages" in real
    return not installed and not any(real.startswith(place + os.sep) for place in places)
def beside(folder, dotted):
    # The files that Python runs for a dotted name below a folder, from the top.
    files = []
    for part in filter(None, dotted.split(".")):
        folder = os.path.join(folder, part)
        files += [file for file in (os.path.join(folder, "__init__.py"), folder + ".py") if os.path.isfile(file)][:1]
    return files
def imports(tree, file):
    # Names that are looked for, and further files of the program's own.
    names, files = set(), []
    for node in tree.body:
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            dotted = [node.module]
        elif isinstance(node, ast.ImportFrom):
            folder = os.path.dirname(file)
            for _level in range(node.level - 1):
                folder = os.path.dirname(folder)
            inner = [node.module] if node.module else [alias.name for alias in node.names]
            files += [one for name in inner for one in beside(folder, name)]
            continue
        else:
            continue
        for one in dotted:
            top = one.partition(".")[0]
            names.add(top)
            if top in sys.modules or top in sys.builtin_module_names:
                continue
            spec = importlib.util.find_spec(top)
            origin = spec.origin if spec else None
            if origin and origin.endswith(".py") and is_own(origin):
                is_package = os.path.basename(origin) == "__init__.py"
                above = os.path.dirname(os.path.dirname(origin) if is_package else origin)
                files += beside(above, one)
    return names, files
def main(first, second):
    # python -c looks into the folder that it happens to be started in.
    sys.path[:] = [place for place in sys.path if place]
    try:
        if first == "-m" or first == "module":
            found = importlib.util.find_spec(second)
            if first == "-m" and found is not None and found.submodule_search_locations is not None:
                found = importlib.util.find_spec(second + ".__main__")
            if found is None:
                return {"missing": [second]}
            file = found.origin
        else:
            file = first
            sys.path.insert(0, first.rpartition("/")[0])
        if not file or not file.endswith(".py"):
            return {}
        missing, seen, waiting = set(), set(), [file]
        while waiting and len(seen) < MOST_FILES:
            file = waiting.pop()
            if file in seen:
                continue
            seen.add(file)
            tree = parse(file)
            if any(isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path" for node in ast.walk(tree)):
                return {}
            names, files = imports(tree, file)
            waiting += files
            missing |= {name for name in names - set(sys.modules) if importlib.util.find_spec(name) is None}
        return {"missing": sorted(missing)}
    except ModuleNotFoundError as error:
        return {"missing": [error.name]}
    except Exception as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}
print(json.dumps(main(*sys.argv[1:])))
"""
# A program with the variables of the ranks, once it is the job's account that runs it: root's own program, which
# changes to that account, must not see what a file of the account says (LD_PRELOAD).
VARIABLES = "GAUDI3_SCALE_VARIABLES"
WITH_VARIABLES = f"""
import json, os, sys
os.environ.update(json.loads(os.environ.pop("{VARIABLES}")))
os.execv(sys.argv[1], sys.argv[1:])
"""
IMPORT_SECONDS = 60.0
RUN, IMPORTED = "-m", "module"


@dataclass(frozen=True)
class Looked:
    """Who looks, and in which words it is refused: ``option`` names the program, ``environment`` the variable of the
    role that may have a PYTHONPATH. ``user`` None: the caller. ``way`` is how a module is started (RUN), or imported
    by another program (IMPORTED); "": a script, by its whole path. ``limits`` confine the account's Python.
    """

    option: str
    environment: str
    venv: str
    user: str | None
    way: str = ""
    limits: Sequence[str] = DEFAULT_LIMITS


def check_found(program: str, looked: Looked, variables: Mapping[str, str], run: Run) -> None:
    """Raises GaudiError where ``program`` cannot be found with ``variables``, or what it imports first.

    Without the node's name, so that a launch can say it once of all nodes.
    """
    python = f"{looked.venv}/bin/python"
    words = (looked.way, program) if looked.way else (program, "")
    argv = [python, "-c", WITH_VARIABLES, python, "-c", IMPORTS, *words]
    given = {VARIABLES: json.dumps(dict(variables))}
    if looked.user is None:
        done = run(argv, timeout=IMPORT_SECONDS, env=given)
    else:
        done = run_as_user(looked.user, argv, run, timeout=IMPORT_SECONDS, env=given, limits=looked.limits)
    what = f"{looked.option}: {program}"
    if done.rc == 124:
        raise GaudiError(
            f"{what} could not be checked: {python} did not finish within {IMPORT_SECONDS:g} s; try again, and check "
            "how fast its storage is read."
        )
    try:
        # A package may say something of its own when it is found.
        answer = json.loads(last_line(done.stdout))
    except ValueError:
        raise GaudiError(
            f"{what} cannot be imported, {python} says: {last_line(done.stderr)}; repair the venv there."
        ) from None
    if answer.get("error"):
        raise GaudiError(f"{what} cannot be imported: {answer['error']}; correct it there.")
    if answer.get("missing"):
        raise GaudiError(
            f"{what} cannot be imported: {looked.venv} has no module {', '.join(answer['missing'])}; install it there, "
            f"or name its folder in PYTHONPATH ({looked.environment})."
        )
