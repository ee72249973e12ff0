# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What of a Prometheus is sent to Amazon's CloudWatch, and what of that cannot be meant."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._errors import GaudiError
from .._monitoring.options import ABSENT
from .._monitoring.options import DIRECTORY as MONITORING

# What on-call asks first: does anything alert, who is silent, which card is gone, how is the training.
METRICS = (
    "ALERTS",
    "up",
    "gaudi_cards_expected",
    "gaudi_cards_driven",
    "gaudi_card_operational",
    "gaudi_card_temperature_celsius",
    "gaudi_card_ecc_uncorrected_total",
    "gaudi_job_running",
    "gaudi_job_step",
    "gaudi_job_tokens_per_second",
    "gaudi_job_loss",
)
# Where boto3 looks for credentials beside a role of the machine. The operator's: we neither make it nor take it away.
AMAZON = "/etc/gaudi3_scale/aws"
NAMESPACE, INTERVAL_S, MOST = "Gaudi", 60, 500
SHORTEST_S, LONGEST_S, MOST_OF_ALL = 10, 3600, 100_000
# As eu-central-1, us-gov-west-1, eusc-de-east-1.
_REGION = re.compile(r"[a-z]{2,5}(-[a-z]{2,12}){1,3}-[0-9]{1,2}")
_NAMESPACE = re.compile(r"[A-Za-z0-9._/#-][A-Za-z0-9._/#:-]{0,254}")
_METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,254}")
_ACCOUNT = re.compile(r"[0-9]{12}")
_AMAZONS = "AWS/"


@dataclass(frozen=True)
class Target:
    """See the option ``cloudwatch`` of the module ``cloudwatch_forwarder``."""

    region: str
    namespace: str = NAMESPACE
    metrics: tuple[str, ...] = METRICS
    account: str | None = None
    interval: int = INTERVAL_S
    most: int = MOST
    endpoint: str | None = None
    sts_endpoint: str | None = None

    @property
    def limit_s(self) -> int:
        """How long one run may take: the next one has newer values."""
        return min(self.interval, 60)


@dataclass(frozen=True)
class Source:
    """The Prometheus of this machine; in ``directory`` are its certificate and what it knows us by."""

    address: str
    port: int
    directory: str = MONITORING

    @property
    def host(self) -> str:
        """Where it is asked: what listens at all addresses does so at the loopback."""
        place = ipaddress.ip_address(self.address)
        if not place.is_unspecified:
            return self.address
        return "127.0.0.1" if place.version == 4 else "::1"

    @property
    def certificate(self) -> str:
        return str(Path(self.directory, "certificate.pem"))

    @property
    def own_directory(self) -> str:
        return str(Path(self.directory, "cloudwatch"))


@dataclass(frozen=True)
class Options:
    """See the options of the module ``cloudwatch_forwarder``; ``target`` is None where nothing is sent."""

    state: str
    target: Target | None
    source: Source


def check(options: Options) -> None:
    """GaudiError for what is refused, in a sentence that names the option."""
    if options.state == ABSENT:
        return
    if options.target is None:
        raise GaudiError("cloudwatch is empty, so there is no target; give at least its region.")
    if not _is_address(options.source.address):
        raise GaudiError(
            f"prometheus_address is {options.source.address!r:.80}, which is not an address; give "
            "the address it listens on."
        )
    if not 0 < options.source.port < 65536:
        raise GaudiError(f"prometheus_port is {options.source.port}; give a port from 1 to 65535.")
    check_target(options.target)


def check_target(target: Target) -> None:
    """The same of where values are sent."""
    if not _REGION.fullmatch(target.region):
        raise GaudiError(f"region is {target.region!r:.80}, which is not an AWS region; give one such as eu-central-1.")
    _check_namespace(target.namespace)
    _check_metrics(target.metrics)
    if target.account is not None and not _ACCOUNT.fullmatch(target.account):
        raise GaudiError(f"account is {target.account!r:.80}; give the 12 digits of the account, in quotes.")
    for name, value, least, most in (
        ("interval", target.interval, SHORTEST_S, LONGEST_S),
        ("most", target.most, 1, MOST_OF_ALL),
    ):
        if not least <= value <= most:
            raise GaudiError(f"{name} is {value}; give {least} to {most}.")
    for name, url in (("endpoint", target.endpoint), ("sts_endpoint", target.sts_endpoint)):
        if url is not None:
            _check_url(name, url)


def _check_namespace(namespace: str) -> None:
    if not _NAMESPACE.fullmatch(namespace):
        raise GaudiError(
            f"namespace is {namespace!r:.80}; give letters, digits and . _ - / # up to 255 characters, such as Gaudi."
        )
    if namespace.upper().startswith(_AMAZONS):
        raise GaudiError(
            f"namespace is {namespace!r:.80}, but {_AMAZONS} is reserved by Amazon; use another, such as Gaudi."
        )


def _check_metrics(metrics: Sequence[str]) -> None:
    if not metrics:
        raise GaudiError("metrics is empty, so there is nothing to send; omit it for the default metrics.")
    for name in metrics:
        if not _METRIC.fullmatch(name):
            raise GaudiError(f"metrics has {name!r:.80}; give the name of a metric or a recording rule, such as up.")
    twice = sorted(name for name in set(metrics) if metrics.count(name) > 1)
    if twice:
        raise GaudiError(f"metrics has {twice[0]} twice; give it once.")


def _check_url(option: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        # A port that is none is met where it is asked for.
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise GaudiError(f"{option} is {url.rpartition('@')[2]!r:.80}; give https://HOST or https://HOST:PORT.")
    if "@" in parts.netloc:
        raise GaudiError(
            f"{option} contains credentials; give https://HOST, and set the credentials as described in "
            "docs/monitoring.md."
        )
    if parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        raise GaudiError(f"{option} would send a session's token to {host} over plain http; give an https address.")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def options_from(given: Mapping[str, Any]) -> Options:
    """From the module's own."""
    cloudwatch = given["cloudwatch"]
    source = Source(given["prometheus_address"], given["prometheus_port"])
    return Options(given["state"], target_from(cloudwatch) if cloudwatch else None, source)


def target_from(given: Mapping[str, Any]) -> Target:
    """From the option ``cloudwatch``, of which all but the region may be left out."""
    known = {name: value for name, value in given.items() if value is not None}
    return Target(**{**known, "metrics": tuple(known.get("metrics", METRICS))})
