# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is built on a node from an archive of sources: the archive unpacked, and the commands with one log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.digests import file_digest
from .._node.downloads import download
from .._node.rendered_files import FileChange, WantedFile, write
from .._node.screen_text import one_line
from .._node.urls import is_url
from .._packages.node_packages import of_node
from .libfabric.archive import only_directory, unpack

_SHOWN = 20
# Programs have no working directory of their own here.
_IN_DIRECTORY = 'cd "$1" && shift && exec "$@"'


class BuildSteps:
    """The commands of one build of ``what``, whose output is kept in one ``log``."""

    def __init__(self, what: str, run: Run, root: str, log: str, timeout: float) -> None:
        self._what, self._run, self._root, self._timeout = what, run, root, timeout
        self.log = log
        self._text = ""

    def install(self, packages: Sequence[str]) -> None:
        """What the build needs of the distribution."""
        if not packages:
            return
        system = of_node(self._run, self._root)
        known = system.query(packages)
        missing = [name for name in packages if name not in known or not known[name].installed]
        if not missing:
            return
        try:
            system.prepare(missing, self._timeout)
        except GaudiError:
            system.refresh(self._timeout)
            system.prepare(missing, self._timeout)
        system.install(missing, self._timeout)

    def run(self, directory: Path, command: list[str]) -> None:
        """One command in ``directory``; where it fails, the last line is its reason and the log has the rest."""
        done = self._run(["sh", "-c", _IN_DIRECTORY, "sh", str(directory), *command], timeout=self._timeout)
        output = f"{done.stdout.rstrip()}\n{done.stderr}".strip()
        self._text += f"$ {' '.join(command)}\n{output}\n"
        write(FileChange(WantedFile(self.log, self._text), None, None))
        if done.rc != 0:
            name = " ".join(command[:2]).removeprefix("sh ")
            raise GaudiError(
                f"{self._what} is not built and nothing of it was installed: `{name}` ended with {done.rc}: "
                f"{one_line(_reason(output))}; its whole output is in {self.log} on this node.",
                log=[one_line(line) for line in output.splitlines()[-_SHOWN:]],
            )


def _reason(output: str) -> str:
    """The first line that a compiler or configure calls an error; make's own last lines only say that there was one."""
    lines = output.splitlines()
    errors = [line for line in lines if "error:" in line.lower() and not line.startswith("make")]
    return (errors[0] if errors else last_line(output)).strip().rstrip(".")


def unpacked_source(archive: str, checksum: str, brought: str, target: Path, option: str) -> Path:
    """The one directory of ``archive``, below ``target``; ``brought`` is the file that the controller has sent."""
    file = brought
    if not brought:
        if not is_url(archive):
            raise GaudiError(f"{archive} was not copied to this node; run the role, which copies it.")
        file = str(target.with_suffix(".archive"))
        download(archive, file, "The archive", option, checksum)
    found = file_digest(Path(file), "sha256")
    if f"sha256:{found}" != checksum:
        raise wrong_source(archive, found, option)
    target.mkdir()
    unpack(file, str(target), option)
    return only_directory(str(target), archive, option)


def wrong_source(archive: str, found: str, option: str) -> GaudiError:
    """The refusal of sources that are not those that the site has pinned; ``option`` is the name of the archive's."""
    return GaudiError(
        f"{archive} has the SHA-256 {found}, but {option[: -len('archive')]}checksum is another one; nothing was "
        "unpacked: the file was changed, or the checksum belongs to another one."
    )
