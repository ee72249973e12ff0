# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Amazon's two services as boto3 asks them, each failure as a sentence. The only file that imports what is no part of
Python: the distribution's boto3, which is there where this runs as a program."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.screen_text import one_line
from .options import AMAZON, Target
from .points import Point

# Once: what was slow may have arrived all the same, and the next run has newer values.
CONNECT_S, ANSWER_S, ATTEMPTS = 5, 10, 1
CLOUDWATCH, STS = "cloudwatch", "sts"
_NAMES = {CLOUDWATCH: "CloudWatch", STS: "Amazon's STS"}
# What of an error's code says what to do; the first that fits.
_REMEDIES = (
    ("AccessDenied", "allow the credentials cloudwatch:PutMetricData"),
    ("Unauthorized", "allow the credentials cloudwatch:PutMetricData"),
    ("Throttl", "raise interval, or give fewer metrics"),
    ("LimitExceeded", "raise interval, or give fewer metrics"),
    ("Token", "renew the credentials"),
    ("Signature", "renew the credentials, and check the machine's clock"),
    ("UnrecognizedClient", "renew the credentials"),
    # Where something on the way answers that is not Amazon.
    ("403", "check the credentials and their permissions"),
)
_OTHERWISE = "look up the code in Amazon's documentation"


def check_private(directory: str) -> None:
    """GaudiError where somebody else could read the operator's credentials, or put others in their place."""
    for path in (Path(directory), Path(directory, "credentials")):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        if found.st_uid not in (0, os.geteuid()) or stat.S_IMODE(found.st_mode) & 0o077:
            raise GaudiError(
                f"{path} is not owned by root alone; run chown -R root {directory} and chmod -R go-rwx "
                f"{directory}, and renew the "
                "credentials in it."
            )


@contextmanager
def amazon(service: str, target: Target) -> Iterator[Any]:
    """A client of the service, whose credentials boto3 finds by itself."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
    except ImportError as error:
        raise GaudiError(f"boto3 cannot be imported ({error}); install the distribution's python3-boto3.") from error
    place = f"{_NAMES[service]} in {target.region}"
    url = target.endpoint if service == CLOUDWATCH else target.sts_endpoint
    config = Config(
        connect_timeout=CONNECT_S,
        read_timeout=ANSWER_S,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
    )
    try:
        yield boto3.Session(region_name=target.region).client(service, endpoint_url=url, config=config)
    except NoCredentialsError as error:
        what = f"give the machine an IAM role, or put them into {AMAZON}/credentials"
        raise GaudiError(f"boto3 finds no credentials for {place}; {what} (docs/monitoring.md).") from error
    except ClientError as error:
        raise GaudiError(_refused(place, error.response)) from error
    # A ValueError is what an endpoint that is no URL gives.
    except (BotoCoreError, ValueError) as error:
        reason = one_line(f"{type(error).__name__}: {error}", 300)
        raise GaudiError(f"{place} does not respond ({reason}); check the route and proxy.") from error


def _refused(place: str, response: Any) -> str:
    told = response.get("Error", {})
    code = one_line(str(told.get("Code", "no code")), 80)
    remedy = next((remedy for part, remedy in _REMEDIES if part in code), _OTHERWISE)
    said = one_line(str(told.get("Message", "")), 300).rstrip(". ")
    return f"{place} refuses the call ({code}: {said}); {remedy}."


def account_of(client: Any) -> str:
    """The account that the credentials are of."""
    return str(client.get_caller_identity()["Account"])


def put(client: Any, namespace: str, batch: Sequence[Point]) -> None:
    """One call."""
    client.put_metric_data(Namespace=namespace, MetricData=[point.datum for point in batch])
