# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Asking the Prometheus of this machine for the values of some metrics, over TLS (HTTP API, ``/api/v1/query``)."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .._errors import GaudiError
from .._node.json_file import parse_object
from .._node.listening import place_of
from .._node.screen_text import one_line
from .._node.tls_identity import CERTIFICATE, KEY
from .options import Source, Target
from .points import Sample

# As long as Prometheus itself lets a question run here, and more than 100,000 series take.
SECONDS, LARGEST = 10.0, 1 << 26
_SHOWN = 3


class SilentError(GaudiError):
    """Prometheus does not answer, or not yet."""


@dataclass(frozen=True)
class Reading:
    """What Prometheus has now: how many series of each metric, and their values."""

    series: Mapping[str, int]
    samples: Sequence[Sample]


def read(source: Source, target: Target, now: float) -> Reading:
    """GaudiError where there are more series than the target takes: these are counted first, and not fetched."""
    selected = f'{{__name__=~"{"|".join(target.metrics)}"}}'
    counted = _ask(source, f"count by (__name__) ({selected})", now)
    series = {sample.labels.get("__name__", ""): int(sample.value) for sample in counted}
    check_series(series, target.most)
    return Reading(series, _ask(source, selected, now) if series else [])


def check_series(series: Mapping[str, int], most: int) -> None:
    """GaudiError where there are more than ``most``, with those that have the most."""
    total = sum(series.values())
    if total > most:
        largest = sorted(series, key=lambda name: -series[name])[:_SHOWN]
        named = ", ".join(f"{name} {series[name]}" for name in largest)
        raise GaudiError(
            f"metrics come to {total} series ({named}), and most is {most}; raise most, or give fewer metrics."
        )


def _ask(source: Source, query: str, now: float) -> list[Sample]:
    body = urlencode({"query": query, "time": f"{now:.3f}", "timeout": f"{SECONDS:g}s"})
    place = place_of(source.host, source.port)
    try:
        status, said = _post(source, body)
    except (OSError, http.client.HTTPException, ssl.SSLError) as error:
        reason = one_line(str(error) or type(error).__name__, 200)
        raise SilentError(f"Prometheus at {place} does not respond ({reason}); check its unit.") from error
    if status == http.client.SERVICE_UNAVAILABLE:
        raise SilentError(f"Prometheus at {place} does not respond yet; if this persists, check its unit.")
    try:
        return samples_of(parse_object(said, LARGEST))
    except ValueError as error:
        what = one_line(str(error), 200)
        raise GaudiError(
            f"Prometheus at {place} returned an unusable answer ({status}: {what}); check its log."
        ) from error


def _post(source: Source, body: str) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection(source.host, source.port, timeout=SECONDS, context=_context(source))
    try:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/api/v1/query", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(LARGEST + 1)
    finally:
        connection.close()


def _context(source: Source) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=source.certificate)
    # Nobody else has a key for the one certificate that is believed, whatever names are in it.
    context.check_hostname = False
    own = Path(source.own_directory)
    if (own / KEY).is_file():
        context.load_cert_chain(own / CERTIFICATE, own / KEY)
    return context


def samples_of(answer: Mapping[str, Any]) -> list[Sample]:
    """ValueError for what is no answer with a vector."""
    if answer.get("status") != "success":
        raise ValueError(str(answer.get("error")))
    try:
        return [
            Sample(
                {str(name): str(value) for name, value in entry["metric"].items()},
                float(entry["value"][0]),
                float(entry["value"][1]),
            )
            for entry in answer["data"]["result"]
        ]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError("it is not a vector") from error
