# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The PyTorch bundle of each release: PyTorch for CPUs as pip finds it, and a plugin that counts simulated cards."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from plugins.module_utils._flags.catalog.catalog import FLAGS
from plugins.module_utils._releases.lookup import version_key

from ..commands import step
from ..simulator.releases import RELEASES
from .layout import ARTIFACTORY, is_current, replacing
from .pure_wheel import pure_wheel

BUNDLES = ARTIFACTORY / "gaudi-pt-modules"
PLUGIN = Path(__file__).with_name("habana_torch_plugin")


def ensure_bundles(torch_wheel: Path, directory: str) -> None:
    """Write one bundle per release around ``torch_wheel``; ``directory`` is the system's name there (debian12)."""
    digest = _digest(torch_wheel, directory)
    if is_current(BUNDLES, digest):
        return
    with step("Package repository: PyTorch bundles"), replacing(BUNDLES, digest) as root:
        for package in RELEASES:
            release, build = package.split("-")
            path = root / release / build / "pytorch" / directory
            path.mkdir(parents=True)
            _write_bundle(
                path / f"pytorch_modules-v{_version(torch_wheel)}_{release}_{build}.tgz", torch_wheel, package
            )


def plugin_wheel(package: str) -> tuple[str, bytes]:
    """File name and content of the simulated habana_torch_plugin of this release."""
    files = {str(path.relative_to(PLUGIN)): path.read_bytes() for path in sorted(PLUGIN.rglob("*.py"))}
    files["habana_frameworks/torch/internal/bridge_config.py"] = bridge_config(package).encode()
    summary = "Simulated: counts the simulated cards of a gaudi3.scale sandbox"
    return pure_wheel("habana_torch_plugin", f"{package.replace('-', '.')}+simulated", summary, files)


def bridge_config(package: str) -> str:
    """The list of C++ flags that a real build generates, of the names that the catalog has for this release."""
    release = version_key(package)[:2]
    names = [
        flag.name
        for flag in FLAGS.values()
        if any(source.endswith("env_flags.yaml") for source in flag.sources)
        and not (flag.removed and release >= version_key(flag.removed))
        and (not flag.since or flag.since.startswith("<=") or release >= version_key(flag.since))
    ]
    getters = "".join(f"\n\ndef get_{name.lower()}():\n    return None\n" for name in sorted(names))
    return f'"""Simulated: the flags of release {package} by name."""\n{getters}'


def _write_bundle(target: Path, torch_wheel: Path, package: str) -> None:
    # Wheels are compressed already: level 0 saves a minute and costs nothing.
    with tarfile.open(target, "w:gz", compresslevel=0) as bundle:
        bundle.add(torch_wheel, torch_wheel.name)
        name, content = plugin_wheel(package)
        member = tarfile.TarInfo(name)
        member.size = len(content)
        bundle.addfile(member, io.BytesIO(content))


def _version(torch_wheel: Path) -> str:
    return torch_wheel.name.split("-")[1].split("+")[0]


def _digest(torch_wheel: Path, directory: str) -> str:
    plugins = "".join(hashlib.sha256(plugin_wheel(package)[1]).hexdigest() for package in RELEASES)
    return hashlib.sha256(f"{torch_wheel.name} {directory} {plugins}".encode()).hexdigest()
