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
        """(the text that is new, its token), and at the end ("", None). Raises BrokenError."""
        while not self.reason:
            event = self.request.events.get()
            if isinstance(event, str):
                if event in ("abort", "error"):
                    raise BrokenError(event)
                self.reason = event
                rest = self._whole()[len(self.told) :]
                self.told += rest
                yield rest, None
                continue
            self.scores.append(event)
            text = self._whole()
            # Bytes of a character that is not complete wait for its other tokens.
            new = "" if text.endswith(UNFINISHED) else text[len(self.told) :]
            self.told += new
            yield new, event

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
        held: tuple[str, Scored] | None = None
        for text, scored in answer.parts():
            # The last token and the reason come in one event, so each waits for the next.
            if held:
                yield {
                    **same,
                    "choices": [_delta(index, answer, held[0] + ("" if scored else text), held[1], not scored)],
                }
            held = (text, scored) if scored else None
        made += len(answer.scores)
    if asked.usage:
        yield {**same, "choices": [], "usage": usage(sum(map(len, asked.prompts)), made)}


def _delta(index: int, answer: Answer, text: str, scored: Scored, last: bool) -> dict[str, Any]:
    reason = answer.reason if last else None
    choice: dict[str, Any] = {"index": index, "finish_reason": reason, "stop_reason": None}
    if answer.asked.chat:
        return {**choice, "delta": {"content": text}, "logprobs": chat_logprobs([scored], answer.model, answer.asked)}
    return {
        **choice,
        "text": text,
        "logprobs": completion_logprobs([scored], [scored.token], answer.model, answer.asked),
    }
