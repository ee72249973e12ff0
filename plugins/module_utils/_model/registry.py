# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Models in a registry: published, found, verified, and copied to where they are used."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Callable, Mapping

from .._errors import GaudiError
from .._node.bucket_url import bucket_and_prefix
from .._node.commands import Run
from . import record as records
from . import signature
from .aliases import read_alias
from .bucket import BucketStore
from .directory import DirectoryStore
from .files import PIECE, Digest, Digesting, ModelDirectory, digest_of
from .names import NOTHING, check_name, is_version, is_whole_version
from .record import RECORD, Record
from .signature import SIGNATURE
from .store import Store, folder_of, key_of, versions_of

REGISTRY, PATH, KEY, FINGERPRINT = "registry", "path", "signing_key", "fingerprint"
_MOST_KEY_BYTES = 4096


@dataclass(frozen=True)
class Published:
    """A version of a model. ``path`` is its folder, or its URL; ``fingerprint`` is of the key that signed it."""

    name: str
    version: str
    path: str
    fingerprint: str
    record: Record

    def facts(self) -> dict[str, Any]:
        """What a module returns of it."""
        return {**facts_of(self.record), "path": self.path, "fingerprint": self.fingerprint}


def facts_of(record: Record) -> dict[str, Any]:
    """The same of one that is not published yet."""
    return {
        "name": record.name,
        "version": record.version,
        "path": "",
        "fingerprint": "",
        "files": [{"path": path, "bytes": one.bytes, "sha256": one.sha256} for path, one in record.files.items()],
        "bytes": record.bytes,
        "facts": dict(record.facts),
    }


def open_store(place: str) -> Store:
    """The registry that an operator names: a directory, or ``s3://bucket/prefix``."""
    found = bucket_and_prefix(place)
    if found is not None:
        return BucketStore(*found, REGISTRY)
    if "://" in place or place.startswith("s3:") or not place.startswith("/") or not place.isprintable():
        raise GaudiError(
            f"{REGISTRY} {place[:200]!r} is not a place for models; name a directory from / on, or a bucket as "
            "s3://bucket/prefix."
        )
    return DirectoryStore(place, REGISTRY)


@dataclass(frozen=True)
class Candidate:
    """A model that may be published: its directory was read as a whole."""

    directory: ModelDirectory
    record: Record


def candidate(name: str, path: str, facts: Mapping[str, Any]) -> Candidate:
    """Read every file of the directory; GaudiError for what is no model of files alone."""
    directory = ModelDirectory(path, PATH)
    files = {one: digest for one, digest in directory.digests().items() if one not in (RECORD, SIGNATURE)}
    if not files:
        raise GaudiError(f"{PATH} {path}: it has no files of a model; name the directory of an exported model.")
    record = Record(check_name("name", name), files, records.checked_facts("facts", facts))
    return Candidate(directory, record)


def is_published(store: Store, name: str, version: str) -> bool:
    """Whether all of it is there: the signature is what is written last."""
    return store.read(f"{folder_of(name, version)}/{SIGNATURE}", signature.MOST_BYTES) is not None


def publish(store: Store, model: Candidate, key: str, fingerprint: str, run: Run) -> Published:
    """Write files, record and signature. GaudiError where a file changed meanwhile, and for a key of another name."""
    record, version = model.record, model.record.version
    public = signature.public_key(key, KEY, run)
    if fingerprint not in ("", signature.fingerprint(public)):
        raise GaudiError(
            f"{KEY} {key} has the fingerprint {signature.fingerprint(public)}, and {FINGERPRINT} is {fingerprint}; "
            "name the file of the other key, or correct the fingerprint."
        )
    if not is_published(store, record.name, version):
        folder = folder_of(record.name, version)
        for path, digest in record.files.items():
            _put(store, f"{folder}/{path}", lambda path=path: model.directory.opened(path), digest, path)  # type: ignore[misc]
        store.create(key_of(signature.fingerprint(public)), public.encode("ascii"))
        store.create(f"{folder}/{RECORD}", record.text())
        signed = signature.sign(record.name, _all_digests(record), key, public, run)
        store.create(f"{folder}/{SIGNATURE}", signed)
    return examine(store, record.name, version, signature.fingerprint(public), run)


def find_version(store: Store, name: str, wanted: str) -> str:
    """Of an alias, a version or its first digits the version. GaudiError where there is none, or several."""
    known = [one for one in store.names(versions_of(name)) if is_whole_version(one)]
    if not known:
        raise GaudiError(
            f"There is no model {name} in {store.address('').rstrip('/')}; publish it, or correct the name."
        )
    if is_version(wanted):
        fitting = [one for one in known if one.startswith(wanted)]
        if len(fitting) == 1:
            return fitting[0]
        what = "no version" if not fitting else "more than one version"
        raise GaudiError(f"{name} has {what} {wanted}; it has {', '.join(one[:12] for one in known[:5])}.")
    alias = read_alias(store, name, check_name("version", wanted))
    if not alias.version:
        aliases = store.names(f"models/{name}/aliases")
        has = f"it has {', '.join(aliases[:10])}" if aliases else "it has none yet"
        raise GaudiError(f"{name} has no alias {wanted}; {has}.")
    return alias.version


def examine(store: Store, name: str, version: str, fingerprint: str, run: Run) -> Published:
    """What was signed of a version, without reading its files. GaudiError where no record is there, or it does not fit.

    An empty ``fingerprint`` takes the key that lies in the registry: damage is found then, and forgery is not.
    """
    folder = folder_of(name, version)
    text = store.read(f"{folder}/{RECORD}", records.MOST_BYTES)
    content = store.read(f"{folder}/{SIGNATURE}", signature.MOST_BYTES)
    if text is None or content is None:
        raise GaudiError(
            f"{store.address(folder)} has no {RECORD if text is None else SIGNATURE}, so nobody says what it is; "
            "publish it again from its export.",
            version=version,
        )
    try:
        used = fingerprint or signature.signer(content)
        signed_name, digests = signature.signed_files(content, _public_key(store, used), run)
        record = records.parse(text)
        _compare(record, digests, name, version, signed_name, text)
    except ValueError as error:
        raise _refused(store, folder, str(error)) from error
    return Published(name, version, store.address(folder), used, record)


def verify(store: Store, name: str, version: str, fingerprint: str, run: Run) -> Published:
    """:func:`examine`, and every byte of every file. GaudiError for the first that is not as it was signed."""
    found = examine(store, name, version, fingerprint, run)
    folder = folder_of(name, version)
    _compare_names(store, folder, found.record)
    for path, digest in found.record.files.items():
        with store.opened(f"{folder}/{path}") as stream:
            _compare_file(store, folder, path, digest_of(stream), digest)
    return found


def fetch(store: Store, found: Published, destination: str) -> None:
    """Copy a version to a directory that is not there yet, verified on its way; all of it is there then, or nothing."""
    target = Path(destination)
    folder = folder_of(found.name, found.version)
    _compare_names(store, folder, found.record)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}-{found.version[:12]}-{os.getpid()}")
        unfinished.mkdir()
        try:
            for path, digest in found.record.files.items():
                _copy(store, folder, path, digest, unfinished / path)
            for path in (RECORD, SIGNATURE):
                (unfinished / path).write_bytes(store.read(f"{folder}/{path}", signature.MOST_BYTES) or b"")
            unfinished.replace(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise GaudiError(
            f"destination {destination}: {error.strerror}; remove what is there, or name another."
        ) from error


def same_there(found: Published, destination: str) -> bool:
    """Whether that directory has this version already, byte by byte."""
    if not Path(destination).is_dir() or not any(Path(destination).iterdir()):
        return False
    there = dict(ModelDirectory(destination, "destination").digests())
    there.pop(SIGNATURE, None)
    return {path: one.sha256 for path, one in there.items()} == _all_digests(found.record)


def _all_digests(record: Record) -> dict[str, str]:
    return {**{path: one.sha256 for path, one in record.files.items()}, RECORD: record.version}


def _public_key(store: Store, fingerprint: str) -> str:
    """That of the registry, if it is the one: its name says nothing. ValueError where it is missing."""
    content = store.read(key_of(fingerprint), _MOST_KEY_BYTES) if is_whole_version(fingerprint) else None
    text = (content or b"").decode("ascii", "replace")
    if not text.isascii() or signature.fingerprint(text) != fingerprint:
        raise ValueError(f"the key {fingerprint[:64]} is not in the registry")
    return text


def _compare(
    record: Record, digests: Mapping[str, str], name: str, version: str, signed_name: str, text: bytes
) -> None:
    if records.version_of(text) != version or digests.get(RECORD) != version:
        raise ValueError(f"its {RECORD} is not the one of this version")
    if {record.name, signed_name} != {name}:
        raise ValueError(f"it is signed as {signed_name}")
    if digests != _all_digests(record):
        raise ValueError("its record does not fit what is signed")


def _compare_names(store: Store, folder: str, record: Record) -> None:
    there, listed = set(store.below(folder)), {*record.files, RECORD, SIGNATURE}
    for path in sorted(listed - there)[:1]:
        raise _refused(store, folder, f"{path} is missing")
    for path in sorted(there - listed)[:1]:
        raise _refused(store, folder, f"{path[:200]!r} is not in its record")


def _compare_file(store: Store, folder: str, path: str, found: Digest, wanted: Digest) -> None:
    if found.bytes != wanted.bytes:
        raise _refused(store, folder, f"{path} has {found.bytes} bytes instead of {wanted.bytes}")
    if found.sha256 != wanted.sha256:
        raise _refused(store, folder, f"{path} is changed or damaged")


def _refused(store: Store, folder: str, clause: str) -> GaudiError:
    name, version = folder.split("/")[1], folder.split("/")[3]
    return GaudiError(
        f"The model {name} {version[:12]} is refused: {clause} ({store.address(folder)}); use another version, or "
        "publish it again from its export.",
        version=version,
    )


def _put(
    store: Store,
    key: str,
    opened: Callable[[], contextlib.AbstractContextManager[BinaryIO]],
    digest: Digest,
    path: str,
) -> None:
    with opened() as stream:
        counted = Digesting(stream)
        store.put(key, counted)
    if counted.digest() != digest:
        store.remove(key)
        raise GaudiError(f"{PATH}: {path} was changed while it was published; run it again when nobody writes there.")


def _copy(store: Store, folder: str, path: str, digest: Digest, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with store.opened(f"{folder}/{path}") as stream, target.open("xb") as written:
        counted = Digesting(stream)
        shutil.copyfileobj(counted, written, PIECE)
    _compare_file(store, folder, path, counted.digest(), digest)


def expected_version(store: Store, name: str, expected: str) -> str:
    """What the mover takes an alias for: a version, or nothing."""
    return "" if expected == NOTHING else find_version(store, name, expected)
