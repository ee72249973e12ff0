# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The flags that the server knows, as data; any other ends it, as it ends the real one.

Names are those that a real 0.32 accepts: the long run's gate ``vllm`` asks its own parser for them.
"""

from __future__ import annotations

import argparse

# Option -> its default; the type of a value is that of its default, and "" is any text.
VALUES: dict[str, int | float | str] = {
    "--additional-config": "",
    "--allowed-origins": "",
    "--api-server-count": 1,
    "--block-size": 128,
    "--chat-template": "",
    "--data-parallel-size": 1,
    "--distributed-executor-backend": "",
    "--download-dir": "",
    "--dtype": "auto",
    "--generation-config": "auto",
    "--gpu-memory-utilization": 0.9,
    "--hf-overrides": "",
    "--host": "",
    "--kv-cache-dtype": "auto",
    "--kv-cache-memory-bytes": 0,
    "--load-format": "auto",
    "--logprobs-mode": "raw_logprobs",
    "--long-prefill-token-threshold": 0,
    "--max-log-len": 0,
    "--max-logprobs": 20,
    "--max-model-len": 0,
    "--max-num-batched-tokens": 2048,
    "--max-num-seqs": 256,
    "--model": "",
    "--override-generation-config": "",
    "--pipeline-parallel-size": 1,
    "--port": 8000,
    "--quantization": "",
    "--reasoning-parser": "",
    "--response-role": "assistant",
    "--revision": "",
    "--root-path": "",
    "--scheduling-policy": "fcfs",
    "--seed": 0,
    "--served-model-name": "",
    "--ssl-ca-certs": "",
    "--ssl-certfile": "",
    "--ssl-keyfile": "",
    "--tensor-parallel-size": 1,
    "--tokenizer": "",
    "--tokenizer-mode": "auto",
    "--tool-call-parser": "",
    "--uvicorn-log-level": "info",
}
# Each has a --no- form too.
SWITCHES = (
    "--async-scheduling",
    "--disable-log-stats",
    "--disable-uvicorn-access-log",
    "--enable-auto-tool-choice",
    "--enable-chunked-prefill",
    "--enable-expert-parallel",
    "--enable-log-requests",
    "--enable-prefix-caching",
    "--enable-prompt-tokens-details",
    "--enable-server-load-tracking",
    "--enforce-eager",
    "--return-tokens-as-token-ids",
    "--trust-remote-code",
)
# Flag -> the first version that has it.
SINCE = {"--shutdown-timeout": (0, 18)}
SHORT = {"--tensor-parallel-size": "-tp", "--pipeline-parallel-size": "-pp", "--data-parallel-size": "-dp"}


def parser(version: str) -> argparse.ArgumentParser:
    """The program's own, without the abbreviations that argparse guesses."""
    top = argparse.ArgumentParser(prog="vllm", allow_abbrev=False)
    top.add_argument("--version", "-v", action="version", version=version)
    serve = top.add_subparsers(dest="command", required=True).add_parser("serve", allow_abbrev=False)
    serve.add_argument("model_tag", nargs="?", default="")
    serve.add_argument("--api-key", nargs="+", default=[])
    for name, default in VALUES.items():
        names = [name, *([SHORT[name]] if name in SHORT else [])]
        serve.add_argument(*names, type=type(default), default=default)
    for name in SWITCHES:
        serve.add_argument(name, action=argparse.BooleanOptionalAction, default=None)
    number = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if number >= SINCE["--shutdown-timeout"]:
        serve.add_argument("--shutdown-timeout", type=int, default=0)
    else:
        serve.set_defaults(shutdown_timeout=0)
    return top


def spelled(words: list[str]) -> list[str]:
    """``--max_model_len`` is ``--max-model-len``: vLLM takes both."""
    told = []
    for word in words:
        name, equals, value = word.partition("=")
        told.append(f"{name.replace('_', '-')}{equals}{value}" if word.startswith("--") else word)
    return told
