# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Streamed requests while models, engines and flags change, one engine hangs and one is killed: how many are lost.

    .venv/bin/python -m benchmarks.serving_changes --seconds 300

Three simulated engines of the sandbox and a real haproxy, all on this machine, as root. Clients ask one streamed
completion after the other for as long as is given, and the script below is played meanwhile, again and again, at least
once: one engine after the other is taken out, stopped, started with another model, another version or another flag,
compared with the model's record, and put back; then one hangs and one is killed, each before the first token of what it
got. The same script is played with plain haproxy, and with vllm-router where its program is given; there an engine is
stopped with its own drain, and nobody takes it out before. What had its first token when an engine is killed is lost
with any proxy.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.serving_proxies import LENGTH, ROOT, SEATS, Ours, PlainHaproxy, Proxy, VllmRouter

sys.path[:0] = [str(ROOT / ".collections"), str(ROOT / "src")]

from ansible_collections.gaudi3.scale.plugins.module_utils._serving.admission import examine  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.asking import Endpoint  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.expected import Expected, parse_expected  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.load.client import Connection  # noqa: E402
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.load.target import Target  # noqa: E402

from sandbox.engine.local import LocalEngine, free_port  # noqa: E402
from tests.tiny_llama import write_tiny_llama  # noqa: E402

MODEL, CLIENTS, TOKENS = "tiny", 8, 4
# Between two requests of a client: two cores also start the engines.
THINK_S = 0.1
VERSIONS = ("0.24.0", "0.26.0")
NAMES = ("one", "two", "three")
HUNG_S, PAUSE_S, TIMEOUT_S = 16.0, 1.0, 120.0
OK, LOST, TRUNCATED, REFUSED = "answered", "lost", "truncated", "refused"


@dataclass(frozen=True)
class Setting:
    """What an engine is started with."""

    model: Path
    version: str
    seats: int


@dataclass
class Fleet:
    """The engines, and what they are now."""

    scratch: Path
    records: dict[Path, Expected]
    engines: dict[str, LocalEngine] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in NAMES})

    def start(self, name: str, setting: Setting) -> None:
        flags = ["--served-model-name", MODEL, "--max-model-len", str(LENGTH), "--max-num-seqs", str(setting.seats)]
        flags += ["--shutdown-timeout", "60"]
        engine = LocalEngine(setting.model, self.scratch, flags, setting.version, port=self.ports[name])
        engine.start()
        engine.wait()
        self.engines[name], self.settings[name] = engine, setting

    def stop(self, name: str) -> None:
        self.engines[name].process.terminate()
        self.engines[name].process.wait()

    def admit(self, name: str) -> None:
        """By its answers; a RuntimeError where it is not the model that it is said to be."""
        expected = self.records[self.settings[name].model]
        verdict = examine(Endpoint("127.0.0.1", self.ports[name]), MODEL, expected, "float32", LENGTH)
        if verdict.reason:
            raise RuntimeError(f"{name}: {verdict.reason}")

    def close(self) -> None:
        for engine in self.engines.values():
            engine.process.kill()
            engine.process.wait()


def main(words: Sequence[str] | None = None) -> int:
    """Print one column per proxy; returns 1 where ours has lost a request."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=300, help="of load, per proxy (default 300)")
    options.add_argument("--vllm-router", metavar="PROGRAM", default="", help="the router's program, for a column more")
    options.add_argument("--only", choices=["ours", "plain", "router"], help="one column alone")
    given = options.parse_args(words)
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        scratch.chmod(0o755)
        models = [_exported(scratch, seed) for seed in (0, 1)]
        columns: dict[str, Callable[[], Proxy]] = {
            "ours": lambda: Ours(scratch / "ours", MODEL),
            "plain": lambda: PlainHaproxy(scratch),
        }
        if given.vllm_router:
            columns["router"] = lambda: VllmRouter(given.vllm_router)
        found = {
            name: _played(make(), scratch, models, given.seconds)
            for name, make in columns.items()
            if given.only in (None, name)
        }
    rows = ("requests", OK, LOST, TRUNCATED, REFUSED, "changes", "hung", "killed", "slowest (s)")
    print(f"{'':14}" + "".join(f"{name:>12}" for name in found))
    for row in rows:
        print(f"{row:14}" + "".join(f"{column[row]:>12.5g}" for column in found.values()))
    ours = found.get("ours")
    return int(bool(ours and ours["requests"] != ours[OK]))


def _exported(scratch: Path, seed: int) -> tuple[Path, Expected]:
    """A model with its record, as `gaudi3_scale export` writes it."""
    from gaudi3_scale.export.publish import ExportOptions, export

    directory = scratch / f"model-{seed}"
    export(ExportOptions(write_tiny_llama(scratch / f"trained-{seed}", seed), directory), lambda _line: None)
    record = json.loads((directory / "gaudi3_scale_export.json").read_text(encoding="utf-8"))
    return directory, parse_expected(record)


def _played(proxy: Proxy, scratch: Path, models: Sequence[tuple[Path, Expected]], seconds: int) -> Counter[str]:
    fleet = Fleet(scratch, dict(models))
    found: Counter[str] = Counter()
    over = threading.Event()
    try:
        for name in NAMES:
            fleet.start(name, Setting(models[0][0], VERSIONS[0], SEATS))
        proxy.start(fleet.ports)
        load = threading.Thread(target=lambda: asyncio.run(_load(proxy.port, over, found)))
        load.start()
        end = time.monotonic() + seconds
        try:
            turn = 0
            while time.monotonic() < end:
                turn += 1
                _turn(proxy, fleet, [model for model, _record in models], turn, found, end)
        finally:
            over.set()
            load.join()
    finally:
        proxy.close()
        fleet.close()
    return found


def _turn(proxy: Proxy, fleet: Fleet, models: Sequence[Path], turn: int, found: Counter[str], end: float) -> None:
    """Another model, another engine, another flag; one that hangs, and one that is killed."""
    for number, kind in enumerate(("model", "engine", "flag")):
        name = NAMES[(turn + number) % 3]
        if time.monotonic() >= end and found["killed"]:
            return
        _change(proxy, fleet, name, _changed(fleet.settings[name], kind, models))
        found["changes"] += 1
        _tell(f"another {kind}: {found['requests']} requests, {found[OK]} answered")
        time.sleep(PAUSE_S)
    _lost(proxy, fleet, NAMES[turn % 3], found, "hung")
    _lost(proxy, fleet, NAMES[(turn + 1) % 3], found, "killed")


def _changed(setting: Setting, kind: str, models: Sequence[Path]) -> Setting:
    if kind == "model":
        return replace(setting, model=models[1 - models.index(setting.model)])
    if kind == "engine":
        return replace(setting, version=VERSIONS[1 - VERSIONS.index(setting.version)])
    return replace(setting, seats=2 * SEATS + 1 - setting.seats)


def _change(proxy: Proxy, fleet: Fleet, name: str, setting: Setting) -> None:
    proxy.take_out(name)
    fleet.stop(name)
    fleet.start(name, setting)
    fleet.admit(name)
    proxy.put_back(name)


def _lost(proxy: Proxy, fleet: Fleet, name: str, found: Counter[str], how: str) -> None:
    """An engine gets requests and answers none of them; later it is started again."""
    engine = fleet.engines[name]
    proxy.take_out(name)
    engine.fault(hang=True)
    time.sleep(0.2)
    proxy.put_back(name)
    time.sleep(HUNG_S if how == "hung" else PAUSE_S)
    found[how] += 1
    _tell(f"{name} {how}, {found['requests']} requests, {found[OK]} answered")
    engine.process.kill()
    engine.process.wait()
    engine.fault()
    if how == "killed":
        time.sleep(PAUSE_S)
    proxy.take_out(name)
    fleet.start(name, fleet.settings[name])
    fleet.admit(name)
    proxy.put_back(name)
    time.sleep(PAUSE_S)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def _load(port: int, over: threading.Event, found: Counter[str]) -> None:
    target = Target("127.0.0.1", port, MODEL)
    await asyncio.gather(*(_client(target, over, found, number) for number in range(CLIENTS)))


async def _client(target: Target, over: threading.Event, found: Counter[str], number: int) -> None:
    connection = Connection(target, None)
    asked = 0
    while not over.is_set():
        prompt = [(number * 31 + asked * 7 + place) % 500 + 3 for place in range(16)]
        asked += 1
        body = {"model": MODEL, "prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        sample = await asyncio.wait_for(connection.completion(json.dumps(body).encode()), TIMEOUT_S)
        kind = _kind(sample.error, bool(sample.first), sample.output_tokens)
        found["requests"] += 1
        found[kind] += 1
        await asyncio.sleep(THINK_S)
        found["slowest (s)"] = max(found["slowest (s)"], round(sample.ended - sample.begun, 1))  # type: ignore[assignment]
    connection.close()


def _kind(error: str, has_begun: bool, tokens: int) -> str:
    if not error:
        return OK if tokens == TOKENS else TRUNCATED
    if error.startswith("status "):
        return REFUSED
    return TRUNCATED if has_begun or "stream ended" in error or "was cut" in error else LOST


if __name__ == "__main__":
    raise SystemExit(main())
