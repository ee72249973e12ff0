# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The proxy of a host: what is there, what is to be, and the way from one to the other without a lost request.

What it has is in its state file; haproxy's configuration is made of that. Whether an instance gets requests is written
there and told to the running haproxy, so that it is the same after a crash; all else is a reload, in which the old
worker ends its requests.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.json_file import read_json
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from .._node.systemd_units import disable, enable, is_active, is_enabled, reload_units
from .asking import read_key
from .proxy import Places, Proxy, Server, backend_of, configuration, script
from .proxy_commands import DRAIN, server_states, set_state
from .proxy_commands import READY as SET_READY
from .proxy_options import ABSENT, DRAINED, READY, ProxyOptions, check_options
from .proxy_unit import PROGRAM, UNIT, unit_text

POLL_S = 0.5
_DISABLED = " disabled"


def converge(
    options: ProxyOptions, run: Run, check_mode: bool, sleep: Callable[[float], None] = time.sleep
) -> dict[str, Any]:
    """What the module returns; raises GaudiError for what is refused, before anything is touched."""
    check_options(options)
    if options.state == ABSENT:
        return _removed(options, run, check_mode)
    known = read_servers(options.places)
    if options.state == DRAINED:
        return _drain(options, known, run, check_mode, sleep)
    if options.state == READY:
        rows = [one for one in options.instances if one.name == options.name] or _named(known, options.name)
        others = [one for one in known if one.name != options.name]
        return _present(options, (*others, *(replace(one, admitted=True) for one in rows)), run, check_mode)
    nodes = {one.name.partition(":")[0] for one in options.instances}
    kept = (one for one in known if one.name.partition(":")[0] in {*options.keep_nodes} - nodes)
    return _present(options, (*options.instances, *kept), run, check_mode)


def read_servers(places: Places) -> tuple[Server, ...]:
    """Those of the state file; none where there is none."""
    rows = (read_json(places.state) or {}).get("servers")
    fields = Server.__dataclass_fields__
    return tuple(
        Server(**{name: row[name] for name in fields})
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and set(row) >= set(fields)
    )


def _present(options: ProxyOptions, wanted: Iterable[Server], run: Run, check_mode: bool) -> dict[str, Any]:
    servers = tuple(sorted(wanted, key=lambda one: one.name))
    proxy = _proxy(options, servers)
    places = options.places
    before = read_text(places.configuration) or ""
    plain, secret = _files(options, proxy, places)
    shown, hidden = pending(plain), pending(secret)
    gone = _unused(places, servers)
    runs = is_active(run, UNIT)
    steps = [*_steps([*shown, *hidden]), *(f"file {path}" for path in gone)]
    steps += [] if is_enabled(run, UNIT) else [f"enable {UNIT}"]
    is_new = not runs or bool(
        {change.wanted.path for change in (*shown, *hidden)} - {places.state, places.configuration}
    )
    needs_reload = runs and (is_new or _structure(before) != _structure(configuration(proxy, places)))
    steps += [f"start {UNIT}"] if not runs else [f"reload {UNIT}"] if needs_reload else []
    if steps and not check_mode:
        _refuse_wrong(options, proxy, run)
        for change in [*hidden, *shown]:
            write(change)
        for path in gone:
            Path(path).unlink(missing_ok=True)
        reload_units(run)
        if not is_enabled(run, UNIT):
            enable(run, UNIT)
        if not runs or needs_reload:
            _systemctl(run, "reload" if runs else "start")
        else:
            for one in servers:
                set_state(places.admin, backend_of(servers, one.name), SET_READY if one.admitted else DRAIN)
    return {**_result(steps, servers), "diff": differences(shown)}


def _named(known: Sequence[Server], name: str) -> list[Server]:
    found = [one for one in known if one.name == name]
    if not found:
        has = f"it has {', '.join(one.name for one in known)}" if known else "it has none"
        raise GaudiError(f"name: the proxy has no instance {name}; {has}.")
    return found


def _drain(
    options: ProxyOptions, known: Sequence[Server], run: Run, check_mode: bool, sleep: Callable[[float], None]
) -> dict[str, Any]:
    """One instance out of the proxy; what it is answering is counted until it is none. One that there is not is out."""
    places = options.places
    if not any(one.name == options.name for one in known):
        return {**_result([], known), "in_flight": 0}
    servers = tuple(replace(one, admitted=one.admitted and one.name != options.name) for one in known)
    changes = pending([_state_file(places, servers), *_switched_off(places, options.name)])
    in_flight = 0
    if not check_mode:
        for change in changes:
            write(change)
        if is_active(run, UNIT):
            set_state(places.admin, backend_of(servers, options.name), DRAIN)
            in_flight = _drained(options, sleep)
    return {**_result(_steps(changes), servers), "in_flight": in_flight}


def _drained(options: ProxyOptions, sleep: Callable[[float], None]) -> int:
    """Requests that are still being answered when ``wait`` is over."""
    end = time.monotonic() + options.wait
    while True:
        found = server_states(options.places.admin).get(options.name)
        count = found.in_flight if found else 0
        if not count or time.monotonic() >= end:
            return count
        sleep(POLL_S)


def _proxy(options: ProxyOptions, servers: Sequence[Server]) -> Proxy:
    return Proxy(
        address=options.address,
        port=options.port,
        servers=tuple(servers),
        key=read_key(options.key_file) if options.key_file else "",
        has_tls=bool(options.certificate),
        timeout=options.timeout,
        health_timeout=options.health_timeout,
    )


def _files(options: ProxyOptions, proxy: Proxy, places: Places) -> tuple[list[WantedFile], list[WantedFile]]:
    """Those that a diff may show, and those with secrets."""
    shown = [
        WantedFile(f"{options.unit_directory}/{UNIT}", unit_text(places)),
        WantedFile(places.script, script(proxy)),
        *(WantedFile(places.certificate_of(one.name), one.certificate) for one in proxy.servers if one.certificate),
        _state_file(places, proxy.servers),
    ]
    secret = [WantedFile(places.configuration, configuration(proxy, places), 0o600)]
    if options.certificate:
        both = "".join(_pem(options, name) for name in ("certificate", "certificate_key"))
        secret.append(WantedFile(places.certificate, both, 0o600))
    return shown, secret


def _pem(options: ProxyOptions, name: str) -> str:
    path = getattr(options, name)
    text = read_text(path)
    if text is None or "-----BEGIN " not in text:
        raise GaudiError(f"{name} {path} is no file in PEM on this host; put it there.")
    return text if text.endswith("\n") else f"{text}\n"


def _state_file(places: Places, servers: Iterable[Server]) -> WantedFile:
    return WantedFile(places.state, json.dumps({"servers": [asdict(one) for one in servers]}, indent=1) + "\n")


def _switched_off(places: Places, name: str) -> list[WantedFile]:
    """The configuration without one server; no other word of it is another."""
    lines = (read_text(places.configuration) or "").splitlines()
    start = f"    server {name} "
    changed = [line.removesuffix(_DISABLED) + _DISABLED if line.startswith(start) else line for line in lines]
    return [WantedFile(places.configuration, "\n".join([*changed, ""]), 0o600)] if lines else []


def _structure(text: str) -> list[str]:
    """All but who is switched off."""
    return [line.removesuffix(_DISABLED) for line in text.splitlines()]


def _unused(places: Places, servers: Iterable[Server]) -> list[str]:
    named = {places.certificate_of(one.name) for one in servers if one.certificate}
    return [str(path) for path in sorted(Path(places.directory, "instances").glob("*.pem")) if str(path) not in named]


def _refuse_wrong(options: ProxyOptions, proxy: Proxy, run: Run) -> None:
    """By haproxy itself, before one byte is in its place."""
    with tempfile.TemporaryDirectory() as scratch:
        trial = Places(scratch, options.places.runtime)
        shown, secret = _files(options, proxy, trial)
        for wanted in [*shown[1:], *secret]:
            for change in pending([wanted]):
                write(change)
        done = run([PROGRAM, "-c", "-q", "-f", trial.configuration])
    if done.rc == 127:
        raise GaudiError("haproxy is not installed on this host; install the package haproxy.")
    if done.rc != 0:
        said = next((line for line in done.stderr.splitlines() if "config :" in line), last_line(done.stderr))
        raise GaudiError(f"haproxy refuses its configuration: {said.partition('config :')[2].strip() or said}.")


def _removed(options: ProxyOptions, run: Run, check_mode: bool) -> dict[str, Any]:
    places = options.places
    files = [f"{options.unit_directory}/{UNIT}", places.configuration, places.script, places.certificate, places.state]
    changes = pending([WantedFile(path, None) for path in [*files, *_unused(places, ())]])
    is_on = is_enabled(run, UNIT) or is_active(run, UNIT)
    steps = [*([f"stop {UNIT}"] if is_on else []), *_steps(changes)]
    if not check_mode:
        if is_on:
            disable(run, UNIT)
        for change in changes:
            write(change)
        if changes:
            reload_units(run)
    secret = (places.configuration, places.certificate)
    return {**_result(steps, ()), "diff": differences(one for one in changes if one.wanted.path not in secret)}


def _systemctl(run: Run, verb: str) -> None:
    done = run(["systemctl", verb, UNIT])
    if done.rc != 0:
        log = run(["journalctl", "--unit", UNIT, "--lines", "20", "--no-pager", "--output", "cat"]).stdout
        said = next((line for line in log.splitlines() if "[ALERT]" in line), last_line(log or done.stderr))
        raise GaudiError(f"the proxy did not {verb}: {said}; `journalctl -u {UNIT}` on its host has all of it.")


def _steps(changes: Iterable[FileChange]) -> list[str]:
    return [f"file {change.wanted.path}" for change in changes]


def _result(steps: Sequence[str], servers: Iterable[Server]) -> dict[str, Any]:
    rows = [{"name": one.name, "model": one.model, "admitted": one.admitted} for one in servers]
    return {"changed": bool(steps), "steps": list(steps), "servers": rows}
