# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A registry below a prefix of S3-compatible storage; boto3 finds endpoint (AWS_ENDPOINT_URL_S3), key and region."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, BinaryIO, Callable, Iterator, cast

from .._errors import GaudiError
from .files import Digesting

CONNECT_TIMEOUT_S, READ_TIMEOUT_S, ATTEMPTS = 10, 60, 3
# 409 where another one writes the same key just now.
_TAKEN = ("PreconditionFailed", "412", "ConditionalRequestConflict", "409")
_MISSING = ("NoSuchKey", "404")


class BucketStore:
    """All keys of a bucket that begin with ``prefix``."""

    def __init__(self, bucket: str, prefix: str, option: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._option = option
        self._made: dict[bool, Any] = {}

    def address(self, key: str) -> str:
        return f"s3://{self._bucket}/{self._prefix}{key}"

    def names(self, folder: str) -> list[str]:
        with self._told(folder):
            prefix = f"{self._prefix}{folder}/"
            found = set()
            for page in self._pages(prefix, "/"):
                found |= {entry["Key"][len(prefix) :] for entry in page.get("Contents", [])}
                found |= {entry["Prefix"][len(prefix) : -1] for entry in page.get("CommonPrefixes", [])}
            return sorted(found)
        raise AssertionError(folder)

    def below(self, folder: str) -> list[str]:
        with self._told(folder):
            prefix = f"{self._prefix}{folder}/"
            return sorted(
                entry["Key"][len(prefix) :] for page in self._pages(prefix, "") for entry in page.get("Contents", [])
            )
        raise AssertionError(folder)

    def read(self, key: str, most: int) -> bytes | None:
        with self._told(key), contextlib.suppress(KeyError):
            content: bytes = self._object(key).read(most + 1)
            if len(content) > most:
                raise GaudiError(f"{self._option}: {self.address(key)} has more than {most} bytes; it is none of ours.")
            return content
        return None

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[BinaryIO]:
        with self._told(key):
            try:
                stream = self._object(key)
            except KeyError:
                raise GaudiError(f"{self._option}: {self.address(key)} is not there.") from None
        with contextlib.closing(stream):
            yield cast("BinaryIO", _Reading(stream, lambda: self._told(key)))

    def create(self, key: str, content: bytes) -> bool:
        from botocore.exceptions import ClientError

        with self._told(key):
            try:
                self._client(only_new=True).put_object(Bucket=self._bucket, Key=self._prefix + key, Body=content)
            except ClientError as error:
                if _code(error) in _TAKEN:
                    # Of a request that was sent twice the first one may have been ours.
                    found: bytes = self._object(key).read(len(content) + 1)
                    return found == content
                raise
            return True
        raise AssertionError(key)

    def put(self, key: str, stream: Digesting) -> None:
        from boto3.s3.transfer import TransferConfig

        with self._told(key):
            # In this thread alone; what cannot be wound back is read once and in order.
            settings = TransferConfig(use_threads=False)
            self._client().upload_fileobj(stream, self._bucket, self._prefix + key, Config=settings)

    def remove(self, key: str) -> None:
        with self._told(key):
            self._client().delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def _pages(self, prefix: str, delimiter: str) -> Any:
        return (
            self._client()
            .get_paginator("list_objects_v2")
            .paginate(Bucket=self._bucket, Prefix=prefix, Delimiter=delimiter)
        )

    def _object(self, key: str) -> Any:
        """Its content as a stream; KeyError where it is not there."""
        from botocore.exceptions import ClientError

        try:
            return self._client().get_object(Bucket=self._bucket, Key=self._prefix + key)["Body"]
        except ClientError as error:
            if _code(error) in _MISSING:
                raise KeyError(key) from error
            raise

    def _client(self, only_new: bool = False) -> Any:
        import boto3
        from botocore.config import Config

        if only_new not in self._made:
            retries = {"total_max_attempts": ATTEMPTS, "mode": "standard"}
            config = Config(connect_timeout=CONNECT_TIMEOUT_S, read_timeout=READ_TIMEOUT_S, retries=retries)
            client = boto3.Session().client("s3", config=config)
            if only_new:
                # By its header: boto3 of Debian 12 and Ubuntu 24.04 has no parameter for it.
                client.meta.events.register("before-sign.s3.PutObject", _only_new)
            self._made[only_new] = client
        return self._made[only_new]

    @contextlib.contextmanager
    def _told(self, key: str) -> Iterator[None]:
        subject = f"{self._option}: {self.address(key)}"
        try:
            from boto3.exceptions import S3UploadFailedError
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise GaudiError(
                f"{subject}: boto3 is not in the Python that runs modules on this host ({sys.executable}); install "
                "python3-boto3 there, or name a directory."
            ) from error
        try:
            yield
        except ClientError as error:
            raise GaudiError(f"{subject}: {_answered(_code(error))}.") from error
        # A ValueError is what an endpoint that is no URL gives.
        except (BotoCoreError, S3UploadFailedError, ValueError, OSError) as error:
            raise GaudiError(
                f"{subject}: it does not answer ({type(error).__name__}); check AWS_ENDPOINT_URL_S3, the credentials "
                "that boto3 finds, and the network."
            ) from error


class _Reading:
    """An object's content, whose connection may fail at any piece."""

    def __init__(self, stream: Any, told: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
        self._stream = stream
        self._told = told

    def read(self, size: int = -1) -> bytes:
        with self._told():
            piece: bytes = self._stream.read(size if size >= 0 else None)
            return piece
        raise AssertionError


def _only_new(request: Any, **_more: object) -> None:
    request.headers["If-None-Match"] = "*"


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code"))


def _answered(code: str) -> str:
    if code in ("NoSuchBucket", "404"):
        return "there is no such bucket; make it, or correct the name"
    if code in ("NotImplemented", "501"):
        return "this storage cannot write only what is new (If-None-Match), so a move could be lost; use another one"
    return f"the storage refuses it ({code}); check the credentials that boto3 finds, and what they may do there"
