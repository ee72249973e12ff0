# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in S3-compatible storage: ``s3://bucket/prefix/step-00000100/…``, the manifest uploaded last.

Endpoint, credentials and region come from where boto3 finds them: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, and so on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

from gaudi3_scale.checkpoints.bucket_url import split
from gaudi3_scale.checkpoints.files import MANIFEST, Retention, manifest_of, read_manifest, step_of, surplus
from gaudi3_scale.checkpoints.transfer import CHUNK_BYTES, put_files


class Bucket:
    """Checkpoints below one prefix. Every method raises :attr:`errors` when the storage fails."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._bucket, self._prefix = split(url)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        from boto3.exceptions import S3UploadFailedError
        from botocore.exceptions import BotoCoreError, ClientError

        return (BotoCoreError, ClientError, S3UploadFailedError)

    def steps(self) -> list[int]:
        """The steps with a whole checkpoint, in rising order."""
        return sorted(step for step, names in self._files().items() if MANIFEST in names)

    def upload(self, folder: Path) -> int:
        """Upload a whole checkpoint; returns its bytes. Raises OSError or ValueError where it went meanwhile."""
        manifest = manifest_of(folder)
        for name in [*sorted(manifest.files), MANIFEST]:
            # In this thread alone: a process that ends does not wait for threads of its own then.
            self._client().upload_file(
                str(folder / name), self._bucket, self._key(manifest.step, name), Config=_transfer()
            )
        return manifest.bytes

    def download(self, step: int, directory: Path) -> None:
        """Put a checkpoint into ``directory``. Raises OSError where that fails, ValueError where it is damaged."""
        manifest = read_manifest(self._body(step, MANIFEST).read())
        if manifest.step != step:
            raise ValueError(f"{MANIFEST}: it is of step {manifest.step}")
        put_files(manifest, directory, lambda name: self._chunks(step, name))

    def take_out(self, step: int) -> None:
        """Without its manifest a checkpoint is no longer whole, and is removed with the next surplus."""
        self._client().delete_object(Bucket=self._bucket, Key=self._key(step, MANIFEST))

    def remove_surplus(self, retention: Retention) -> None:
        """By the same rule as on the nodes; also what never became whole before the newest whole one."""
        files = self._files()
        whole = [step for step, names in files.items() if MANIFEST in names]
        half = [step for step in files if step not in whole and step < max(whole, default=0)]
        for step in [*surplus(whole, retention), *half]:
            # The manifest first: half of a checkpoint is none.
            for name in sorted(files[step], key=lambda name: name != MANIFEST):
                self._client().delete_object(Bucket=self._bucket, Key=self._key(step, name))

    def _files(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        pages = self._client().get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
        for page in pages:
            for entry in page.get("Contents", []):
                folder, _slash, name = entry["Key"].removeprefix(self._prefix).partition("/")
                step = step_of(folder)
                if step is not None and name:
                    found.setdefault(step, []).append(name)
        return found

    def _chunks(self, step: int, name: str) -> Iterator[bytes]:
        return self._body(step, name).iter_chunks(CHUNK_BYTES)

    def _body(self, step: int, name: str) -> Any:
        return self._client().get_object(Bucket=self._bucket, Key=self._key(step, name))["Body"]

    def _key(self, step: int, name: str) -> str:
        return f"{self._prefix}step-{step:08d}/{name}"

    def _client(self) -> Any:
        """Made at each use: credentials that were renewed are taken."""
        import boto3
        from botocore.config import Config

        return boto3.client("s3", config=Config(connect_timeout=10, read_timeout=60, retries={"max_attempts": 2}))


def _transfer() -> Any:
    from boto3.s3.transfer import TransferConfig

    return TransferConfig(use_threads=False)
