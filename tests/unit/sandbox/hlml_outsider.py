# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A program that nobody here wrote reads a libhlml.so: the vendor's own wrapper, each of its functions, unchanged.

``python hlml_outsider.py LIBRARY ADDRESS UUID`` prints what each said, as JSON: ``{"FUNCTION ARGUMENT...": VALUE}``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
import pyhlml  # noqa: E402
from pyhlml.hlml_lib import LibHLML  # noqa: E402

# How many words of a set of processors are asked for.
WORDS = 2
# Of each function that takes a number after the card: which.
CHOICES: dict[str, tuple[tuple[int, ...], ...]] = {
    "hlmlDeviceGetClockInfo": ((0,), (1,), (2,), (3,)),
    "hlmlDeviceGetMaxClockInfo": ((0,), (1,), (2,), (3,)),
    "hlmlDeviceGetClockLimitInfo": ((0,), (1,), (2,), (3,)),
    "hlmlDeviceGetTemperature": ((0,), (1,), (2,), (3,), (4,), (5,)),
    "hlmlDeviceGetTemperatureThreshold": ((0,), (1,), (2,), (3,)),
    "hlmlDeviceGetTotalECCErrors": ((0, 0), (0, 1), (1, 0), (1, 1)),
    "hlmlDeviceGetMemoryErrorCounter": ((1, 0, 0), (1, 0, 1), (1, 1, 2)),
    "hlmlDeviceGetPCIEThroughput": ((0,), (1,)),
    "hlmlDeviceGetViolationStatus": ((0,), (1,)),
    "hlmlDeviceGetReplacedRowsCount": ((0,), (1,)),
    "hlmlDeviceGetReplacedRows": ((1, 8),),
    "hlmlDeviceNicGetLink": tuple((port,) for port in range(24)),
    "hlmlDeviceNicGetStatistics": ((0,),),
    "hlmlDeviceGetMACInfo": ((24, 0),),
    "hlmlDeviceGetCpuAffinity": ((WORDS,),),
    "hlmlDeviceGetCpuAffinityWithinScope": ((WORDS, 0),),
    "hlmlDeviceGetMemoryAffinity": ((WORDS, 0),),
    "hlmlDeviceSetPowerManagementLimit": ((600_000,),),
}
# Called beside the cards' own, each in its place.
OTHERS = {
    *("hlmlInit", "hlmlInitWithFlags", "hlmlShutdown", "hlmlDeviceGetCount", "hlmlGetHLMLVersion"),
    *("hlmlGetDriverVersion", "hlmlGetNicDriverVersion", "hlmlDeviceGetHandleByIndex", "hlmlDeviceGetHandleByUUID"),
    *("hlmlDeviceGetHandleByPCIBusID", "hlmlEventSetCreate", "hlmlEventSetFree", "hlmlEventSetWait"),
    *("hlmlDeviceRegisterEvents", "hlmlDeviceSetCpuAffinity", "hlmlDeviceClearCpuAffinity"),
}


def main(library: str, address: str, uuid: str) -> dict[str, Any]:
    """All that is to be told of this card."""
    # The path is fixed in the wrapper, as that of a node; here it is another one.
    LibHLML.__init__.__defaults__ = (library,)
    said: dict[str, Any] = {}

    def call(name: str, *arguments: Any, shown: tuple[Any, ...] = ()) -> Any:
        try:
            value = getattr(pyhlml, name)(*arguments)
        except pyhlml.HLMLError as error:
            value = {"error": int(error.value)}
        said[" ".join([name, *map(str, shown)])] = plain(value)
        return value

    call("hlmlInitWithFlags", 0)
    call("hlmlShutdown")
    call("hlmlDeviceGetCount", shown=("before",))
    call("hlmlInit")
    call("hlmlDeviceGetCount")
    for name in ("hlmlGetHLMLVersion", "hlmlGetDriverVersion", "hlmlGetNicDriverVersion"):
        call(name)
    card = call("hlmlDeviceGetHandleByPCIBusID", address)
    same = [call("hlmlDeviceGetHandleByUUID", uuid), *(call("hlmlDeviceGetHandleByIndex", n) for n in range(8))]
    said["same"] = [plain(pyhlml.hlmlDeviceGetPCIInfo(one))["bus_id"] for one in same]
    for name in sorted(functions() - OTHERS):
        for choice in CHOICES.get(name, ((),)):
            call(name, card, *choice, shown=choice)
    statistics(said, card)
    before = os.sched_getaffinity(0)
    call("hlmlDeviceSetCpuAffinity", card)
    said["processors set"] = sorted(os.sched_getaffinity(0))
    call("hlmlDeviceClearCpuAffinity", card)
    said["processors cleared"] = before <= os.sched_getaffinity(0)
    events(call, said, card, Path(library).with_name("hlml"))
    call("hlmlShutdown")
    return said


def functions() -> set[str]:
    """The names of all that the wrapper offers."""
    return {name for name in vars(pyhlml) if name.startswith("hlml") and callable(getattr(pyhlml, name))} - {"hlml_t"}


def statistics(said: dict[str, Any], card: Any) -> None:
    found = pyhlml.hlmlDeviceNicGetStatistics(card, 0)
    count = found.num_of_counters_out[0]
    names = [bytes(found.str_buf[32 * n + i][0] for i in range(32)).split(b"\0")[0].decode() for n in range(count)]
    said["counters"] = dict(zip(names, [found.val_buf[n] for n in range(count)]))


def events(call: Any, said: dict[str, Any], card: Any, state: Path) -> None:
    """A memory error that comes while somebody waits; and nothing, until the time is over."""
    waiting = call("hlmlEventSetCreate")
    call("hlmlDeviceRegisterEvents", card, 0xFF, waiting)
    call("hlmlEventSetWait", waiting, 50, shown=("nothing",))
    text = state.read_text(encoding="utf-8")

    def fail() -> None:
        time.sleep(0.2)
        fresh = state.with_name("hlml.new")
        fresh.write_text(text.replace("ecc_1 3", "ecc_1 4"), encoding="utf-8")
        fresh.replace(state)

    failing = threading.Thread(target=fail)
    failing.start()
    found = call("hlmlEventSetWait", waiting, 10_000)
    said["event of the card"] = found.device == card.value
    failing.join()
    call("hlmlEventSetFree", waiting)


def plain(value: Any) -> Any:
    """What JSON can hold."""
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "_fields_"):
        return {name: plain(getattr(value, name)) for name, *_rest in value._fields_}
    if hasattr(value, "_length_"):
        return [plain(one) for one in value]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "contents"):
        return "pointer"
    return getattr(value, "value", value)


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"functions": sorted(functions()), **main(*sys.argv[1:])}) + "\n")
