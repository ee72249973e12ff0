# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vault's pip index: what the training stack needs, fetched once by this host's pip, and the checkout's wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from plugins.module_utils.bundle import pip_index

from ..commands import run, step
from ..paths import CACHE, CHECKOUT, make_directory
from .layout import ARTIFACTORY, is_current, replacing
from .pure_wheel import pure_wheel

PYTORCH = "2.13.0"
# pip takes torch only from the bundle; setuptools because torch asks for it on Python 3.12. boto3 is what the extra s3
# of the checkout's wheel needs, transformers and accelerate what users' own scripts do, the rest its extra tune.
REQUIREMENTS = (
    "lightning==2.6.*", "numpy", "setuptools", "optuna==5.*", "plotly==7.*", "grpcio", "protobuf", "boto3",
    "transformers==5.*", "accelerate==1.*",
)  # fmt: skip
INDEX = ARTIFACTORY / "api" / "pypi" / "gaudi-python"
WHEELHOUSE = CACHE / "wheels"
PROJECT_FILES = ("pyproject.toml", "README.md", "LICENSE", "LICENSES", "src", "plugins/module_utils")


def ensure_wheelhouse(python: str) -> Path:
    """Download the wheels for this Python once; returns the path of torch's wheel."""
    directory = WHEELHOUSE / _key(python)
    if not directory.exists():
        scratch = Path(tempfile.mkdtemp(dir=make_directory(WHEELHOUSE), prefix="new-"))
        try:
            with step("Vault: PyTorch for CPUs"):
                torch = _download_torch(scratch, python)
            with step("Vault: wheels of the training stack"):
                run(
                    [*_pip_download(scratch, python), torch, *REQUIREMENTS],
                    remedy="See what this host's pip can reach.",
                )
            scratch.chmod(0o755)
            scratch.rename(directory)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    return _torch_in(directory)


def ensure_index(python: str) -> None:
    """Publish the wheels and the checkout's own wheel, unless the index is up to date."""
    digest = hashlib.sha256(f"{_key(python)} {project_digest()} {Path(__file__).read_text()}".encode()).hexdigest()
    if is_current(INDEX, digest):
        return
    with step("Vault: pip index with the checkout's own wheel"), replacing(INDEX, digest) as root:
        packages = root / "packages"
        packages.mkdir()
        for wheel in (WHEELHOUSE / _key(python)).glob("*.whl"):
            if not wheel.name.startswith("torch-"):
                os.link(wheel, packages / wheel.name)
        _build_project(packages)
        decoy, content = decoy_wheel()
        (packages / decoy).write_bytes(content)
        # The very code that writes the index of an air-gapped site's bundle.
        pip_index.write_simple_pages(str(root / "simple"), str(packages))


def decoy_wheel() -> tuple[str, bytes]:
    """A torch that is newer than the bundle's, as a public index has one.

    Where nothing holds the bundle's build, `pip install -U torch` replaces it by this; then importing it fails.
    """
    text = 'raise ImportError("This is the decoy of the sandbox: the torch of the bundle was replaced.")\n'
    summary = "Decoy: stands for the torch of a public index"
    return pure_wheel("torch", "2.99.0", summary, {"torch/__init__.py": text.encode()})


def project_version_tag() -> str:
    """What follows the project's version in the checkout's wheel, and names its sources (PEP 440, local version).

    With the release's version alone nothing that compares versions would see that a build is another one. The letters
    keep digits from being read as a number, which loses its leading zeros.
    """
    return f"+checkout{project_digest()[:12]}"


def project_digest() -> str:
    """A hash of everything that the checkout's own wheel is made from."""
    digest = hashlib.sha256()
    for name in PROJECT_FILES:
        top = CHECKOUT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(CHECKOUT)).encode() + path.read_bytes())
    return digest.hexdigest()


def _build_project(target: Path) -> None:
    """Build in a copy: setuptools would leave its build directory in the checkout, and take old files from it."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as scratch:
        for name in PROJECT_FILES:
            source, copy = CHECKOUT / name, Path(scratch, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy)
        # Setuptools reads this file beside pyproject.toml, which has the release's version.
        settings = Path(scratch, "version.cfg")
        settings.write_text(f"[egg_info]\ntag_build = {project_version_tag()}\n", encoding="utf-8")
        run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", target, scratch],
            env={"DIST_EXTRA_CONFIG": str(settings)},
        )


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
    return hashlib.sha256(f"{python} {PYTORCH} {REQUIREMENTS}".encode()).hexdigest()[:12]
