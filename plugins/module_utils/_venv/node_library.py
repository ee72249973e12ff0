# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The node library's wheel on a node, and the one form in which pip is told of it: a direct reference with its digest.

Its name is on no package index. Whoever registered it there would run code as root on every node whose pip is asked for
that name, so it never is: not by a requirement, and, through the constraint file, not by who uses pip afterwards.
"""

from __future__ import annotations

import email
import hashlib
import re
import shutil
import urllib.parse
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from .._errors import GaudiError
from .._node.umask import readable_by_all
from .requirement import named_requirement, parse_requirement

NAME = "gaudi3-scale"
BUNDLED = "bundled"
# How the controller names the wheel that it can bring: this, the file's name, and the digest.
BROUGHT = "bundled:"
_DIGEST = re.compile(r"#sha256=([0-9a-f]{64})$")
_WHEEL_NAME = re.compile(r"^[A-Za-z0-9_.!+-]+\.whl$")
_FORMS = f"set {BUNDLED}, the absolute path of a wheel on the node, or '{NAME} @ URL'"


@dataclass(frozen=True)
class NodeLibrary:
    """``url`` is what pip takes, with ``#sha256=`` where the digest is known; empty where no node library is wanted.

    ``path`` is the wheel's on this node, empty where a server has it. ``brought``: the controller brings it.
    """

    url: str = ""
    extras: tuple[str, ...] = ()
    path: str = ""
    brought: bool = False

    @property
    def requirement(self) -> str:
        """For pip."""
        if not self.url:
            return ""
        return f"{NAME}[{','.join(self.extras)}] @ {self.url}" if self.extras else self.constraint

    @property
    def constraint(self) -> str:
        """For pip's constraints, which take no extras."""
        return f"{NAME} @ {self.url}" if self.url else ""

    @property
    def sha256(self) -> str:
        match = _DIGEST.search(self.url)
        return match[1] if match else ""


NONE = NodeLibrary()


def bundled(file: str, sha256: str) -> str:
    """The option as the controller says it for the wheel that it can bring."""
    return f"{NAME} @ {BROUGHT}{file}#sha256={sha256}"


def wanted(option: str, extras: Sequence[str], venv: str) -> NodeLibrary:
    """What the option ``node_library`` stands for; what it names is not looked at."""
    chosen = tuple(sorted(set(extras)))
    if not option:
        if chosen:
            raise GaudiError(f"extras has '{chosen[0]}', but no node library is wanted; {_FORMS} in node_library.")
        return NONE
    if option.startswith("/") and option.endswith(".whl"):
        return NodeLibrary(Path(option).as_uri(), chosen, option)
    requirement = parse_requirement(option)
    url = requirement.wanted.partition("@")[2].strip() if requirement and requirement.wanted.startswith("@") else ""
    if requirement is None or requirement.name != NAME or not _is_place(url):
        raise GaudiError(
            f"node_library '{option}' is not the location of a wheel, and {NAME} is on no package index, so none is "
            f"asked; {_FORMS}.",
            option="node_library",
        )
    chosen = tuple(sorted({*chosen, *requirement.extras}))
    if not url.startswith(BROUGHT):
        local = urllib.parse.urlsplit(url)
        return NodeLibrary(url, chosen, urllib.parse.unquote(local.path) if local.scheme == "file" else "")
    file, _hash, digest = url[len(BROUGHT) :].partition("#sha256=")
    path = f"{venv.rstrip('/')}.wheels/{digest}/{file}"
    return NodeLibrary(f"{Path(path).as_uri()}#sha256={digest}", chosen, path, brought=True)


def _is_place(url: str) -> bool:
    if any(character.isspace() for character in url):
        return False
    if url.startswith(BROUGHT):
        file = url[len(BROUGHT) :].partition("#")[0]
        return bool(_WHEEL_NAME.match(file) and _DIGEST.search(url))
    return url.startswith(("https://", "http://", "file:///"))


def refuse_own_name(requirements: Sequence[str]) -> None:
    """The name may stand nowhere where pip would ask an index for it."""
    for requirement in requirements:
        if named_requirement(requirement).name == NAME:
            raise GaudiError(
                f"requirements must not name {NAME} ('{requirement}'), which is on no package index; choose the node "
                "library with node_library, and its extras with extras.",
                option="requirements",
            )


def refuse_extras(extras: Sequence[str], known: Sequence[str], version: str = "") -> None:
    """Extras that the node library does not have: pip would only warn."""
    unknown = sorted(set(extras) - set(known))
    if unknown:
        raise GaudiError(
            f"extras has '{unknown[0]}', which the node library{version and f' {version}'} does not have; use of "
            f"{', '.join(sorted(known)) or 'none'}.",
            option="extras",
        )


def look(library: NodeLibrary) -> NodeLibrary:
    """The library with its digest, where a wheel of the site's lies on this node: another file is another library."""
    if not library.path or library.brought:
        return library
    digest = _digest(library.path)
    if digest is None:
        raise GaudiError(
            f"node_library '{library.path}' is not on this node; copy the wheel there, or set {BUNDLED}.",
            option="node_library",
        )
    if library.sha256 not in ("", digest):
        raise GaudiError(
            f"node_library '{library.path}' has the SHA-256 {digest}, not {library.sha256}; copy the wheel again, or "
            "correct node_library.",
            option="node_library",
        )
    url = library.url if library.sha256 else f"{library.url}#sha256={digest}"
    return NodeLibrary(url, library.extras, library.path)


def have(library: NodeLibrary, source: str) -> None:
    """Have the wheel that the controller brings where pip takes it: root's directory, and exactly the bytes meant.

    ``source`` is where the controller left it. Raises :class:`GaudiError` with the fact ``missing_wheel`` where the
    wheel is not on this node, and with a sentence alone for one that is not the node library, or lacks an extra.
    """
    if not library.path:
        return
    if library.brought and _digest(library.path) != library.sha256:
        if not source:
            raise GaudiError(
                f"The node library {library.path} is not on this node yet; the role copies it from the controller.",
                missing_wheel=library.path,
            )
        _store(source, library)
    version, known = _described(library.path)
    refuse_extras(library.extras, known, version)


def _store(source: str, library: NodeLibrary) -> None:
    content = Path(source).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != library.sha256:
        raise GaudiError(
            f"The node library that was copied to this node has the SHA-256 {digest}, not {library.sha256}; run again."
        )
    target = Path(library.path)
    with readable_by_all():
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_name(f".{target.name}")
        scratch.write_bytes(content)
        scratch.replace(target)


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _described(path: str) -> tuple[str, list[str]]:
    """Version and extras of a wheel of the node library."""
    try:
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            about = email.message_from_string(wheel.read(names[0]).decode())
    except (OSError, zipfile.BadZipFile, IndexError, ValueError) as error:
        raise GaudiError(
            f"node_library '{path}' is not a usable wheel ({error}); copy it again.", option="node_library"
        ) from error
    if str(about["Name"]).replace("_", "-").lower() != NAME:
        raise GaudiError(
            f"node_library '{path}' is a wheel of {about['Name']}, not of {NAME}; correct node_library.",
            option="node_library",
        )
    return str(about["Version"]), list(about.get_all("Provides-Extra") or [])


def forget_others(library: NodeLibrary, venv: str) -> None:
    """Remove the wheels that were brought earlier and are no longer installed."""
    directory = Path(f"{venv.rstrip('/')}.wheels")
    for other in directory.iterdir() if directory.is_dir() else ():
        if other != Path(library.path).parent:
            shutil.rmtree(other, ignore_errors=True)
