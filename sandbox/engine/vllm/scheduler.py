# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The engine: requests wait, at most ``max_num_seqs`` run, and each step gives each running one a token."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from .faults import Faults
from .log import say
from .metrics import Metrics
from .model import Model, Scored, choose, score

_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Sampling:
    """What a request asks for."""

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    logprobs: int | None = None
    prompt_logprobs: bool = False
    ignore_eos: bool = False
    min_tokens: int = 0
    stop: tuple[str, ...] = ()


@dataclass
class Request:
    """One prompt. ``events`` gets each token with "", and the last with the reason (stop, length); abort and error
    have none."""

    prompt: tuple[int, ...]
    sampling: Sampling
    events: queue.SimpleQueue[tuple[Scored | None, str]] = field(default_factory=queue.SimpleQueue)
    prompt_scores: list[Scored] = field(default_factory=list)
    ended_by: str = ""
    number: int = field(default_factory=lambda: next(_NUMBERS))
    arrived: float = field(default_factory=time.monotonic)
    began: float = 0.0
    first: float = 0.0
    last: float = 0.0
    made: list[int] = field(default_factory=list)
    cache: Any = None
    generator: torch.Generator | None = None


class Scheduler:
    """Runs in a thread of its own."""

    def __init__(self, model: Model, metrics: Metrics, faults: Faults, max_num_seqs: int, max_model_len: int) -> None:
        self._model, self._metrics, self._faults = model, metrics, faults
        self._seats, self._length = max_num_seqs, max_model_len
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._changed = threading.Condition()

    def start(self) -> None:
        threading.Thread(target=self._loop, name="engine", daemon=True).start()

    def submit(self, request: Request) -> None:
        with self._changed:
            self._waiting.append(request)
            self._metrics.add("prompt_tokens", len(request.prompt))
            self._changed.notify()

    def load(self) -> tuple[int, int, float]:
        """(running, waiting, share of the cache in use)."""
        with self._changed:
            held = sum(len(one.prompt) + len(one.made) for one in self._running)
            return len(self._running), len(self._waiting), held / (self._seats * self._length)

    def end_all(self, reason: str) -> None:
        """At its next step each ends for this reason: abort or error."""
        with self._changed:
            for request in (*self._waiting, *self._running):
                request.ended_by = reason

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._running)
                while self._waiting and len(self._running) < self._seats:
                    request = self._waiting.popleft()
                    request.began = time.monotonic()
                    self._metrics.observe("request_queue_time_seconds", request.began - request.arrived)
                    self._running.append(request)
                now = list(self._running)
            self._faults.before_a_step()
            for request in now:
                self._step(request)
            # Else this thread has Python for itself, and clients get their tokens all at once.
            time.sleep(0)

    def _step(self, request: Request) -> None:
        if request.ended_by:
            self._give_up(request, request.ended_by)
            return
        try:
            self._advance(request)
        except Exception as error:
            say(f"{type(error).__name__}: {error}", "core.py:1", "ERROR", "EngineCore_DP0")
            self._give_up(request, "error")

    def _give_up(self, request: Request, reason: str) -> None:
        self._leave(request, reason)
        request.events.put((None, reason))

    def _advance(self, request: Request) -> None:
        """Compute one token."""
        asked = request.sampling
        tokens = request.made[-1:] or request.prompt
        logprobs, request.cache = self._model.forward(tokens, request.cache)
        if not request.made:
            self._score_prompt(request, logprobs)
            if asked.max_tokens == 0:
                self._give_up(request, "length")
                return
            if asked.seed is not None:
                request.generator = torch.Generator().manual_seed(asked.seed)
        here = logprobs[-1]
        if len(request.made) < asked.min_tokens:
            masked = here.clone()
            masked[list(self._model.ends)] = -torch.inf
        else:
            masked = here
        token = choose(masked, asked.temperature, asked.top_p, request.generator)
        self._told(request)
        request.made.append(token)
        reason = self._reason(request, token)
        # It ends before its client knows: who counts what runs must not count it after its answer.
        if reason:
            self._leave(request, reason)
        request.events.put((score(here, token, asked.logprobs or 0), reason))

    def _reason(self, request: Request, token: int) -> str:
        """Why this token was the last; "" where it was not."""
        asked = request.sampling
        if token in self._model.ends and not asked.ignore_eos:
            return "stop"
        if asked.stop and any(word in self._model.text(request.made) for word in asked.stop):
            return "stop"
        full = len(request.prompt) + len(request.made) >= self._length
        return "length" if full or len(request.made) >= asked.max_tokens else ""

    def _score_prompt(self, request: Request, logprobs: torch.Tensor) -> None:
        if request.sampling.prompt_logprobs:
            count = request.sampling.logprobs or 0
            for place, token in enumerate(request.prompt[1:]):
                request.prompt_scores.append(score(logprobs[place], token, count))

    def _told(self, request: Request) -> None:
        now = time.monotonic()
        self._metrics.add("generation_tokens")
        if not request.made:
            request.first = now
            self._metrics.observe("time_to_first_token_seconds", now - request.arrived)
            self._metrics.observe("request_prefill_time_seconds", now - request.began)
        else:
            self._metrics.observe("inter_token_latency_seconds", now - request.last)
        request.last = now

    def _leave(self, request: Request, reason: str) -> None:
        with self._changed:
            self._running.remove(request)
        request.cache = None
        now = time.monotonic()
        self._metrics.finished(reason)
        self._metrics.observe("e2e_request_latency_seconds", now - request.arrived)
        self._metrics.observe("request_inference_time_seconds", now - request.began)
        if len(request.made) > 1:
            decode = request.last - request.first
            self._metrics.observe("request_decode_time_seconds", decode)
            self._metrics.observe("request_time_per_output_token_seconds", decode / (len(request.made) - 1))
