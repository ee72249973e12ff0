# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in S3-compatible storage: ``s3://bucket/prefix/step-00000100/…``, the signed manifest uploaded last.

What is there is data of whoever may write there: it is the job's where the job's key says so.

Endpoint, credentials and region come from where boto3 finds them: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, and so on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

from gaudi3_scale.checkpoints.bucket_fence import BucketFence
from gaudi3_scale.checkpoints.bucket_url import split
from gaudi3_scale.checkpoints.fence import Generation
from gaudi3_scale.checkpoints.files import Check, Retention, manifest_of, step_of, surplus, unfenced
from gaudi3_scale.checkpoints.manifest import MANIFEST, Manifest
from gaudi3_scale.checkpoints.signature import ForeignError, opened, signed
from gaudi3_scale.checkpoints.transfer import CHUNK_BYTES, put_files

# Of a checkpoint that 4,096 ranks wrote it is 1 MB.
_MOST_MANIFEST_BYTES = 64 << 20


class Bucket:
    """Checkpoints below one prefix. Every method raises :attr:`errors` when the storage fails.

    ``key`` signs what goes up, and knows what comes down. Without one nothing goes up, and what comes down is refused
    but where ``accept_unsigned``. With a ``generation`` of the job's ranks the bucket has a fence as well, for a later
    one on another node: FenceError where that has it, before anything there is written or removed.
    """

    def __init__(
        self, url: str, key: bytes | None, accept_unsigned: bool = False, generation: Generation | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._signing_key = key
        self._accept_unsigned = accept_unsigned
        self._bucket, self._prefix = split(url)
        self._fence = BucketFence(self.url, key, generation, self._client) if key and generation else None

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
        assert self._signing_key
        manifest = manifest_of(folder)
        for name in sorted(manifest.files):
            self.hold_fence()
            # In this thread alone: a process that ends does not wait for threads of its own then.
            self._client().upload_file(
                str(folder / name), self._bucket, self._key(manifest.step, name), Config=_transfer()
            )
        # Left by a run of more ranks that did not get to its manifest.
        for name in {*self._files().get(manifest.step, ())} - {*manifest.files, MANIFEST}:
            self._remove(manifest.step, name)
        self.hold_fence()
        self._client().put_object(
            Bucket=self._bucket, Key=self._key(manifest.step, MANIFEST), Body=signed(manifest, self._signing_key)
        )
        return manifest.bytes

    def download(self, step: int, directory: Path, check: Check = unfenced) -> None:
        """Put a checkpoint into ``directory``.

        Raises OSError where that fails, ForeignError where it is not known to be the job's, else ValueError where it is
        damaged. ``check`` is that of the directory.
        """
        manifest = self._manifest(step)
        unexpected = sorted({*self._files().get(step, ())} - {*manifest.files, MANIFEST})
        if unexpected:
            raise ForeignError(f"{unexpected[0]!r} lies there, and {MANIFEST} does not list it")
        put_files(manifest, directory, lambda name: self._chunks(step, name, manifest.files[name].bytes), check)

    def _manifest(self, step: int) -> Manifest:
        content = self._object(step, MANIFEST)["Body"].read(_MOST_MANIFEST_BYTES + 1)
        try:
            if len(content) > _MOST_MANIFEST_BYTES:
                raise ValueError("it is not a manifest")
            manifest = opened(content, self._signing_key, self._accept_unsigned)
        except ForeignError as error:
            raise ForeignError(f"{MANIFEST}: {error}") from error
        except ValueError as error:
            raise ValueError(f"{MANIFEST}: {error}") from error
        if manifest.step != step:
            raise ValueError(f"{MANIFEST}: it is of step {manifest.step}")
        return manifest

    def take_out(self, step: int) -> None:
        """Without its manifest a checkpoint is no longer whole, and is removed with the next surplus."""
        self._remove(step, MANIFEST)

    def remove_surplus(self, retention: Retention) -> None:
        """By the same rule as on the nodes; also what never became whole before the newest whole one."""
        files = self._files()
        whole = [step for step, names in files.items() if MANIFEST in names]
        half = [step for step in files if step not in whole and step < max(whole, default=0)]
        for step in [*surplus(whole, retention), *half]:
            # The manifest first: half of a checkpoint is none.
            for name in sorted(files[step], key=lambda name: name != MANIFEST):
                self._remove(step, name)

    def hold_fence(self) -> None:
        """Take the fence at the first call; FenceError where a later generation of the ranks has it."""
        if self._fence:
            self._fence.hold()

    def _remove(self, step: int, name: str) -> None:
        self.hold_fence()
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

    def _chunks(self, step: int, name: str, size: int) -> Iterator[bytes]:
        found = self._object(step, name)
        if found["ContentLength"] != size:
            raise ValueError(f"{name} has {found['ContentLength']} bytes instead of {size}")
        chunks: Iterator[bytes] = found["Body"].iter_chunks(CHUNK_BYTES)
        return chunks

    def _object(self, step: int, name: str) -> Any:
        return self._client().get_object(Bucket=self._bucket, Key=self._key(step, name))

    def _key(self, step: int, name: str) -> str:
        return f"{self._prefix}step-{step:08d}/{name}"

    def _client(self) -> Any:
        """Made at each use: credentials that were renewed are taken."""
        return storage_client()


def storage_client(connections: int = 10) -> Any:
    """boto3's client of S3, for so many reads at once."""
    import boto3
    from botocore.config import Config

    config = Config(connect_timeout=10, read_timeout=60, retries={"max_attempts": 2}, max_pool_connections=connections)
    try:
        return boto3.client("s3", config=config)
    except KeyError:
        # Lightning takes WORLD_SIZE out of the environment as it ends (LightningEnvironment.teardown), and that may
        # be while this thread looks through it for proxies.
        return boto3.client("s3", config=config)


def _transfer() -> Any:
    from boto3.s3.transfer import TransferConfig

    return TransferConfig(use_threads=False)
