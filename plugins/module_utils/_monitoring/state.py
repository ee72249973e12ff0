# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Have a machine watch the nodes: what is there, what is to be, and the way from one to the other."""

from __future__ import annotations

import grp
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.account_directory import let_group_read
from .._node.certificate_names import canonical
from .._node.commands import Run, last_line
from .._node.json_file import read_json
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from .._node.systemd_units import disable, enable, is_active, is_enabled, reload_units, restart
from .._node.tls_identity import Identity, is_there, is_whole, make, remove
from .._node.told_certificate import disbelief
from .files import (
    ALERTMANAGER,
    CERTIFICATES,
    DROP_IN,
    NAMES,
    alertmanager,
    arguments,
    hooks_of,
    names_text,
    token_file,
    wanted_files,
)
from .options import DIRECTORY, PRESENT, Options, Service, check, host_of

# Ours among the rules: those of the site lie beside them, and stay.
_OURS = "gaudi_*.yml"


@dataclass(frozen=True)
class _Plan:
    """What is not as it is to be: files, those with secrets, the certificate, units that are on or off."""

    changes: list[FileChange]
    secrets: list[FileChange]
    is_known: bool
    units: list[str]

    @property
    def steps(self) -> list[str]:
        return [
            *(f"file {change.wanted.path}" for change in [*self.changes, *self.secrets]),
            *([] if self.is_known else ["certificate"]),
            *(f"unit {unit}" for unit in self.units),
        ]


def converge(options: Options, run: Run, check_mode: bool) -> dict[str, Any]:
    """What the module returns; raises GaudiError for what is refused, before anything is touched."""
    check(options)
    if options.state == PRESENT and not check_mode:
        _refuse_others(options, run)
        _refuse_wrong_files(options, run)
    certificates, disbelieved = _certificates(options, run)
    plan = _plan(options, certificates, run)
    steps, shown = plan.steps, differences(plan.changes)
    if steps and not check_mode:
        _apply(plan, options, run)
    unknown = [name for name in options.nodes if name not in certificates]
    said = [
        f"The certificate of {node} {why}, so its metrics are not trusted; check that node, and its "
        "gaudi_exporter_names in the inventory."
        for node, why in disbelieved.items()
    ]
    return {"changed": bool(steps), "diff": shown, "steps": steps, "unknown": unknown, "warnings": said}


def _plan(options: Options, certificates: Mapping[str, str], run: Run) -> _Plan:
    is_present = options.state == PRESENT
    rules = Path(options.root, DIRECTORY[1:], "rules")
    changes = pending(wanted_files(options, certificates, [path.name for path in sorted(rules.glob(_OURS))]))
    wrong = [service.unit for service in _services(options) if _runs(service, run) != is_present]
    # A machine that had them before us keeps what it had.
    was_ours = is_present or any(change.wanted.path.endswith(DROP_IN) for change in changes)
    is_known = is_whole(options.identity, run) if is_present else not is_there(options.identity)
    return _Plan(changes, pending(_secrets(options)), is_known, wrong if was_ours else [])


def _apply(plan: _Plan, options: Options, run: Run) -> None:
    is_present = options.state == PRESENT
    if not is_present:
        for service in _services(options):
            _stop(service, run)
    if not plan.is_known:
        (make if is_present else _forget)(options.identity, run)
    for change in [*plan.secrets, *plan.changes]:
        write(change)
    for change in plan.secrets:
        _for_group(change.wanted, options.group)
    if plan.changes:
        reload_units(run)
    for service in _services(options) if is_present else ():
        enable(run, service.unit)
        restart(run, service.unit)


def _services(options: Options) -> tuple[Service, Service]:
    return options.prometheus, options.alertmanager


def _forget(identity: Identity, _run: Run) -> None:
    remove(identity)


def _certificates(options: Options, run: Run) -> tuple[dict[str, str], dict[str, str]]:
    """Those of this run, and of the other nodes those of runs before; and why any of them is not believed, by node."""
    place = Path(options.root, DIRECTORY[1:])
    known = read_json(str(place / CERTIFICATES)) or {}
    both = {name: options.node_certificates.get(name) or known.get(name) for name in options.nodes}
    told = {name: text for name, text in both.items() if isinstance(text, str) and text}
    # One that was believed among the same nodes is believed again: hundreds would take seconds.
    are_same = read_text(str(place / NAMES)) == names_text(options)
    asked = {name: text for name, text in told.items() if not are_same or text != known.get(name)}
    # By these it is asked for; what else it may be called, the inventory says.
    places = {name: {canonical(name), canonical(host_of(target))} for name, target in options.nodes.items()}
    everyone = Counter(one for pair in places.values() for one in pair)
    disbelieved = {}
    for name, text in asked.items():
        own = {*places[name], *options.node_names.get(name, ())}
        why = disbelief(text, own, everyone - Counter(places[name]), run)
        if why:
            disbelieved[name] = why
    return {name: text for name, text in told.items() if name not in disbelieved}, disbelieved


def _runs(service: Service, run: Run) -> bool:
    return is_enabled(run, service.unit) and is_active(run, service.unit)


def _stop(service: Service, run: Run) -> None:
    if is_enabled(run, service.unit) or is_active(run, service.unit):
        disable(run, service.unit)


def _secrets(options: Options) -> list[WantedFile]:
    """Never in a diff: tokens, and the addresses of webhooks, which for many services are all that one has to know."""
    place = str(Path(options.root, DIRECTORY[1:], ALERTMANAGER))
    return [WantedFile(place, alertmanager(options) if options.state == PRESENT else None, 0o640), *_tokens(options)]


def _tokens(options: Options) -> list[WantedFile]:
    wanted = {token_file(options, number): hook.token for number, hook in hooks_of(options) if hook.token}
    there = [str(path) for path in Path(options.root, DIRECTORY[1:], "tokens").glob("*")]
    is_present = options.state == PRESENT
    gone = [path for path in there if path not in wanted or not is_present]
    kept = wanted if is_present else {}
    return [*(WantedFile(path, None) for path in gone), *(WantedFile(path, text, 0o640) for path, text in kept.items())]


def _for_group(wanted: WantedFile, group: str) -> None:
    if wanted.content is not None and os.geteuid() == 0:
        let_group_read(wanted.path, grp.getgrnam(group).gr_gid)


def _refuse_others(options: Options, run: Run) -> None:
    """A program that is not ours at one of the ports."""
    for service, port in ((options.prometheus, options.port), (options.alertmanager, options.alertmanager_port)):
        listens = bool(run(["ss", "-Hltn", f"sport = :{port}"]).stdout.strip())
        if listens and not is_active(run, service.unit):
            raise GaudiError(f"something answers at port {port} that is not {service.unit}; give another port.")
        path = Path(options.root, "etc/default", service.unit.removesuffix(".service"))
        given = read_text(str(path)) or ""
        lines = [line for line in given.splitlines() if not line.lstrip().startswith("#")]
        ours = [argument.partition("=")[0] for argument in arguments(options, service)]
        # A program that is given one twice does not start.
        twice = [name for name in ours if any(name in line for line in lines)]
        if twice:
            raise GaudiError(f"{path} has {twice[0]}, which this module sets as well; remove it there.")


def _refuse_wrong_files(options: Options, run: Run) -> None:
    """By the distribution's own checkers, before one byte is in its place."""
    with tempfile.TemporaryDirectory() as place:
        for name, text in options.rule_files.items():
            Path(place, name).write_text(text, encoding="utf-8")
            _checked(run, f"rules has {name}", ["promtool", "check", "rules", str(Path(place, name))])
        file = Path(place, "alertmanager.yml")
        file.write_text(alertmanager(options), encoding="utf-8")
        _checked(run, "the configuration of Alertmanager", ["amtool", "check-config", str(file)])


def _checked(run: Run, what: str, command: Sequence[str]) -> None:
    done = run(command)
    if done.rc != 0:
        raise GaudiError(f"{what}, which {command[0]} refuses: {last_line(done.stderr or done.stdout)}.")
