# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The plans of many nodes as one report: equal nodes are one line, and a node that did not answer is a line too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.plan import ALL_PACKAGES, LOADED_DRIVER

COLUMNS = ("group", "nodes", "verdict", "cards", "driver", "wants", "changes", "blockers")
SECTION_COLUMNS = ("what", "has", "wants", "changes")
LEGEND = (
    "changes and blockers are counts; each group's own table has them",
    "wants is -: nothing is asked, or the vendor has not published it",
)
UNREACHABLE, FAILED = "unreachable", "failed"
_NAMED_NODES = 4
_NOTHING = "none"


def upgrade_report(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What ``gaudi3.scale.report`` shows of ``results``, which has what the module returned for each host.

    Keys: title, columns, rows, notes, sections, data; and states, a word for each host. Groups come by size, and nodes
    in the order of ``results``.
    """
    silent = {host: result for host, result in results.items() if _is_silent(result)}
    groups = _groups({host: result for host, result in results.items() if host not in silent})
    releases = list(dict.fromkeys(plan["wanted"]["release"] for group in groups for plan in group.values()))
    return {
        "title": _title(releases),
        "columns": list(COLUMNS),
        "rows": [_row(number, group) for number, group in enumerate(groups, start=1)]
        + [{"group": None, "nodes": host, "verdict": _silence(result)} for host, result in silent.items()],
        "notes": [*_silences(silent), *LEGEND],
        "sections": [_section(number, group) for number, group in enumerate(groups, start=1)],
        "data": [_data(number, group) for number, group in enumerate(groups, start=1)],
        "states": {
            host: _silence(result) if host in silent else result["verdict"]["state"] for host, result in results.items()
        },
    }


def _is_silent(result: Mapping[str, Any]) -> bool:
    return bool(result.get("unreachable") or result.get("failed") or "fingerprint" not in result)


def _title(releases: Sequence[str]) -> str:
    which = f"release {' or '.join(releases)}" if releases else "the wanted release"
    return f"What {which} would change (nothing was changed)"


def _silence(result: Mapping[str, Any]) -> str:
    return UNREACHABLE if result.get("unreachable") else FAILED


def _silences(silent: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence for every reason, with the nodes that gave it."""
    hosts: dict[str, list[str]] = {}
    for host, result in silent.items():
        hosts.setdefault(f"{_silence(result)}: {_message(result)}", []).append(host)
    return [f"{', '.join(names)}: {sentence}" for sentence, names in hosts.items()]


def _message(result: Mapping[str, Any]) -> str:
    lines = str(result.get("msg") or "").strip().splitlines()
    return lines[0].removeprefix("Task failed: ") if lines else "no reason given"


def _groups(plans: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Mapping[str, Any]]]:
    """Hosts whose plan is the same, the largest group first. What holds a card may differ within a group."""
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    for host, plan in plans.items():
        key = json.dumps([plan[name] for name in ("fingerprint", "wanted", "changes", "verdict")], sort_keys=True)
        groups.setdefault(key, {})[host] = plan
    return sorted(groups.values(), key=len, reverse=True)


def _row(number: int, group: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    plan = next(iter(group.values()))
    facts = plan["facts"]
    return {
        "group": str(number),
        "nodes": _names(list(group)),
        "verdict": plan["verdict"]["state"],
        "cards": f"{facts['cards']} {' and '.join(facts['generations'])}".strip(),
        "driver": facts["driver"] or _NOTHING,
        "wants": plan["wanted"]["package_version"],
        "changes": len(plan["changes"]),
        "blockers": len(_obstacles(group)),
        "fingerprint": plan["fingerprint"],
    }


def _names(nodes: Sequence[str]) -> str:
    if len(nodes) <= _NAMED_NODES:
        return ", ".join(nodes)
    return f"{', '.join(nodes[: _NAMED_NODES - 1])} and {len(nodes) - _NAMED_NODES + 1} more ({len(nodes)})"


def _obstacles(group: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Sentence to the nodes of the group that it stands for."""
    found: dict[str, list[str]] = {}
    for host, plan in group.items():
        for sentence in plan["obstacles"]:
            found.setdefault(sentence, []).append(host)
    return found


def _section(number: int, group: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    plan = next(iter(group.values()))
    verdict, obstacles = plan["verdict"], _obstacles(group)
    reasons = [sentence for sentence in verdict["reasons"] if sentence not in obstacles]
    return {
        "title": f"Group {number}: {_names(list(group))}: {verdict['state']}",
        "columns": list(SECTION_COLUMNS),
        "rows": [*_fixed_rows(plan), *_changing_rows(plan), *_program_rows(plan)],
        "notes": [
            *(f"{verdict['state']}: {sentence}" for sentence in reasons),
            *(f"blocker{_where(hosts, group)}: {sentence}" for sentence, hosts in obstacles.items()),
            *(f"note: {sentence}" for sentence in verdict["remarks"]),
            *([f"nodes: {', '.join(group)}"] if len(group) > _NAMED_NODES else []),
        ],
    }


def _where(hosts: Sequence[str], group: Mapping[str, object]) -> str:
    return "" if len(hosts) == len(group) else f" on {', '.join(hosts)}"


def _fixed_rows(plan: Mapping[str, Any]) -> Iterable[dict[str, object]]:
    """What an upgrade leaves as it is, and the verdict looks at."""
    facts, wanted = plan["facts"], plan["wanted"]
    boards = f" ({', '.join(facts['boards'])})" if facts["boards"] else ""
    cards = f"{facts['cards']} {' and '.join(facts['generations'])}{boards}".strip()
    yield _line("cards", cards, wanted["generations"])
    yield _line("operating system", facts["os"], wanted["operating_systems"])
    yield _line("kernel", facts["kernel"], wanted["kernels"])
    if facts["next_kernel"] != facts["kernel"]:
        yield _line("kernel at the next boot", facts["next_kernel"], wanted["kernels"])
    for what, versions, target in (
        ("SPI firmware", facts["spi"], wanted["firmware"]),
        ("boot firmware (FIT)", facts["fit"], ""),
        ("CPLD", facts["cpld"], wanted["cpld"]),
    ):
        reported = sorted({version for version in versions.values() if version})
        if reported or target:
            yield _line(what, reported, target)


def _changing_rows(plan: Mapping[str, Any]) -> Iterable[dict[str, object]]:
    """The packages by the step they take, then every other change; and what is as wanted already."""
    facts, version = plan["facts"], plan["wanted"]["package_version"]
    packages = {change["what"]: change for change in plan["changes"] if _is_package(change["what"])}
    steps: dict[tuple[str | None, str], list[str]] = {}
    for change in packages.values():
        steps.setdefault((change["from"], change["to"]), []).append(change["what"])
    for (before, after), names in steps.items():
        yield _line(_packages(names), before or _NOTHING, after, "yes")
    same = [name for name in facts["packages"] if name not in packages]
    if same:
        yield _line(_packages(same), version, version)
    for change in plan["changes"]:
        if change["what"] not in packages:
            yield _line(change["what"], change["from"] or _NOTHING, change["to"], "yes")
    changing = {change["what"] for change in plan["changes"]}
    for kernel, built in facts["built"].items():
        if f"driver built for {kernel}" not in changing:
            current = kernel in (facts["kernel"], facts["next_kernel"])
            yield _line(f"driver built for {kernel}", built, version if current else None)
    if facts["driver"] and LOADED_DRIVER not in changing:
        yield _line(LOADED_DRIVER, facts["driver"], plan["wanted"]["release"])


def _is_package(what: str) -> bool:
    return what == ALL_PACKAGES or what.startswith("habanalabs")


def _packages(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} of the vendor's packages"


def _program_rows(plan: Mapping[str, Any]) -> Iterable[dict[str, object]]:
    for name, version in plan["facts"]["programs"].items():
        wanted = plan["wanted"].get(name)
        yield _line(name.replace("_", " "), version, wanted.get("any") if isinstance(wanted, Mapping) else wanted)


def _line(what: str, has: object, wants: object, changes: str | None = None) -> dict[str, object]:
    return {"what": what, "has": has, "wants": wants, "changes": changes}


def _data(number: int, group: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    names = ("fingerprint", "verdict", "wanted", "changes")
    plan = next(iter(group.values()))
    nodes = {host: {"facts": one["facts"], "obstacles": one["obstacles"]} for host, one in group.items()}
    told = {"life_cycles": plan.get("life_cycles", [])}
    return {"group": number, "nodes": nodes, **{name: plan[name] for name in names}, **told}
