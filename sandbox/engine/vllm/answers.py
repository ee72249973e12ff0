# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The answers to one request: whole, or event by event as its tokens are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .model import Model, Scored
from .protocol import Asked, chat_logprobs, completion_logprobs, identity, usage
from .scheduler import Request, Scheduler

UNFINISHED = "\ufffd"


class BrokenError(Exception):
    """The engine gave the request up: a stream ends where it is, without its last event."""


@dataclass
class Answer:
    """One prompt's, as far as it is made."""

    request: Request
    model: Model
    asked: Asked
    scores: list[Scored] = field(default_factory=list)
    told: str = ""
    reason: str = ""

    def parts(self) -> Iterator[tuple[str, Scored | None]]:
        """(the text that is new, its token); without a token where the engine gave it up. Raises BrokenError."""
        while not self.reason:
            scored, reason = self.request.events.get()
            if reason == "error":
                raise BrokenError(reason)
            self.reason = reason
            if scored:
                self.scores.append(scored)
            text = self._whole()
            # Bytes of a character that is not complete wait for its other tokens.
            new = "" if text.endswith(UNFINISHED) and not reason else text[len(self.told) :]
            self.told += new
            yield new, scored

    def _whole(self) -> str:
        text = self.model.text([one.token for one in self.scores])
        places = [text.find(word) for word in self.asked.sampling.stop if word in text]
        return text[: min(places)] if places else text


def submit(asked: Asked, model: Model, scheduler: Scheduler) -> list[Answer]:
    """Hand its prompts to the engine."""
    answers = [Answer(Request(prompt, asked.sampling), model, asked) for prompt in asked.prompts]
    for answer in answers:
        scheduler.submit(answer.request)
    return answers


def aborted(asked: Asked, model: Model) -> list[Answer]:
    """What a server that stops answers, without asking its engine."""
    answers = [Answer(Request(prompt, asked.sampling), model, asked) for prompt in asked.prompts]
    for answer in answers:
        answer.request.events.put((None, "abort"))
    return answers


def whole(answers: list[Answer]) -> dict[str, Any]:
    """The answer of a request that is not streamed. Raises BrokenError."""
    asked = answers[0].asked
    for answer in answers:
        for _part in answer.parts():
            pass
    made = sum(len(answer.scores) for answer in answers)
    choices = [_choice(index, answer) for index, answer in enumerate(answers)]
    return {**identity(asked), "choices": choices, "usage": usage(sum(map(len, asked.prompts)), made)}


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    asked, model = answer.asked, answer.model
    choice: dict[str, Any] = {"index": index, "finish_reason": answer.reason, "stop_reason": None}
    if asked.chat:
        message = {"role": "assistant", "content": answer.told}
        return {**choice, "message": message, "logprobs": chat_logprobs(answer.scores, model, asked)}
    tokens = [one.token for one in answer.scores]
    scores: list[Scored | None] = list(answer.scores)
    text = answer.told
    if asked.echo:
        prompt = list(answer.request.prompt)
        tokens, scores = [*prompt, *tokens], [None, *answer.request.prompt_scores, *scores]
        text = model.text(prompt) + text
    return {**choice, "text": text, "logprobs": completion_logprobs(scores, tokens, model, asked)}


def events(answers: list[Answer]) -> Iterator[dict[str, Any]]:
    """The events of a streamed one, prompt by prompt. Raises BrokenError."""
    asked, same = answers[0].asked, identity(answers[0].asked)
    if asked.chat:
        same["object"] = "chat.completion.chunk"
    made = 0
    for index, answer in enumerate(answers):
        if asked.chat:
            first = {"role": "assistant", "content": ""}
            yield {**same, "choices": [{"index": index, "delta": first, "logprobs": None, "finish_reason": None}]}
        for text, scored in answer.parts():
            yield {**same, "choices": [_delta(index, answer, text, scored)]}
        made += len(answer.scores)
    if asked.usage:
        yield {**same, "choices": [], "usage": usage(sum(map(len, asked.prompts)), made)}


def _delta(index: int, answer: Answer, text: str, scored: Scored | None) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": index, "finish_reason": answer.reason or None, "stop_reason": None}
    scores = [scored] if scored else []
    if answer.asked.chat:
        return {**choice, "delta": {"content": text}, "logprobs": chat_logprobs(scores, answer.model, answer.asked)}
    tokens = [one.token for one in scores]
    return {**choice, "text": text, "logprobs": completion_logprobs(scores, tokens, answer.model, answer.asked)}
