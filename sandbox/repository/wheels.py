# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The repository's pip index: what the training stack needs, fetched once by this host's pip, and the
simulated engine for serving; no wheel of ours."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from plugins.module_utils._venv.pin_table import PINS
from plugins.module_utils._venv.pins import render

from ..commands import run, step
from ..engine.wheels import engine_wheels
from ..paths import CACHE, CHECKOUT, make_directory
from .layout import ARTIFACTORY, is_current, replacing
from .pure_wheel import pure_wheel

PYTORCH = "2.13.0"
# What the index serves, in the versions that the role pins: the node library's own needs and those of these extras;
# accelerate, peft and trl for programs of other people's that tests train; setuptools because torch asks for it on
# Python 3.12.
EXTRAS = ("base", "hf", "s3", "tune")
OTHERS = ("accelerate==1.*", "peft==0.*", "setuptools", "trl==1.*")
INDEX = ARTIFACTORY / "api" / "pypi" / "gaudi-python"
WHEELHOUSE = CACHE / "wheels"


def ensure_wheelhouse(python: str) -> Path:
    """Download the wheels for this Python once; returns the path of torch's wheel."""
    directory = WHEELHOUSE / _key(python)
    if not directory.exists():
        scratch = Path(tempfile.mkdtemp(dir=make_directory(WHEELHOUSE), prefix="new-"))
        try:
            with step("Package repository: PyTorch for CPUs"):
                torch = _download_torch(scratch, python)
            with step("Package repository: wheels of the training stack"):
                pins = scratch / "pins.txt"
                pins.write_text(render(PINS), encoding="utf-8")
                run(
                    [*_pip_download(scratch, python), "--constraint", pins, torch, *requirements()],
                    remedy="See what this host's pip can reach.",
                )
            scratch.chmod(0o755)
            scratch.rename(directory)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    return _torch_in(directory)


def ensure_index(python: str) -> None:
    """Publish the wheels, unless the index is up to date."""
    engine = hashlib.sha256(b"".join(content for _name, content in engine_wheels())).hexdigest()
    digest = hashlib.sha256(f"{_key(python)} {Path(__file__).read_text()} {engine}".encode()).hexdigest()
    if is_current(INDEX, digest):
        return
    with step("Package repository: pip index"), replacing(INDEX, digest) as root:
        packages = root / "packages"
        packages.mkdir()
        for wheel in (WHEELHOUSE / _key(python)).glob("*.whl"):
            if not wheel.name.startswith("torch-"):
                os.link(wheel, packages / wheel.name)
        for name, content in (decoy_wheel(), *engine_wheels()):
            (packages / name).write_bytes(content)
        write_pages(root, packages)


def write_pages(root: Path, packages: Path) -> None:
    """The pages that pip reads, by a program of its own: none of the code that writes those of a bundle."""
    files = [
        {"filename": path.name, "hash": f"sha256={hashlib.sha256(path.read_bytes()).hexdigest()}"}
        for path in sorted(packages.iterdir())
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        listed.writelines(json.dumps(file) + "\n" for file in files)
        listed.flush()
        generator = [sys.executable, "-m", "dumb_pypi.main", "--package-list-json", listed.name]
        run([*generator, "--packages-url", "../../packages", "--output-dir", root])


def decoy_wheel() -> tuple[str, bytes]:
    """A torch that is newer than the bundle's, as a public index has one.

    Where nothing holds the bundle's build, `pip install -U torch` replaces it by this; then importing it fails.
    """
    text = 'raise ImportError("This is the decoy of the sandbox: the torch of the bundle was replaced.")\n'
    summary = "Decoy: stands for the torch of a public index"
    return pure_wheel("torch", "2.99.0", summary, {"torch/__init__.py": text.encode()})


def requirements() -> list[str]:
    """What nodes ask the index for, as the collection's own lists say it; torch is in the bundle."""
    files = [CHECKOUT / "src" / "requirements" / f"{extra}.txt" for extra in EXTRAS]
    named = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [*(line for line in named if not line.startswith("torch")), *OTHERS]


def _download_torch(directory: Path, python: str) -> Path:
    """The CPU build, from where this host's pip looks, and from the index that ``GAUDI_SANDBOX_PYTORCH_INDEX`` names.

    The plain build is for another vendor's cards, with gigabytes of libraries.
    """
    index = os.environ.get("GAUDI_SANDBOX_PYTORCH_INDEX")
    more = ["--extra-index-url", index] if index else []
    run(
        [*_pip_download(directory, python), *more, "--no-deps", f"torch=={PYTORCH}+cpu"],
        remedy="Where pip finds no CPU build, name PyTorch's index of them in GAUDI_SANDBOX_PYTORCH_INDEX.",
    )
    return _torch_in(directory)


def _pip_download(directory: Path, python: str) -> list[str | Path]:
    command: list[str | Path] = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
    return [*command, "--python-version", python, "--dest", directory]


def _torch_in(directory: Path) -> Path:
    return next(directory.glob(f"torch-{PYTORCH}*.whl"))


def _key(python: str) -> str:
    return hashlib.sha256(f"{python} {PYTORCH} {requirements()} {render(PINS)}".encode()).hexdigest()[:12]
