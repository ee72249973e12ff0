# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The program that asks HLML, in processes of its own: run by its text alone, with nothing of the collection around it.

The library may crash, hang, leak and print. So there are two processes: one that loads it and asks, and one that waits
for it until a deadline, ends it, and says how it ended, also where the kernel does not let go of it. Answers are lines
of JSON in the order of the questions; what was answered before the end counts (``hlml.py``).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import re
import resource
import select
import signal
import struct
import sys
import time
from typing import Any, Callable

# Beside each buffer, since a library of another release may write more than was asked for.
_SLACK = 4096
# No card's answers need this much, and a unit that asks has more. A library that leaks without an end finds its own.
_MOST_MEMORY = 1 << 29
_POLL_S = 0.05
_PIECE = 1 << 16

Tell = Callable[..., None]


def main(text: str) -> int:
    """Ask what the request names; see ``hlml.py`` for its keys."""
    request = json.loads(text)
    # Nothing from the caller is the library's: no variable that it would follow, and no directory.
    os.environ.clear()
    os.chdir("/")
    if "events" in request:
        return _wait_for_events(request)
    # Held by the process that asks as well: one that cannot be ended keeps the next away from the cards.
    with contextlib.ExitStack() as stack:
        if not _alone(request, stack):
            _say({"end": "busy"})
            return 0
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _child(request, writing)
        os.close(writing)
        _say(_watched(child, reading, request))
    return 0


def _alone(request: dict[str, Any], stack: contextlib.ExitStack) -> bool:
    """Whether no other reader is at work, within the time that the request has for that."""
    if not request["lock"]:
        return True
    descriptor = _opened(request["lock"])
    if descriptor is None:
        # Where root may write nowhere, as in a confined unit, and nobody was here before.
        return True
    stack.callback(os.close, descriptor)
    until = time.monotonic() + request["wait"]
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def _opened(path: str) -> int | None:
    # Root's alone: whoever can open a file can hold its lock.
    for flags in (os.O_RDONLY | os.O_CREAT, os.O_RDONLY):
        with contextlib.suppress(OSError):
            return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return None


def _watched(child: int, reading: int, request: dict[str, Any]) -> dict[str, Any]:
    """Hand on what the child says; how it ended."""
    until, left, last = time.monotonic() + request["seconds"], request["most_bytes"], b"\n"
    end, status = "", None
    while not end:
        ready = select.select([reading], [], [], _POLL_S)[0]
        piece = os.read(reading, min(_PIECE, left)) if ready else b""
        if piece:
            _write(1, piece)
            left, last = left - len(piece), piece
        elif status is not None or ready:
            # It has ended and all is read, or it has closed its side and ends now.
            end = "ended"
        if not left:
            end = "bytes"
        elif not end and time.monotonic() >= until:
            end = "deadline"
        if status is None:
            status = _ended(child)
    with contextlib.suppress(OSError):
        # With all that the library may have started.
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.kill(child, signal.SIGKILL)
    gone_by = time.monotonic() + 1.0
    while status is None and time.monotonic() < gone_by:
        status = _ended(child)
        time.sleep(0 if status is not None else _POLL_S)
    if not last.endswith(b"\n"):
        _write(1, b"\n")
    return {"end": end, "stuck": status is None, "signal": _signal(status)}


def _ended(child: int) -> int | None:
    pid, status = os.waitpid(child, os.WNOHANG)
    return status if pid else None


def _signal(status: int | None) -> int:
    return os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0


def _child(request: dict[str, Any], writing: int) -> None:
    """Ask, and end without anything that Python or the library would do at an end."""
    try:
        os.setsid()
        # Where the other process is ended first.
        signal.alarm(int(request["seconds"]) + 2)
        # A crash leaves no file behind.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        nothing = os.open("/dev/null", os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)

        def tell(**answer: Any) -> None:
            _write(writing, (json.dumps(answer) + "\n").encode())

        _ask(request, tell)
    finally:
        os._exit(0)


def _ask(request: dict[str, Any], tell: Tell) -> None:
    library = _begun(request, tell)
    if library is None:
        return
    for address in request["cards"]:
        for answer in _of_card(library, address, request):
            tell(card=address, **answer)
    # Without hlml_shutdown, which may hang as well: the end of the process lets go of all.


def _begun(request: dict[str, Any], tell: Tell) -> ctypes.CDLL | None:
    """The library after what it says of itself; None where it is refused, which is told."""
    try:
        library = ctypes.CDLL(request["library"])
    except OSError as error:
        tell(refused="load", why=str(error))
        return None
    tell(card="", name="dlopen", code=0)
    for name in ("hlml_init", *request["needed"]):
        if not hasattr(library, name):
            tell(refused="symbol", why=name)
            return None
    begun = _code(library.hlml_init())
    tell(card="", name="hlml_init", code=begun)
    if begun != 0:
        tell(refused="init", why=begun)
        return None
    for call in request["of_library"]:
        answer = _called(library, call, None)
        tell(card="", **answer)
        if call["function"] == request["release"] and not _is_known(answer, request["lines"]):
            tell(refused="release", why=_text(answer))
            return None
    return library


def _wait_for_events(request: dict[str, Any]) -> int:
    """Tell what happens to the cards until whoever reads has gone, and between that each time that nothing did."""
    writing = os.dup(1)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))

    def tell(**answer: Any) -> None:
        _write(writing, (json.dumps(answer) + "\n").encode())

    library = _begun(request, tell)
    if library is not None:
        _tell_events(library, request, tell)
    # Without what the library would do at an end.
    os._exit(0)


def _tell_events(library: ctypes.CDLL, request: dict[str, Any], tell: Tell) -> None:
    waiting = _buffer(["out", "P"])
    code = _code(library.hlml_event_set_create(waiting))
    if code != 0:
        tell(failed="hlml_event_set_create", code=code)
        return
    waiting_set = ctypes.c_void_p(struct.unpack_from("@P", waiting)[0])
    cards: dict[int, str] = {}
    for address in request["cards"]:
        handle = _called(library, {**request["handle"], "parameters": [address, ["out", "P"]]}, None)
        code, device = handle.get("code", -1), (handle.get("values") or [None])[0]
        if code == 0 and device is not None:
            mask = ctypes.c_ulonglong(request["events"])
            code = _code(library.hlml_device_register_events(ctypes.c_void_p(device), mask, waiting_set))
        if code == 0 and device is not None:
            cards[device] = address
        tell(card=address, registered=code)
    while cards:
        data = _buffer(["out", "PQ"])
        code = _code(library.hlml_event_set_wait(waiting_set, data, ctypes.c_uint(request["milliseconds"])))
        if code == 0:
            device, kinds = struct.unpack_from("@PQ", data)
            tell(card=cards.get(device or 0, ""), event=kinds)
        elif code in request["nothing"]:
            tell(waiting=True)
        else:
            tell(failed="hlml_event_set_wait", code=code)
            return


def _is_known(answer: dict[str, Any], lines: list[str]) -> bool:
    found = re.search(r"\d+\.\d+", _text(answer))
    return found is not None and found.group() in lines


def _text(answer: dict[str, Any]) -> str:
    return str((answer.get("values") or [""])[0])


def _of_card(library: ctypes.CDLL, address: str, request: dict[str, Any]) -> Any:
    handle = _called(library, {**request["handle"], "parameters": [address, ["out", "P"]]}, None)
    device = (handle.pop("values", None) or [None])[0]
    yield handle
    if device is None:
        return
    for call in request["of_card"]:
        yield _called(library, call, device)


def _called(library: ctypes.CDLL, call: dict[str, Any], device: int | None) -> dict[str, Any]:
    """One call's answer: ``code``, and ``values`` where that is 0; ``missing`` where there is no such function."""
    try:
        function = getattr(library, call["function"])
    except AttributeError:
        return {"name": call["name"], "missing": True}
    parameters, outputs = [], []
    for word in call["parameters"]:
        if isinstance(word, list) and word[0] == "counters":
            return _counters(call["name"], function, device, *word[1:])
        if isinstance(word, list):
            output = _buffer(word)
            outputs.append((word[1], output))
            parameters.append(output)
        elif word == "device":
            parameters.append(ctypes.c_void_p(device))
        elif isinstance(word, str):
            parameters.append(word.encode())
        else:
            parameters.append(None if word is None else ctypes.c_uint(word))
    code = _code(function(*parameters))
    if code != 0:
        return {"name": call["name"], "code": code}
    values = [_plain(value) for form, output in outputs for value in struct.unpack_from("@" + form, output)]
    return {"name": call["name"], "code": code, "values": values}


def _counters(name: str, function: Any, device: int | None, port: int, most: int, length: int) -> dict[str, Any]:
    """The counters of a port: their names, each in ``length`` bytes, and their values, in turn."""
    names, values = _buffer(["out", f"{most * length}s"]), _buffer(["out", f"{most}Q"])
    count, info = _buffer(["out", "I"]), _buffer(["out", "IPPP"])
    struct.pack_into("@IPPP", info, 0, port, *map(ctypes.addressof, (names, values, count)))
    code = _code(function(ctypes.c_void_p(device), info))
    if code != 0:
        return {"name": name, "code": code}
    found = min(struct.unpack_from("@I", count)[0], most)
    texts = [_plain(struct.unpack_from(f"{length}s", names, number * length)[0]) for number in range(found)]
    pairs = zip(texts, struct.unpack_from(f"@{found}Q", values))
    return {"name": name, "code": code, "values": [one for pair in pairs for one in pair]}


def _buffer(word: list[Any]) -> Any:
    """Room for ``["out", FORMAT, FIRST...]``, of which ``FIRST`` is what stands in it before the call."""
    _kind, form, *first = word
    output = ctypes.create_string_buffer(struct.calcsize("@" + form) + _SLACK)
    if first:
        struct.pack_into("@" + form, output, 0, *first)
    return output


def _plain(value: Any) -> Any:
    return value.split(b"\0", 1)[0].decode(errors="replace") if isinstance(value, bytes) else value


def _code(returned: int) -> int:
    return returned & 0xFFFFFFFF


def _say(line: dict[str, Any]) -> None:
    _write(1, (json.dumps(line) + "\n").encode())


def _write(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
