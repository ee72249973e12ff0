# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One instance through a change: what it was is kept until the new one is admitted, and can be put back as it was."""

from __future__ import annotations

import http.client
import json
import re
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.json_file import read_json
from .._node.rendered_files import WantedFile, pending, read_text, write
from .._node.systemd_units import is_active, reload_units
from .admission import ANSWER_SECONDS, Verdict, examine
from .asking import COMPLETIONS, Endpoint, ask, endpoint_of
from .control import Control, ServingPaths, known_instances, read_control
from .expected import read_expected
from .plan import no_files
from .ready import completes, did_not_start, starts_of

POLL_S = 0.5
METRICS = "/metrics"
_MOST_BYTES = 1 << 22
_COUNTED = re.compile(rb"^vllm:num_requests_(?:running|waiting)(?:\{[^}\n]*\})? ([0-9.eE+]+)$", re.MULTILINE)


def kept_file(paths: ServingPaths) -> str:
    """Root's alone: the instance's environment may have secrets."""
    return f"{paths.state}/before/{paths.name}.json"


def keep(paths: ServingPaths) -> bool:
    """Keep the files of what runs; False where a change that was interrupted has kept them, or there is nothing."""
    if is_kept(paths) or read_control(paths) is None:
        return False
    texts = {path: _kept(path) for path in _files(paths)}
    Path(kept_file(paths)).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for change in pending([WantedFile(kept_file(paths), json.dumps(texts) + "\n", 0o600)]):
        write(change)
    return True


def is_kept(paths: ServingPaths) -> bool:
    """Whether a change of the instance has begun, and not ended."""
    return read_json(kept_file(paths)) is not None


def done(paths: ServingPaths) -> bool:
    """The change has ended: forget what was before."""
    was = is_kept(paths)
    Path(kept_file(paths)).unlink(missing_ok=True)
    return was


def restore(paths: ServingPaths, run: Run, wait: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Put back what was kept and wait for its answer; GaudiError where there is nothing, or it does not start."""
    texts = read_json(kept_file(paths))
    if texts is None:
        raise GaudiError(f"instance {paths.name} was not there before, so there is nothing to go back to.")
    # It is root's own file: whatever it has was read here.
    wanted = [WantedFile(path, *texts[path]) for path in _files(paths) if texts.get(path)]
    for change in pending(wanted):
        write(change)
    reload_units(run)
    run(["systemctl", "reset-failed", paths.unit])
    started = run(["systemctl", "restart", paths.unit])
    control = read_control(paths)
    if started.rc != 0 or control is None:
        raise did_not_start(control or _unknown(paths), run)
    await_answer(control, run, wait, sleep)


def await_answer(control: Control, run: Run, wait: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """GaudiError where its unit ends, or nothing answers for so many seconds."""
    endpoint = endpoint_of(control.address, control.port, control.certificate, control.key_file)
    end = time.monotonic() + wait
    while not completes(endpoint, control.served_name):
        if starts_of(control.unit, run)[0] in ("failed", "inactive"):
            raise did_not_start(control, run)
        if time.monotonic() >= end:
            raise GaudiError(
                f"instance {control.name} has not answered within {wait:.0f} s; see `journalctl -u {control.unit}`."
            )
        sleep(POLL_S)


def in_flight(control: Control, wait: float, sleep: Callable[[float], None] = time.sleep) -> int:
    """Requests that the engine has after ``wait`` seconds, whoever sent them; 0 where it answers none."""
    endpoint = endpoint_of(control.address, control.port, control.certificate, control.key_file)
    end = time.monotonic() + wait
    while True:
        count = requests_of(endpoint)
        if not count:
            return 0
        if time.monotonic() >= end:
            # Those of one that hangs will never end.
            return count if completes(endpoint, control.served_name) else 0
        sleep(POLL_S)


def requests_of(endpoint: Endpoint) -> int:
    """Running and waiting ones, by the engine's own count."""
    connection = endpoint.connection(10.0)
    try:
        connection.request("GET", METRICS, headers=endpoint.headers)
        text = connection.getresponse().read(_MOST_BYTES)
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
    return round(sum(float(number) for number in _COUNTED.findall(text)))


def completion(control: Control, prompt: str, tokens: int) -> str:
    """What the model says after ``prompt``; GaudiError where it says nothing."""
    endpoint = endpoint_of(control.address, control.port, control.certificate, control.key_file)
    body = {"model": control.served_name, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    answer = ask(endpoint, COMPLETIONS, body, ANSWER_SECONDS)
    choices = answer.body.get("choices") if answer and answer.status == 200 else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        said = f"status {answer.status}" if answer else f"no answer within {ANSWER_SECONDS:.0f} s"
        raise GaudiError(
            f"instance {control.name} does not complete a prompt ({said}); see `journalctl -u {control.unit}`."
        )
    return str(choices[0].get("text") or "")


def admission(control: Control, limit_ms: float, run: Run) -> dict[str, Any]:
    """What a proxy has to know of an instance, and whether it may get requests; never fails for what it answers."""
    endpoint = endpoint_of(control.address, control.port, control.certificate, control.key_file)
    verdict = _verdict(control, endpoint, limit_ms, run)
    limits = control.limits
    return {
        "name": control.name,
        "url": endpoint.url,
        "served_name": control.served_name,
        "version": control.version,
        "max_num_seqs": int(limits.get("max_num_seqs") or 1),
        "max_model_len": int(limits.get("max_model_len") or 0),
        "certificate": (read_text(control.certificate) or "") if control.certificate else "",
        "admitted": not verdict.reason,
        "reason": f"instance {control.name} is not admitted: {verdict.reason}." if verdict.reason else "",
        "windows": verdict.windows,
        "milliseconds": round(verdict.milliseconds, 1),
    }


def _verdict(control: Control, endpoint: Endpoint, limit_ms: float, run: Run) -> Verdict:
    if not is_active(run, control.unit):
        return Verdict(f"{control.unit} does not run", 0, 0.0)
    try:
        expected = read_expected(control)
    except GaudiError as error:
        return Verdict(str(error).removeprefix(f"instance {control.name}: ").rstrip("."), 0, 0.0)
    longest = int(control.limits.get("max_model_len") or 0)
    return examine(endpoint, control.served_name, expected, control.dtype, longest, limit_ms)


def chosen(names: Mapping[str, Any] | list[str] | tuple[str, ...], directory: str) -> list[Control]:
    """Those of this node with these names; all without any. GaudiError for one that there is not."""
    known = {one.name: one for one in known_instances(directory)}
    strange = [name for name in names if name not in known]
    if strange:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise GaudiError(f"instances: this node has no instance {strange[0]}; {has}.")
    return [known[name] for name in names] if names else list(known.values())


def _files(paths: ServingPaths) -> tuple[str, ...]:
    """All of them; the control file last, as it is written."""
    return tuple(sorted((one.path for one in no_files(paths)), key=lambda path: path == paths.control))


def _kept(path: str) -> list[Any]:
    """Its text and mode; nothing where there is no such file."""
    text = read_text(path)
    return [] if text is None else [text, stat.S_IMODE(Path(path).stat().st_mode)]


def _unknown(paths: ServingPaths) -> Control:
    return Control(paths.name, "", 0, "", "", "", (), "", paths.unit)
