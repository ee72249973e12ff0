# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The key with which a job signs what it puts into a bucket, and knows it again.

A site gives one (a file or a variable), or the job makes its own, and every node of the job keeps it beside its
checkpoints: any node that is left can tell the others.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from gaudi3_scale.checkpoints.place import Place
from gaudi3_scale.core._errors import GaudiError

VARIABLE = "GAUDI3_SCALE_CHECKPOINT_KEY"
FILE_NAME = "checkpoint.key"
KEY_BYTES = 32
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{64}")


class JobKey:
    """The key of a job, as all ranks agree on it; ``value`` is None where none was given and none was made yet."""

    def __init__(self, value: bytes | None, place: Place, file: Path | None) -> None:
        self.value = value
        self._place = place
        self._file = file

    def made(self) -> bytes:
        """The key; the first rank makes one where there is none, and every node keeps it. Collective."""
        if self.value is None:
            self.value = bytes.fromhex(self._place.gather(secrets.token_hex(KEY_BYTES))[0])
        failure = None
        if self._file and self._place.leads and not self._file.exists():
            try:
                _write(self._file, self.value)
            except OSError as error:
                failure = error.strerror or type(error).__name__
        failures = {rank: why for rank, why in enumerate(self._place.gather(failure)) if why}
        if failures:
            raise GaudiError(
                f"--upload: rank {', '.join(map(str, failures))} cannot keep the job's key in {self._file}: "
                f"{next(iter(failures.values()))}; make it writable there, or give a key with ${VARIABLE}."
            )
        return self.value


def find_key(given: Path | None, environment: Mapping[str, str], job_dir: Path, place: Place) -> JobKey:
    """What was given with ``--checkpoint-key-file`` or the variable, else what any node keeps. Collective.

    Raises GaudiError, on every rank alike, where it is no key, where others could read it, or where nodes differ.
    """
    own = None if given or environment.get(VARIABLE) else job_dir / FILE_NAME
    try:
        mine, refused = _mine(given, environment, own), None
    except GaudiError as error:
        mine, refused = None, str(error)
    reported: list[tuple[str | None, str | None]] = place.gather((mine.hex() if mine else None, refused))
    refusal = next((f"{why} (rank {rank})" for rank, (_key, why) in enumerate(reported) if why), None)
    if refusal:
        raise GaudiError(refusal)
    holders = [(rank, bytes.fromhex(key)) for rank, (key, _why) in enumerate(reported) if key]
    other = next((rank for rank, key in holders if key != holders[0][1]), None)
    if other is not None:
        raise GaudiError(
            f"--upload: rank {other} has another key for checkpoints than rank {holders[0][0]} in "
            f"{own or given or f'${VARIABLE}'}; remove the one that is not of this job, or give all the same."
        )
    return JobKey(holders[0][1] if holders else None, place, own)


def _mine(given: Path | None, environment: Mapping[str, str], own: Path | None) -> bytes | None:
    if given:
        return _read(given, f"--checkpoint-key-file {given}")
    if own:
        return _read(own, f"--job-dir: {own}") if os.path.lexists(own) else None
    return _key(environment[VARIABLE], f"${VARIABLE}")


def _read(path: Path, named: str) -> bytes:
    try:
        # Neither a link that leads elsewhere nor a pipe that never ends.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise GaudiError(f"{named} cannot be read: {error.strerror}; correct it.") from error
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise GaudiError(f"{named} is not a regular file; name one with 64 hexadecimal digits.")
        if about.st_mode & 0o077 or about.st_uid not in (0, os.geteuid()):
            raise GaudiError(f"{named} may be open to other accounts than the job's; chown it, and chmod 600.")
        return _key(os.read(descriptor, 4 * KEY_BYTES).decode("ascii", "replace"), named)
    finally:
        os.close(descriptor)


def _key(text: str, named: str) -> bytes:
    if not _HEXADECIMAL.fullmatch(text.strip()):
        raise GaudiError(f"{named} is not a key; give 64 hexadecimal digits, as openssl rand -hex 32 prints them.")
    return bytes.fromhex(text.strip())


def _write(path: Path, key: bytes) -> None:
    """In place only when it is whole; a file that is there is left alone."""
    growing = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(growing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{key.hex()}\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.link(growing, path)
    finally:
        growing.unlink()
