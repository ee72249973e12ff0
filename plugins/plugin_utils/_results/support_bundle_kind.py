# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The index of the support bundles: a row a node with its archive, and what is in them, before they are stored too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    maybe,
    record,
    said,
    several,
    taken,
    truth,
    whole,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made

COLLECTED = "gaudi_support_result"
STORED, LISTED, NOT_STORED, FAILED, UNREACHABLE = "collected", "listed", "not stored", "failed", "unreachable"
COLUMNS = ("node", "state", "files", "missing", "KiB of text", "secrets hidden", "KiB of archive", "archive")
PARTS = ("file", "nodes", "KiB", "cut", "secrets hidden", "from")
_MOST_ITEMS = 2000
_CONTENTS = several(
    record(
        {"name": said, "source": said, "bytes": whole(), "cut": truth, "hidden": whole(), "why": said},
    ),
    _MOST_ITEMS,
)
_ANSWER = record({"contents": _CONTENTS}, {"file": maybe(said), "size": maybe(whole()), "error": maybe(said)})


def support_bundle_kind(asked: Asked) -> Made:
    """In check mode nothing is stored, and the screen has what would be."""
    answers, reasons = _answers(asked)
    states = {
        host: _state(answers[host], asked.check_mode) if host in answers else _silence(asked, host)
        for host in asked.hosts
    }
    errors = {host: str(answer["error"]) for host, answer in answers.items() if answer.get("error")}
    rows = [_row(host, state, answers.get(host)) for host, state in states.items()]
    done = sum(state in (STORED, LISTED) for state in states.values())
    title = f"Support bundles: {done} of {len(states)} nodes"
    return Made(
        {
            "title": f"{title} (check mode: this is what would be in them, nothing was stored)"
            if asked.check_mode
            else title,
            "columns": COLUMNS,
            "rows": rows,
            "notes": [*(f"{host}: {why}" for host, why in {**errors, **reasons}.items()), *_legend(asked.check_mode)],
            "sections": [_parts(answers, on_screen=asked.check_mode), _missing(answers)],
            "data": {host: {"state": states[host], **answers.get(host, {})} for host in states},
        },
        {
            "nodes": states,
            "good": [STORED, LISTED],
            "numbers": {"bytes": sum(answer.get("size") or 0 for answer in answers.values())},
        },
        refusal="" if done else f"No node returned a bundle: {_first(reasons)}",
        reasons=reasons,
    )


def _answers(asked: Asked) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    """What each node has collected, and why another has nothing that can be used."""
    found: dict[str, Mapping[str, Any]] = {}
    reasons: dict[str, str] = {}
    results = asked.results(COLLECTED)
    for host in asked.hosts:
        result = results.get(host, {})
        if result.get("failed") or result.get("unreachable") or "contents" not in result:
            reasons[host] = str(result.get("msg") or asked.why_nothing(host)).strip()
            continue
        told = {name: result[name] for name in ("contents", "file", "size", "error") if name in result}
        try:
            found[host] = taken(host, "support_bundle", _ANSWER, told)
        except GaudiError as error:
            reasons[host] = str(error)
    return found, reasons


def _state(answer: Mapping[str, Any], check_mode: bool) -> str:
    if check_mode:
        return LISTED
    return STORED if answer.get("file") else NOT_STORED


def _silence(asked: Asked, host: str) -> str:
    return UNREACHABLE if asked.results(COLLECTED).get(host, {}).get("unreachable") else FAILED


def _row(host: str, state: str, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    if answer is None:
        return {"node": host, "state": state}
    there = [one for one in answer["contents"] if not one["why"]]
    return {
        "node": host,
        "state": state,
        "files": len(there),
        "missing": len(answer["contents"]) - len(there),
        "KiB of text": _kib(sum(one["bytes"] for one in there)),
        "secrets hidden": sum(one["hidden"] for one in there),
        "KiB of archive": _kib(answer["size"]) if answer.get("size") is not None else None,
        "archive": answer.get("file"),
    }


def _parts(answers: Mapping[str, Mapping[str, Any]], on_screen: bool) -> dict[str, Any]:
    """One row a file, whatever the number of nodes: those that have it, and the largest of them."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for answer in answers.values():
        for one in answer["contents"]:
            if not one["why"]:
                found.setdefault(one["name"], []).append(one)
    return {
        "title": "What is in them",
        "columns": list(PARTS),
        "rows": [
            {
                "file": name,
                "nodes": len(those),
                "KiB": _kib(max(one["bytes"] for one in those)),
                "cut": "yes" if any(one["cut"] for one in those) else None,
                "secrets hidden": sum(one["hidden"] for one in those),
                "from": those[0]["source"],
            }
            for name, those in found.items()
        ],
        "notes": ["KiB of the largest; cut: only the end of a file, or of what a program said"],
        "on_screen": on_screen,
    }


def _missing(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Each reason once a file, with the nodes."""
    found: dict[tuple[str, str], list[str]] = {}
    for host, answer in answers.items():
        for one in answer["contents"]:
            if one["why"]:
                found.setdefault((one["name"], one["why"]), []).append(host)
    return {
        "title": "What is not in them",
        "columns": ["file", "nodes", "why"],
        "rows": [{"file": name, "nodes": _names(hosts), "why": why} for (name, why), hosts in found.items()],
        "on_screen": False,
    }


def _names(hosts: Sequence[str]) -> str:
    return ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")


def _kib(size: int) -> str:
    return f"{-(-size // 1024):,}"


def _first(reasons: Mapping[str, str]) -> str:
    return next((f"{host}: {why}" for host, why in reasons.items()), "gaudi_hosts matches no host.")


def _legend(check_mode: bool) -> Iterable[str]:
    if not check_mode:
        yield "read an archive before you send it: names of hosts, addresses and serial numbers are in it"
    yield "secrets hidden: places at which something with the name or the form of a secret was"


KIND = Kind((COLLECTED,), support_bundle_kind)
