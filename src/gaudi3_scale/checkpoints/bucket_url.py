# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A place in S3-compatible storage, as it is written on a command line."""

from __future__ import annotations

import argparse
import importlib.util

from gaudi3_scale.core._node.bucket_url import bucket_and_prefix
from gaudi3_scale.extras import remedy


def s3_url(text: str) -> str:
    """``s3://bucket/prefix``, for argparse; what is wrong is told before anything is imported that takes seconds."""
    if bucket_and_prefix(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a place in S3; write it as s3://bucket/prefix")
    if importlib.util.find_spec("boto3") is None:
        raise argparse.ArgumentTypeError(f"boto3 is not in this Python; {remedy('s3')}")
    return text


def split(url: str) -> tuple[str, str]:
    """The bucket, and what every key begins with."""
    found = bucket_and_prefix(url)
    assert found, url
    return found
