# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What clients ask for and get, in the shapes of OpenAI's API and with vLLM's own additions."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .model import Model, Scored
from .scheduler import Sampling

MODELS, COMPLETIONS, CHAT, TOKENIZE = "/v1/models", "/v1/completions", "/v1/chat/completions", "/tokenize"
DEFAULT_TOKENS = 16


class BadRequestError(Exception):
    """What the client is answered with status 400; ``status`` and ``kind`` where it is another."""

    def __init__(self, message: str, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind

    def body(self) -> dict[str, object]:
        return {"error": {"message": str(self), "type": self.kind, "param": None, "code": self.status}}


@dataclass(frozen=True)
class Limits:
    """What the server was started with."""

    served_name: str
    max_model_len: int
    max_logprobs: int
    token_ids: bool = False


@dataclass(frozen=True)
class Asked:
    """A request, read."""

    chat: bool
    prompts: tuple[tuple[int, ...], ...]
    sampling: Sampling
    stream: bool
    usage: bool
    echo: bool
    token_ids: bool
    model: str

    @property
    def named(self) -> str:
        return "chat.completion" if self.chat else "text_completion"


def read_request(body: Mapping[str, Any], chat: bool, model: Model, limits: Limits) -> Asked:
    """Raises BadRequestError."""
    named = body.get("model", limits.served_name)
    if named != limits.served_name:
        raise BadRequestError(f"The model `{named}` does not exist.", 404, "NotFoundError")
    prompts = [_chat_prompt(body, model)] if chat else _prompts(body.get("prompt"), model)
    longest = max(map(len, prompts))
    room = limits.max_model_len - longest
    wanted = body.get("max_completion_tokens", body.get("max_tokens"))
    tokens = (room if chat else DEFAULT_TOKENS) if wanted is None else int(wanted)
    if tokens < (0 if body.get("echo") else 1):
        raise BadRequestError(f"max_tokens must be at least 1, got {tokens}.")
    if tokens > room or longest == 0:
        raise BadRequestError(
            f"This model's maximum context length is {limits.max_model_len} tokens. However, you requested {tokens} "
            f"output tokens and your prompt contains {longest} input tokens."
        )
    if [one for prompt in prompts for one in prompt if not 0 <= one < model.vocabulary]:
        raise BadRequestError("Token id is out of vocabulary")
    sampling = _sampling(body, chat, tokens, limits)
    options = body.get("stream_options") or {}
    return Asked(
        chat=chat,
        prompts=tuple(map(tuple, prompts)),
        sampling=sampling,
        stream=bool(body.get("stream")),
        usage=bool(options.get("include_usage")),
        echo=bool(body.get("echo")) and not chat,
        token_ids=bool(body.get("return_tokens_as_token_ids", limits.token_ids)),
        model=limits.served_name,
    )


def _sampling(body: Mapping[str, Any], chat: bool, tokens: int, limits: Limits) -> Sampling:
    logprobs = body.get("top_logprobs", 0) if chat and body.get("logprobs") else body.get("logprobs")
    logprobs = None if logprobs is None or logprobs is False else int(logprobs)
    if logprobs is not None and logprobs > limits.max_logprobs:
        raise BadRequestError(
            f"Requested sample logprobs of {logprobs}, which is greater than max allowed: {limits.max_logprobs}"
        )
    stop = body.get("stop") or ()
    temperature = body.get("temperature")
    return Sampling(
        max_tokens=tokens,
        temperature=1.0 if temperature is None else float(temperature),
        top_p=float(body.get("top_p") or 1.0),
        seed=body.get("seed"),
        logprobs=logprobs,
        prompt_logprobs=bool(body.get("echo")) and logprobs is not None,
        ignore_eos=bool(body.get("ignore_eos")),
        min_tokens=int(body.get("min_tokens") or 0),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def _prompts(prompt: object, model: Model) -> list[list[int]]:
    if isinstance(prompt, str):
        return [model.tokens(prompt)]
    if isinstance(prompt, list) and prompt:
        if all(isinstance(one, int) for one in prompt):
            return [prompt]
        return [one for each in prompt for one in _prompts(each, model)]
    raise BadRequestError("Either prompt or prompt_embeds must be provided and non-empty.")


def _chat_prompt(body: Mapping[str, Any], model: Model) -> list[int]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequestError("messages: Field required")
    try:
        return model.chat(messages)
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequestError(str(error)) from error


def identity(asked: Asked) -> dict[str, object]:
    """What all parts of one answer share."""
    name = f"{'chatcmpl' if asked.chat else 'cmpl'}-{uuid.uuid4().hex}"
    return {"id": name, "object": asked.named, "created": int(time.time()), "model": asked.model}


def usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


def token_word(token: int, model: Model, asked: Asked) -> str:
    return f"token_id:{token}" if asked.token_ids else model.word(token)


def completion_logprobs(scores: Sequence[Scored | None], tokens: Sequence[int], model: Model, asked: Asked) -> object:
    """Of /v1/completions; the first token of an echoed prompt has none. A token is always among the likeliest."""
    if asked.sampling.logprobs is None:
        return None
    told: dict[str, list[Any]] = {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []}
    place = 0
    for token, scored in zip(tokens, scores):
        word = token_word(token, model, asked)
        told["tokens"].append(word)
        told["text_offset"].append(place)
        place += len(word)
        told["token_logprobs"].append(scored.logprob if scored else None)
        top = {token_word(one, model, asked): value for one, value in scored.top} if scored else None
        told["top_logprobs"].append({word: scored.logprob, **(top or {})} if scored else None)
    return told


def chat_logprobs(scores: Sequence[Scored], model: Model, asked: Asked) -> object:
    """Of /v1/chat/completions."""
    if asked.sampling.logprobs is None:
        return None

    def one(token: int, logprob: float) -> dict[str, Any]:
        word = token_word(token, model, asked)
        return {"token": word, "logprob": logprob, "bytes": list(word.encode())}

    content = [
        {**one(scored.token, scored.logprob), "top_logprobs": [one(*likely) for likely in scored.top]}
        for scored in scores
    ]
    return {"content": content}
