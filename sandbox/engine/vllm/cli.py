# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program ``vllm``: ``vllm serve MODEL``, and its life from the first line of its log to the end of its drain."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from . import cards
from .flags import parser, spelled
from .log import say


def main(words: Sequence[str] | None = None) -> int:
    """Entry of the console script."""
    version = importlib.metadata.version("vllm")
    arguments = parser(version).parse_args(spelled(list(sys.argv[1:] if words is None else words)))
    say(f"simulated vLLM API server version {version}: this is the sandbox's stand-in, and computes on the CPU")
    try:
        return _serve(arguments, version)
    except RefusedError as error:
        say(str(error), "core.py:1", "ERROR", "EngineCore_DP0")
        print("RuntimeError: Engine core initialization failed. See root cause above.", file=sys.stderr)
        return 1


class RefusedError(Exception):
    """Why the engine does not start."""


def _serve(arguments: argparse.Namespace, version: str) -> int:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    directory = arguments.model_tag or arguments.model
    try:
        length, held = _checked(directory, arguments)
    except (cards.NoDeviceError, ValueError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    # PyTorch is imported for what will start.
    from .starting import WarmUpError, started_server

    try:
        server = started_server(directory, arguments, length, version)
    except (OSError, ValueError, WarmUpError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    stop.wait()
    say(f"Shutting down: at most {arguments.shutdown_timeout} s for requests that run", "launcher.py:1")
    if not server.service.drain(arguments.shutdown_timeout):
        say(f"{server.service.in_flight} requests are aborted", "launcher.py:1", "WARNING")
        # As a real 0.32: without time they end as aborted, and with too little its engine is killed.
        server.service.scheduler.end_all("error" if arguments.shutdown_timeout else "abort")
        server.service.drain(1)
    server.server_close()
    for card in held:
        os.close(card)
    say("Application shutdown complete.")
    return 0


def _checked(directory: str, arguments: argparse.Namespace) -> tuple[int, list[int]]:
    """(tokens of a request at most, the cards that are held from now on)."""
    if importlib.util.find_spec("vllm_gaudi") is None:
        raise ValueError("Failed to infer device type")
    length = served_length(directory, arguments)
    return length, cards.acquire(arguments.tensor_parallel_size * arguments.data_parallel_size)


def served_length(directory: str, arguments: argparse.Namespace) -> int:
    """Tokens of a request, at most. Raises ValueError where the model's configuration does not fit the flags."""
    try:
        config = json.loads(Path(directory, "config.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"Invalid repository ID or local directory specified: '{directory}'.") from error
    heads = int(config.get("num_attention_heads") or config.get("n_head") or 1)
    if heads % arguments.tensor_parallel_size:
        raise ValueError(
            f"Total number of attention heads ({heads}) must be divisible by tensor parallel size "
            f"({arguments.tensor_parallel_size})."
        )
    places = int(config.get("max_position_embeddings") or config.get("n_positions") or 2048)
    length = arguments.max_model_len or places
    if length > places:
        raise ValueError(
            f"User-specified max_model_len ({length}) is greater than the derived max_model_len "
            f"(max_position_embeddings={places})."
        )
    return int(length)
