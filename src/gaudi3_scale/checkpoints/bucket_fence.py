# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fence of a bucket: the object ``fence.json`` below its prefix, signed with the job's key.

A node with checkpoints of its own has a fence of its own, which no later generation on other nodes can take.
"""

from __future__ import annotations

import logging
from typing import Any, Callable

from gaudi3_scale.checkpoints.bucket_url import split
from gaudi3_scale.checkpoints.fence import (
    FILE_NAME,
    MOST_BYTES,
    Generation,
    Holder,
    fence_text,
    read_fence,
    require_own,
    successor,
)
from gaudi3_scale.checkpoints.signature import opened_fence, signed_fence

LOG = logging.getLogger(__name__)


class BucketFence:
    """The fence at ``url`` as the rank of generation ``mine`` sees it that uploads; ``client`` makes one of boto3."""

    def __init__(self, url: str, key: bytes, mine: Generation, client: Callable[[], Any]) -> None:
        self._url = f"{url}/{FILE_NAME}"
        self._key = key
        self._mine = mine
        self._client = client
        bucket, prefix = split(url)
        self._object = {"Bucket": bucket, "Key": f"{prefix}{FILE_NAME}"}
        self._taken = False

    def hold(self) -> None:
        """Take it where this has not happened yet, or where it is gone; else see that it is still held.

        FenceError where another has it. A storage knows rules by which objects expire, so that a fence that is gone is
        nobody's. One that the job's key did not sign is of no generation of this job: whoever may write the bucket
        could as well have removed it.
        """
        client = self._client()
        found = self._holder(client)
        if found and self._taken:
            require_own(found, self._mine, self._url)
            return
        holder = successor(found, self._mine, self._url)
        if holder != found:
            client.put_object(**self._object, Body=signed_fence(fence_text(holder), self._key))
        self._taken = True

    def _holder(self, client: Any) -> Holder | None:
        try:
            body = client.get_object(**self._object)["Body"]
        except client.exceptions.NoSuchKey:
            return None
        # In its envelope each quote of the text is two characters.
        content = body.read(2 * MOST_BYTES)
        try:
            return read_fence(opened_fence(content, self._key))
        except ValueError as error:
            LOG.warning("gaudi3_scale: %s does not belong to a generation of this job: %s; replaced.", self._url, error)
            return None
