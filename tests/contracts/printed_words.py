# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What our code can print, as the fixed words between what it fills in; and whether a quote is made of such words.

A message is often put together from several texts, and a quote shows one filled in: ``port 29500 is in use by job x``.
So a quote is walked along: each fixed text has to stand in it as a whole, unless the quote begins or ends within it,
and what is left over has to look like a value, but for a word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .checkout import ROOT

FOLDERS = ("plugins", "roles", "src", "playbooks", "sandbox")
_FILLED_IN = "\0"
# An example may fill in a word that looks like any other.
_MAY_BE_LEFT = 1
# Fixed texts of fewer words are in every sentence, and prove nothing where words are left over.
_PROVES, _PROVES_ALL = 3, 2
_DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}

Words = tuple[str, ...]


def words_of(text: str) -> Words:
    return tuple(word for raw in text.split() if (word := raw.strip("\"'`()[]{},;:.?!|<>*")))


def fixed_texts(text: str) -> Iterator[Words]:
    """Of a text with ``_FILLED_IN`` where something is filled in, the whole words of each part between."""
    apart = re.sub(rf"{_FILLED_IN}(?=[\W_]*(?:\s|$))", f"{_FILLED_IN} ", text)
    for part in re.split(rf"\S*{_FILLED_IN}\S*", apart):
        if found := words_of(part):
            yield found


def _texts_of_python(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    documentation = {id(part) for node in ast.walk(tree) if _is_documentation(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in documentation:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"%(?:\.\d)?[srdf]|\{\w*(?:![rs])?(?::[^{}]*)?\}", _FILLED_IN, node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else _FILLED_IN for part in node.values)
            yield "".join(parts)


def _is_documentation(node: ast.AST) -> bool:
    """A docstring, a comment of several lines, or what a module says of its options."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Assign) and {getattr(target, "id", "") for target in node.targets} <= _DOCUMENTATION


def _texts_of(path: Path) -> Iterator[str]:
    if path.suffix == ".py":
        yield from _texts_of_python(path.read_text(encoding="utf-8"))
    elif path.suffix == ".yml" and "meta" not in path.parts:
        # A folded text goes over lines, and a template has more than its variables.
        bare = re.sub(r"^\s*#.*$", _FILLED_IN, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        yield re.sub(r"\{\{.*?\}\}|\{%.*?%\}|: >-|\n\s*- |\w+:\s", _FILLED_IN, bare, flags=re.DOTALL)


@lru_cache(maxsize=1)
def printed() -> dict[str, frozenset[Words]]:
    """All fixed texts by each word that they have."""
    found: dict[str, set[Words]] = {}
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()):
        for text in _texts_of(path):
            for fixed in fixed_texts(text):
                for word in set(fixed):
                    found.setdefault(word, set()).add(fixed)
    return {word: frozenset(texts) for word, texts in found.items()}


def unprinted(parts: Iterable[str], examples: Collection[str] = ()) -> Words:
    """The words of a quote that no fixed text of ours has there; empty where it is printed.

    ``parts`` are those between its ``…``; ``examples`` are plain words that it may have in the place of values.
    """
    said = [
        _Said(words, tuple(_is_value(word, examples) for word in words)) for part in parts if (words := words_of(part))
    ]
    if sum(not value for one in said for value in one.values) < _PROVES:
        return ()
    walked = [one.walked() for one in said]
    left = tuple(word for way in walked for word in way.left)
    longest = max(way.longest for way in walked)
    if longest >= _PROVES or (longest >= _PROVES_ALL and not left):
        return left if len(left) > _MAY_BE_LEFT else ()
    return tuple(word for one in said for word in one.words)


def _is_value(word: str, examples: Collection[str]) -> bool:
    """What a message fills in: names, numbers, paths; no word of a sentence."""
    return word in examples or re.fullmatch(r"[A-Za-z][a-z]*(?:['-][A-Za-z]+)*", word) is None


class _Way(NamedTuple):
    """The words that are left over so far, and how many words the longest fixed text has."""

    left: Words = ()
    longest: int = 0

    def is_better_than(self, other: _Way) -> bool:
        return (len(self.left), -self.longest) < (len(other.left), -other.longest)


class _Said(NamedTuple):
    words: Words
    values: tuple[bool, ...]

    def walked(self) -> _Way:
        """The way with the fewest words left over."""
        best: dict[int, _Way] = {0: _Way()}
        for at, word in enumerate(self.words):
            here = best[at]
            steps = {1: _Way(here.left if self.values[at] else (*here.left, word), here.longest)}
            for length in self._lengths(at):
                further = _Way(here.left, max(here.longest, length))
                if length not in steps or further.is_better_than(steps[length]):
                    steps[length] = further
            for length, way in steps.items():
                if at + length not in best or way.is_better_than(best[at + length]):
                    best[at + length] = way
        return best[len(self.words)]

    def _lengths(self, at: int) -> set[int]:
        """How many words from there on are a fixed text; at the ends of the part also a piece of one."""
        found = set()
        for fixed in printed().get(self.words[at], ()):
            for begin in (number for number, one in enumerate(fixed) if one == self.words[at]) if at == 0 else (0,):
                have = self.words[at : at + len(fixed) - begin]
                whole = len(have) == len(fixed) - begin
                if have == fixed[begin : begin + len(have)] and (whole or at + len(have) == len(self.words)):
                    found.add(len(have))
        return {length for length in found if length > 1 or self._is_alone(at)}

    def _is_alone(self, at: int) -> bool:
        """Whether a single word is beside a value or an end, as ``is`` in ``port is 7``: elsewhere it is no proof."""
        return at in (0, len(self.words) - 1) or self.values[at - 1] or self.values[at + 1]
