# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The site's copy of Amazon's ``aws-efa-installer-VERSION.tar.gz`` on a node: checked, and unpacked where only root is.

What is checked is what is unpacked: the file is first copied to a directory of root's, since whoever logs in on the
node may change what the controller brought until then.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from ..._errors import GaudiError
from ..._node.digests import file_digest
from ..._node.downloads import download
from ..._node.rendered_files import read_text
from ..._node.umask import readable_by_owner
from .plan import EfaOptions

# The one directory in the archive.
TOP = "aws-efa-installer"
SCRIPT = "efa_installer.sh"
_BLOCK = 1 << 20
_VERSION = re.compile(r"^(?:export[ \t]+)?EFA_INSTALLER_VERSION=[\"']?(\d+(?:\.\d+)*)", re.MULTILINE)


def private_directory(path: Path) -> Path:
    """Root's directory for archive and installer; made where it is not there."""
    with readable_by_owner():
        path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def have_archive(options: EfaOptions, directory: Path) -> Path:
    """The archive in ``directory``, with the bytes that the checksum means.

    Raises :class:`GaudiError` with the fact ``missing_archive`` where the controller has to bring it first.
    """
    kept = directory / f"{options.sha256}.tar.gz"
    if kept.is_file() and file_digest(kept, "sha256") == options.sha256:
        return kept
    scratch = directory / ".archive"
    with readable_by_owner():
        if options.is_url:
            download(options.archive, str(scratch), "the EFA installer", "archive (gaudi_fabric_efa_archive)",
                     options.checksum)  # fmt: skip
        elif options.archive_file:
            _copy(Path(options.archive_file), scratch, options)
        else:
            raise GaudiError(
                f"The archive {options.archive} is not on this node yet; the role copies it from the controller.",
                missing_archive=options.archive,
            )
    scratch.replace(kept)
    return kept


def wrong_checksum(archive: str, found: str, wanted: str) -> GaudiError:
    """The refusal of an archive that is not the one that the site has pinned."""
    return GaudiError(
        f"archive {archive} has the sha256 {found}, but checksum is {wanted}: the file was changed or cut short, or "
        "the checksum belongs to another file; correct archive or checksum (gaudi_fabric_efa_checksum).",
        sha256=found,
    )


def _copy(source: Path, target: Path, options: EfaOptions) -> None:
    digest = hashlib.sha256()
    with source.open("rb") as stream, target.open("wb") as copy:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            digest.update(block)
            copy.write(block)
    if digest.hexdigest() != options.sha256:
        target.unlink()
        raise wrong_checksum(options.archive, digest.hexdigest(), options.sha256)


def unpack(archive: Path, directory: Path, version: str) -> Path:
    """The installer's directory, fresh from ``archive``; GaudiError where it is no installer, or of another version."""
    target = directory / TOP
    shutil.rmtree(target, ignore_errors=True)
    try:
        with readable_by_owner(), tarfile.open(archive) as packed:
            for member in packed:
                _unpack_member(packed, member, directory)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _no_installer(archive, str(error)) from error
    if not (target / SCRIPT).is_file():
        raise _no_installer(archive, f"there is no {TOP}/{SCRIPT} in it")
    found = _VERSION.search(read_text(str(target / "env.sh")) or "")
    if found and found[1] != version:
        raise GaudiError(
            f"archive is the installer of EFA {found[1]} by its env.sh, and version says {version}; correct version, "
            "or archive and checksum."
        )
    return target


def _unpack_member(packed: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> None:
    """Directories, files and links that stay within; owner and times are not taken over."""
    name = PurePosixPath(member.name)
    if name.parts[:1] != (TOP,) or ".." in name.parts:
        raise ValueError(f"{member.name!r} is not below {TOP}/")
    path = directory / name
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        target = PurePosixPath(member.linkname)
        if target.is_absolute() or ".." in target.parts:
            raise ValueError(f"the link {member.name!r} leads out of it")
        path.symlink_to(member.linkname)
        return
    content = packed.extractfile(member) if member.isfile() or member.islnk() else None
    if content is None:
        raise ValueError(f"{member.name!r} is neither file, directory nor link")
    with content, path.open("xb") as file:
        shutil.copyfileobj(content, file, _BLOCK)
    path.chmod(0o700 if member.mode & 0o100 else 0o600)


def _no_installer(archive: Path, why: str) -> GaudiError:
    return GaudiError(
        f"archive has the pinned checksum and is not Amazon's EFA installer ({why}); give the one of "
        "efa-installer.amazonaws.com, and its checksum.",
        file=str(archive),
    )
