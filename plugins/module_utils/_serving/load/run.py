# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One run: so many clients at the same time, each of which asks again once it has its answer."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..._errors import GaudiError
from .client import BrokenError, Connection, Sample
from .figures import figures
from .target import Target

MODELS, VERSION = "/v1/models", "/version"
# The likeliest ids of special tokens, which a prompt should not have, and what every vocabulary has.
_FIRST_TOKEN, _LEAST_VOCABULARY = 3, 256
_MISSED_SHARE = 0.05


@dataclass(frozen=True)
class Load:
    """``left_out`` are the first requests, which begin at the same time as no user's would; their latencies do not
    count. With ``first_token_ms`` the run ends once more than 5 % of all its requests must be above it."""

    concurrency: int
    requests: int
    input_tokens: int
    output_tokens: int
    timeout: float
    left_out: int = 0
    first_token_ms: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Served:
    """What the server says that it serves."""

    model: str
    version: str
    max_tokens: int


def measure(target: Target, load: Load) -> dict[str, Any]:
    """The figures of a run, and what was measured. Raises GaudiError where the server does not answer one request."""
    return asyncio.run(_measured(target, load))


async def _measured(target: Target, load: Load) -> dict[str, Any]:
    context = target.context()
    first = Connection(target, context)
    try:
        served = await _served(first, target)
        _refuse_length(served, load)
        bodies = prompts(served.model, target.vocabulary, load)
        await _probe(first, target, served.model, load)
    finally:
        first.close()
    samples: list[Sample] = []
    clients = [_client(Connection(target, context), bodies, load, samples) for _number in range(load.concurrency)]
    await asyncio.gather(*clients)
    samples.sort(key=lambda sample: sample.begun)
    about = {"model": served.model, "version": served.version, "concurrency": load.concurrency}
    return {**about, "stopped_early": len(samples) < load.requests, **figures(samples, load.left_out)}


async def _client(connection: Connection, bodies: Iterator[bytes], load: Load, samples: list[Sample]) -> None:
    try:
        for body in bodies:
            samples.append(await _within(connection, body, load.timeout))
            if is_missed(samples, load):
                return
    finally:
        connection.close()


async def _within(connection: Connection, body: bytes, seconds: float) -> Sample:
    asked = asyncio.ensure_future(connection.completion(body))
    done, _waiting = await asyncio.wait({asked}, timeout=seconds)
    if done:
        return asked.result()
    connection.close()
    sample = await asked
    sample.error = f"no whole answer within {seconds:g} s"
    return sample


def is_missed(samples: list[Sample], load: Load) -> bool:
    """Whether the 95th percentile is above its limit, however fast the remaining requests are."""
    if not load.first_token_ms:
        return False
    counted = samples[load.left_out :]
    late = sum(bool(sample.error) or sample.first_token * 1e3 > load.first_token_ms for sample in counted)
    return late > 1 + _MISSED_SHARE * (load.requests - load.left_out)


def prompts(model: str, vocabulary: int, load: Load) -> Iterator[bytes]:
    """The requests of a run: random tokens, so that no cache of prefixes answers, and always as many as asked for."""
    chance = random.Random(load.seed)
    most = max(vocabulary, _LEAST_VOCABULARY)
    same = {
        "model": model,
        "max_tokens": load.output_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    for _number in range(load.requests):
        prompt = [chance.randrange(_FIRST_TOKEN, most) for _place in range(load.input_tokens)]
        yield json.dumps({**same, "prompt": prompt}).encode()


async def _served(connection: Connection, target: Target) -> Served:
    try:
        found = await asyncio.wait_for(connection.get(MODELS), 30)
        cards = [card for card in found["data"] if not target.model or card["id"] == target.model]
    except (OSError, ValueError, KeyError, TypeError, BrokenError, asyncio.TimeoutError) as error:
        reason = str(error) or "no answer within 30 s"
        raise GaudiError(f"{target.authority} does not say which models it serves: {reason}.") from error
    if not cards:
        raise GaudiError(f"{target.authority} does not serve {target.model}.")
    version = ""
    try:
        version = str((await asyncio.wait_for(connection.get(VERSION), 30)).get("version", ""))
    except (OSError, ValueError, AttributeError, BrokenError, asyncio.TimeoutError):
        connection.close()  # a proxy, or another engine
    length = cards[0].get("max_model_len")
    return Served(str(cards[0]["id"]), version, length if isinstance(length, int) else target.max_tokens)


def _refuse_length(served: Served, load: Load) -> None:
    asked = load.input_tokens + load.output_tokens
    if served.max_tokens and asked > served.max_tokens:
        raise GaudiError(
            f"input_tokens and output_tokens are {load.input_tokens} + {load.output_tokens} = {asked}, but "
            f"{served.model} is served with at most {served.max_tokens} tokens; give fewer."
        )


async def _probe(connection: Connection, target: Target, model: str, load: Load) -> None:
    """One request before all others, whose error is everybody's."""
    one = replace(load, requests=1, seed=load.seed + 1)
    sample = await _within(connection, next(prompts(model, target.vocabulary, one)), load.timeout)
    if sample.error:
        raise GaudiError(f"{target.authority} does not answer one request: {sample.error}.")
