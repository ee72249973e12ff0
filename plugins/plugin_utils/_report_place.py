# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Where pages go, from the controller: a directory of it, or a bucket.

What is wrong with a place is one sentence in a GaudiError, whose facts ``what`` and ``remedy`` are its two halves.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Union

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.bucket_url import bucket_and_prefix
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import WantedFile, pending, write

OPTION = "gaudi_report_target"
# Below the directory where ansible-playbook was started.
DEFAULT_DIRECTORY = "gaudi3_scale_reports"
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".yml": "application/yaml; charset=utf-8",
}
# At the worst about a minute and a half, since a play has to end.
CONNECT_TIMEOUT_S, READ_TIMEOUT_S, ATTEMPTS = 5, 20, 3
# What S3 answers that may be different a little later.
BUSY = ("SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "500", "502", "503", "504")


@dataclass(frozen=True)
class Document:
    """A file to keep. ``mode`` and ``backup`` are for directories; what a bucket does is its owner's affair."""

    name: str
    content: str
    mode: int = 0o644
    backup: bool = False


@dataclass(frozen=True)
class Directory:
    """A directory of the controller, which need not be there yet."""

    path: Path
    option: str = OPTION

    def address(self, name: str) -> str:
        return str(self.path / name)

    def refuse_unusable(self) -> None:
        """Raises GaudiError where nothing can be written; makes nothing."""
        try:
            there = next(path for path in (self.path, *self.path.parents) if os.path.lexists(path))
            if not there.is_dir():
                raise _refusal(f"{self.option} {self.path}", f"{there} is not a directory", "name another place")
        except OSError as error:
            raise _refusal(f"{self.option} {self.path}", f"{error.strerror}", "name another place") from error
        if not os.access(there, os.W_OK | os.X_OK):
            # By number: in a container this user may have no name.
            what = f"user {os.geteuid()} may not write to {there}"
            raise _refusal(f"{self.option} {self.path}", what, "name another place, or give the right to")

    def write(self, document: Document) -> str:
        """Put the file there as a whole, by a rename; returns its path."""
        file = WantedFile(self.address(document.name), document.content, document.mode, document.backup)
        try:
            for change in pending([file]):
                write(change)
        except OSError as error:
            remedy = "free space there, or name another place" if error.errno == errno.ENOSPC else "name another place"
            raise _refusal(f"{self.option} {file.path}", f"{error.strerror}", remedy) from error
        return file.path

    def read(self, name: str) -> str:
        path = self.path / name
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            sentence = f"{self.option}: there is no {path}; correct the name, or save it first."
            raise GaudiError(sentence, absent=True) from error
        except UnicodeDecodeError as error:
            raise GaudiError(f"{self.option}: {path} is not text; correct the name.") from error
        except OSError as error:
            raise _refusal(f"{self.option} {path}", f"{error.strerror}", "correct the name") from error


@dataclass(frozen=True)
class BucketPrefix:
    """All keys of a bucket that begin with ``prefix``; boto3 finds endpoint (AWS_ENDPOINT_URL_S3), key and region."""

    bucket: str
    prefix: str
    option: str = OPTION

    def address(self, name: str) -> str:
        return f"s3://{self.bucket}/{self.prefix}{name}"

    def refuse_unusable(self) -> None:
        """Raises GaudiError where nothing can be written; leaves nothing.

        An upload is begun and given up: who may only write, as befits a controller, may not ask about the bucket.
        """
        with self._client("written") as client:
            from botocore.exceptions import ClientError

            key = f"{self.prefix}gaudi3_scale.check"
            begun = client.create_multipart_upload(Bucket=self.bucket, Key=key)
            # Without the right to, what was begun has no parts, and is none of the bucket's objects.
            with suppress(ClientError):
                client.abort_multipart_upload(Bucket=self.bucket, Key=key, UploadId=begun["UploadId"])

    def write(self, document: Document) -> str:
        """Upload the file; access and encryption are as the bucket has them. Returns its URL."""
        with self._client("written") as client:
            client.put_object(
                Bucket=self.bucket,
                Key=f"{self.prefix}{document.name}",
                Body=document.content.encode("utf-8", "surrogateescape"),
                ContentType=CONTENT_TYPES.get(PurePosixPath(document.name).suffix, "text/plain; charset=utf-8"),
            )
        return self.address(document.name)

    def read(self, name: str) -> str:
        with self._client("read", name) as client:
            body: bytes = client.get_object(Bucket=self.bucket, Key=f"{self.prefix}{name}")["Body"].read()
        return body.decode("utf-8", "replace")

    @contextmanager
    def _client(self, verb: str, name: str = "") -> Iterator[Any]:
        subject = f"{self.option} {self.address(name).rstrip('/')}"
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            what = f"boto3 is not in the Python that runs Ansible ({sys.executable})"
            raise _refusal(subject, what, "install it there, or name a directory") from error
        retries = {"total_max_attempts": ATTEMPTS, "mode": "standard"}
        try:
            config = Config(connect_timeout=CONNECT_TIMEOUT_S, read_timeout=READ_TIMEOUT_S, retries=retries)
            yield boto3.Session().client("s3", config=config)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code"))
            refusal = _refusal(subject, *_answered(code, verb))
            refusal.facts["absent"] = code == "NoSuchKey"
            raise refusal from error
        # A ValueError is what an endpoint that is no URL gives.
        except (BotoCoreError, ValueError) as error:
            raise _refusal(subject, *_not_answered(type(error).__name__)) from error


Place = Union[Directory, BucketPrefix]


@dataclass(frozen=True)
class Kept:
    """The addresses of the files in their order, and a sentence where they are not where they were to be."""

    addresses: Sequence[str]
    error: str = ""


def place(text: str, option: str = OPTION) -> Place:
    """What the operator has written: nothing, a directory, or ``s3://bucket/prefix``. Raises GaudiError."""
    found = bucket_and_prefix(text)
    if found is not None:
        return BucketPrefix(*found, option)
    remedy = "name a directory, or a bucket as s3://bucket/prefix"
    if "://" in text or text.startswith("s3:"):
        raise _refusal(f"{option} {text}", "there is no such place", remedy)
    if not text.isprintable():
        raise _refusal(f"{option} {text!r}", "a path cannot contain these characters", remedy)
    try:
        return Directory(Path(text or DEFAULT_DIRECTORY).expanduser().absolute(), option)
    except RuntimeError as error:
        raise _refusal(f"{option} {text}", "there is no such home", remedy) from error
    except FileNotFoundError as error:
        raise _refusal(f"{option} {text}".rstrip(), "the directory of this run is gone", remedy) from error


def file_place(text: str, name: str) -> tuple[str, str]:
    """Of a file that the operator has named the place, for :func:`place`, and its name there.

    It is ``name`` where the operator has named only a directory, or a bucket.
    """
    folder, slash, last = text.rpartition("/")
    if not last or folder == "s3:/":
        return text, name
    return folder or slash or ".", last


def keep(text: str, documents: Sequence[Document], option: str = OPTION) -> Kept:
    """Write all documents to the place, or, where that fails, all of them to a directory that takes them.

    A play's verdict does not hang on its page, so this raises nothing.
    """
    try:
        wanted = place(text, option)
        return Kept([wanted.write(document) for document in documents])
    except GaudiError as error:
        what, remedy = error.facts.get("what", str(error).rstrip(".")), error.facts.get("remedy", "name another place")
    for refuge in _refuges():
        try:
            addresses = [refuge.write(document) for document in documents]
        except GaudiError:
            continue
        return Kept(addresses, f"{what}, so it is kept in {refuge.path}; {remedy}.")
    return Kept([], f"{what}, and no directory of the controller accepts it; {remedy}.")


def _refuges() -> Iterator[Directory]:
    with suppress(FileNotFoundError):
        yield Directory(Path(DEFAULT_DIRECTORY).absolute())
    # One of its own: a name that others can foresee may be theirs already.
    with suppress(OSError):
        yield Directory(Path(tempfile.mkdtemp(prefix=f"{DEFAULT_DIRECTORY}-")))


def _answered(code: str, verb: str) -> tuple[str, str]:
    if code in ("NoSuchBucket", "404"):
        return "there is no such bucket", "make it, or correct the name"
    if code == "NoSuchKey":
        return "it is not there", "correct the name, or save it first"
    if code in BUSY:
        return f"the storage answered {code}", "run it again later, or name a directory"
    return f"it cannot be {verb} ({code})", "check the credentials that boto3 finds, and what they may do there"


def _not_answered(name: str) -> tuple[str, str]:
    if "Credential" in name or name in ("ProfileNotFound", "TokenRetrievalError", "SSOTokenLoadError"):
        return f"boto3 finds no credentials ({name})", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
    return f"it does not answer ({name})", "check AWS_ENDPOINT_URL_S3 and the network"


def _refusal(subject: str, what: str, remedy: str) -> GaudiError:
    return GaudiError(f"{subject}: {what}; {remedy}.", what=f"{subject}: {what}", remedy=remedy)
