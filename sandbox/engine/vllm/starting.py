# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From the loaded model to the open port."""

from __future__ import annotations

import argparse
import os
import ssl

from .faults import Faults
from .log import say
from .metrics import Metrics
from .model import Model
from .protocol import Limits
from .scheduler import Scheduler
from .server import Server, Service, serve
from .warm_up import WarmUpError, warm_up

__all__ = ["WarmUpError", "started_server"]


def started_server(directory: str, arguments: argparse.Namespace, length: int, version: str) -> Server:
    """Load the model, warm up, then listen: until then the port is closed. Raises WarmUpError, OSError, ValueError."""
    model = Model(directory, arguments.tokenizer, arguments.dtype)
    say(f"Maximum concurrency for {length} tokens per request: {arguments.max_num_seqs:.2f}x", "kv_cache_utils.py:1")
    faults = Faults(arguments.port)
    warm_up(faults, arguments.max_num_seqs, length)
    served = arguments.served_model_name or directory
    metrics = Metrics(served)
    scheduler = Scheduler(model, metrics, faults, arguments.max_num_seqs, length)
    limits = Limits(served, length, arguments.max_logprobs, bool(arguments.return_tokens_as_token_ids))
    keys = tuple(arguments.api_key) or tuple(filter(None, [os.environ.get("VLLM_API_KEY")]))
    server = Server(
        (arguments.host, arguments.port), Service(version, model, scheduler, metrics, limits, keys, directory)
    )
    if arguments.ssl_certfile:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments.ssl_certfile, arguments.ssl_keyfile or None)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    scheduler.start()
    serve(server)
    return server
