# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The vendor's PyTorch bundle: a compressed archive of wheels, of which those for one Python are wanted."""

from __future__ import annotations

import email
import re
import shutil
import tarfile
import zipfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Iterable, Mapping, Sequence

from .._errors import GaudiError

# PEP 427: {distribution}-{version}(-{build tag})?-{python tag}-{abi tag}-{platform tag}.whl
_WHEEL = re.compile(
    r"^(?P<name>[^-]+)-(?P<version>[^-]+)(?:-\d[^-]*)?-(?P<pythons>[^-]+)-(?P<abis>[^-]+)-(?P<platforms>[^-]+)\.whl$"
)

_NEED = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)$")


@dataclass(frozen=True)
class Wheel:
    """A wheel's file name, taken apart; ``name`` is normalized as in PEP 503."""

    file: str
    name: str
    version: str
    pythons: tuple[str, ...]
    abis: tuple[str, ...]


def normalized(name: str) -> str:
    """The one spelling of a distribution's name (PEP 503): ``habana_torch_plugin`` is ``habana-torch-plugin``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_wheel(file: str) -> Wheel | None:
    """The parts of a wheel's file name, or None where it is not one."""
    match = _WHEEL.match(file)
    if match is None:
        return None
    version = match["version"].replace("_", "-")
    return Wheel(
        file, normalized(match["name"]), version, tuple(match["pythons"].split(".")), tuple(match["abis"].split("."))
    )


def fits(wheel: Wheel, python: tuple[int, int]) -> bool:
    """Whether CPython ``python`` can use the wheel, as far as its Python and ABI tags say."""
    major, minor = python
    own = f"cp{major}{minor}"
    if own in wheel.pythons:
        return True
    if "abi3" in wheel.abis:
        return any(_stable_since(tag, major) <= minor for tag in wheel.pythons)
    return "none" in wheel.abis and bool({f"py{major}", f"py{major}{minor}"} & set(wheel.pythons))


def _stable_since(tag: str, major: int) -> float:
    """The minor version from which a stable-ABI tag such as ``cp39`` holds."""
    match = re.match(rf"^cp{major}(\d+)$", tag)
    return int(match[1]) if match else float("inf")


def choose(files: Iterable[str], patterns: Sequence[str], python: tuple[int, int], bundle: str) -> dict[str, Wheel]:
    """The bundle's wheels for this Python by name. Raises :class:`GaudiError` where that is no installable set."""
    named = [file for file in files if any(fnmatch(file, pattern) for pattern in patterns)]
    wheels = [wheel for wheel in map(parse_wheel, named) if wheel]
    chosen: dict[str, Wheel] = {}
    for wheel in wheels:
        if not fits(wheel, python):
            continue
        rival = chosen.setdefault(wheel.name, wheel)
        if rival is not wheel:
            raise GaudiError(
                f"The PyTorch bundle {bundle} has both {rival.file} and {wheel.file} for one Python; "
                "give bundle_wheels patterns that match only the one to take.",
                wheels=[rival.file, wheel.file],
            )
    if "torch" not in chosen:
        version = ".".join(map(str, python))
        others = sorted({tag for wheel in wheels if wheel.name == "torch" for tag in wheel.pythons})
        found = f"torch for {', '.join(others)}" if others else "no torch"
        raise GaudiError(
            f"The PyTorch bundle {bundle} has {found} and not for Python {version}; set python to a version that it is "
            "for, or bundle_url to the bundle of this system.",
            found=others,
        )
    return chosen


def unpack(archive: str, directory: str, url: str) -> list[str]:
    """Put the archive's wheels, and nothing else of it, flat into ``directory``; returns their file names."""
    target = Path(directory)
    files = []
    try:
        with tarfile.open(archive) as bundle:
            for member in bundle:
                file = Path(member.name).name
                content = bundle.extractfile(member) if member.isfile() and file.endswith(".whl") else None
                if content is not None:
                    _copy(content, target / file)
                    files.append(file)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            message = f"The PyTorch bundle cannot be unpacked into {directory}: {error.strerror}; free space there."
            raise GaudiError(message, url=url) from error
        cause = str(error).partition("\n")[0].rstrip(":")
        message = f"{url} is not a usable archive of wheels ({cause}); have it downloaded again, or correct bundle_url."
        raise GaudiError(message, url=url) from error
    return files


def _copy(content: IO[bytes], path: Path) -> None:
    with path.open("wb") as target:
        shutil.copyfileobj(content, target, 1 << 20)


def versions(wheels: Mapping[str, Wheel]) -> dict[str, str]:
    """Name to version, as pip's constraints and a virtual environment's metadata know them."""
    return {name: wheel.version for name, wheel in sorted(wheels.items())}


def demands(files: Iterable[str]) -> dict[str, list[str]]:
    """What the wheels in ``files`` ask of others: version specifiers by name, such as ``>=1.13.3``, without extras."""
    found: dict[str, list[str]] = {}
    for file in files:
        for line in _requires(file):
            specifier, _semicolon, condition = line.partition(";")
            match = _NEED.match(specifier)
            if match and "extra" not in condition:
                found.setdefault(normalized(match[1]), []).append(match[2].strip().strip("()"))
    return found


def _requires(file: str) -> list[str]:
    with zipfile.ZipFile(file) as wheel:
        about = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(wheel.read(about[0])).get_all("Requires-Dist") or [] if about else []
