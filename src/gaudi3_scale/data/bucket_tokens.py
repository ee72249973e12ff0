# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Prepared tokens in S3-compatible storage, read window by window: ``--data s3://bucket/prefix``.

Nothing is kept on the node. Which windows are read, and in which order, is as with a local pair, so a job that goes on
reads from the window on at which it stopped, and its losses are those of a local pair bit for bit.
"""

from __future__ import annotations

import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Sequence, TypeVar

import numpy as np

from gaudi3_scale.checkpoints.bucket import storage_client
from gaudi3_scale.checkpoints.bucket_url import split
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.json_file import LARGEST
from gaudi3_scale.data.indexed_dataset import HEADER_BYTES, dtype_in
from gaudi3_scale.data.manifest import NAME, Manifest, manifest_in

READS = 16
"""So many windows of a batch are on their way at once."""
PATIENCE_S = 300.0
"""For so long a read is tried again where the storage does not answer, as while it is restarted."""
T = TypeVar("T")


class BucketTokens:
    """The ``count`` tokens of ``key``. A window is one read of just its bytes, of the object as it was at the start."""

    def __init__(self, bucket: str, key: str, etag: str, dtype: str, count: int) -> None:
        self._arguments = (bucket, key, etag, dtype, count)

    def __len__(self) -> int:
        return self._arguments[-1]

    @property
    def dtype(self) -> str:
        return self._arguments[3]

    def __getitem__(self, span: slice) -> np.ndarray:
        bucket, key, etag, dtype, count = self._arguments
        first, end, _step = span.indices(count)
        width = np.dtype(dtype).itemsize
        wanted = {"Range": f"bytes={first * width}-{end * width - 1}", "IfMatch": etag}
        content = _patiently(bucket, key, lambda: _get(bucket, key, **wanted))
        if len(content) != (end - first) * width:
            raise GaudiError(
                f"--data s3://{bucket}/{key}: {len(content)} bytes came where {(end - first) * width} were asked for; "
                "this storage does not read parts of a file: copy the data to the nodes."
            )
        return np.frombuffer(content, dtype)

    def several(self, spans: Sequence[slice]) -> list[np.ndarray]:
        """As many at once as :data:`READS`: of one after another each would wait for the storage."""
        with ThreadPoolExecutor(min(READS, max(1, len(spans)))) as readers:
            return list(readers.map(self.__getitem__, spans))

    def __reduce__(self) -> tuple[Any, ...]:
        return BucketTokens, self._arguments


def open_bucket(url: str) -> tuple[BucketTokens, Manifest]:
    """The tokens below ``url``, the path of a pair without its endings, and its manifest.

    Raises GaudiError where they are not there, are no whole pair, or have no manifest: without one every rank would
    have to read all tokens first.
    """
    bucket, prefix = split(url)
    base = prefix.rstrip("/")
    about = _patiently(bucket, base, lambda: _client().head_object(Bucket=bucket, Key=f"{base}.bin"))
    header = _patiently(bucket, base, lambda: _get(bucket, f"{base}.idx", Range=f"bytes=0-{HEADER_BYTES - 1}"))
    said = _patiently(bucket, base, lambda: _get(bucket, f"{base}.{NAME}", Range=f"bytes=0-{LARGEST}"))
    again = "copy all three files there again"
    try:
        dtype, manifest = dtype_in(header), manifest_in(said)
    except ValueError as error:
        raise GaudiError(f"--data {url}.idx, .{NAME}: {error}; {again}.") from error
    tokens = about["ContentLength"] // np.dtype(dtype).itemsize
    if tokens != manifest.tokens:
        raise GaudiError(
            f"--data {url}: there are {tokens} tokens instead of the {manifest.tokens} of its {NAME}; {again}."
        )
    return BucketTokens(bucket, f"{base}.bin", about["ETag"], dtype, tokens), manifest


def _get(bucket: str, key: str, **named: str) -> bytes:
    content: bytes = _client().get_object(Bucket=bucket, Key=key, **named)["Body"].read()
    return content


def _patiently(bucket: str, key: str, read: Callable[[], T]) -> T:
    """What ``read`` gives, tried again for a while where the storage fails. Raises GaudiError where that is no use."""
    from botocore.exceptions import BotoCoreError, ClientError

    deadline, pause = time.monotonic() + PATIENCE_S, 0.5
    while True:
        try:
            return read()
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status == 404:
                absent = error.response.get("Error", {}).get("Key") or key
                raise GaudiError(
                    f"--data s3://{bucket}/{key}: there is no s3://{bucket}/{absent}; copy PREFIX.bin, PREFIX.idx and "
                    f"PREFIX.{NAME} of gaudi3_scale data prepare there, or gaudi3_scale data check for the last."
                ) from error
            if status == 412:
                raise GaudiError(
                    f"--data s3://{bucket}/{key}: it was replaced during the training; put the old tokens back and "
                    "launch again, or begin a new job."
                ) from error
            failure: Exception = error
            final = 400 <= status < 500 and status not in (408, 429)
        except BotoCoreError as error:
            failure, final = error, False
        if final or time.monotonic() + pause > deadline:
            raise GaudiError(
                f"--data s3://{bucket}/{key}: {failure}; check AWS_ENDPOINT_URL and the credentials of the job "
                "(gaudi_training_environment)."
            ) from failure
        time.sleep(pause)
        pause = min(2 * pause, 20.0)


def _client() -> Any:
    """One of each process: a data loader's process must not read from its parent's connections."""
    return _client_of(os.getpid())


@functools.cache
def _client_of(_process: int) -> Any:
    return storage_client(connections=READS)
