# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``ansible-test sanity`` on the collection as it is shipped, without a container and without this user's home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from .artifact import build, program, unpack
from .runner import JUNIT, ROOT

STAGE = ROOT / "build" / "sanity"
HOME = STAGE / "home"
# ansible-test fetches a script from a server of its own; Python's ensurepip does the same job without a network. The
# name is the one that ansible_test/_util/target/setup/requirements.py looks for, with the pip that the core asks for.
CACHE = HOME / ".ansible" / "test" / "cache"
PIP_VERSION = re.compile(r"pip='([\d.]+)'")
# Each of a dozen tests has an environment of its own, and to make pip takes three seconds of a processor each time:
# what the first of them got is copied to the others, compiled as it is.
PIP_SCRIPT_TEXT = """
import ensurepip
import shutil
import sys
import sysconfig
from pathlib import Path

packages = sysconfig.get_path("purelib")
kept = Path(__file__).with_name(f"pip-{ensurepip.version()}-{sys.implementation.cache_tag}")
if kept.exists():
    shutil.copytree(kept, packages, dirs_exist_ok=True)
else:
    ensurepip.bootstrap(default_pip=True)
    unfinished = kept.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(packages, unfinished)
    unfinished.rename(kept)
"""
# pip's settings of this user: ansible-test installs each test's own requirements.
PIP_SETTINGS = (".config/pip", ".pip")


def main(arguments: list[str]) -> int:
    collection = stage()
    prepare_home()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [
        program("ansible-test"),
        "sanity",
        "--python",
        python,
        "--color",
        "no",
        "--junit",
        *arguments,
    ]
    environment = {**os.environ, "HOME": str(HOME)}
    environment.pop("ANSIBLE_CONFIG", None)
    status = subprocess.run(command, cwd=collection, env=environment, check=False).returncode
    if JUNIT in os.environ:
        shutil.copytree(collection / "tests" / "output" / "junit", os.environ[JUNIT], dirs_exist_ok=True)
    return status


def stage() -> Path:
    """Exactly what is shipped, unpacked at the path that ansible-test demands."""
    shutil.rmtree(STAGE / "ansible_collections", ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        collection = unpack(build(Path(scratch)), STAGE)
    # It lies in a directory that git ignores: without a repository of its own ansible-test sees no file in it.
    subprocess.run(["git", "init", "--quiet"], cwd=collection, check=True)
    return collection


def prepare_home() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    asked = files("ansible_test").joinpath("_internal", "python_requirements.py").read_text(encoding="utf-8")
    for version in PIP_VERSION.findall(asked):
        (CACHE / f"get_pip_{version.replace('.', '_')}.py").write_text(PIP_SCRIPT_TEXT)
    for name in PIP_SETTINGS:
        settings, link = Path.home() / name, HOME / name
        if settings.is_dir() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(settings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
