# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Programs that had not ended when their time was over: what they would have said is not known, which is no fault."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._node.check import Check
from .._node.commands import CommandResult, Run

HL_SMI, PYTHON = "hl-smi", "python"
_TORCH = "torch"
# What run_process calls a program that it has ended.
_ENDED = 124
# What is known by hl-smi. Cards on the bus, modules and PCIe links are the kernel's own word.
_BY_HL_SMI = frozenset(
    {
        "card status",
        "SPI firmware",
        "temperature",
        "idle memory",
        "uncorrected ECC errors",
        "row replacement",
        "internal links",
        "external links",
    }
)


@dataclass
class Patience:
    """A :class:`Run` that remembers which programs were ended. ``late``: a program's name -> the seconds it had."""

    run: Run
    late: dict[str, float] = field(default_factory=dict)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        done = self.run(argv, timeout=timeout, env=env)
        if done.rc == _ENDED and timeout is not None:
            self.late[argv[0].rpartition("/")[2]] = timeout
        return done


def without_the_late(checks: Iterable[Check], late: Mapping[str, float], known: Collection[str]) -> list[Check]:
    """The checks, but those that miss what a program would have said that had not ended; one about it stands for them.

    ``known``: checks that the kernel has answered as well.
    """
    silent = (_BY_HL_SMI if HL_SMI in late else frozenset[str]()) | ({_TORCH} if PYTHON in late else frozenset[str]())
    kept = [one for one in checks if one.ok or one.name not in silent or one.name in known]
    smi = [_hl_smi(late[HL_SMI])] if HL_SMI in late else []
    return [*kept, *smi, *([_torch(late[PYTHON])] if PYTHON in late else [])]


def _hl_smi(seconds: float) -> Check:
    remedy = "run this again; if it hangs again, check `dmesg | grep -i habana`, and reset the card or reboot"
    return _unknown(HL_SMI, seconds, "the state of the cards", remedy)


def _torch(seconds: float) -> Check:
    remedy = "run this again; if it is slow again, check the read speed of the training venv's storage"
    return _unknown(_TORCH, seconds, "whether torch sees the cards", remedy)


def _unknown(name: str, seconds: float, what: str, remedy: str) -> Check:
    message = f"{name}: it had not finished after {seconds:g} s, so it is unknown: {what}; {remedy}."
    return Check(name, False, f"a result within {seconds:g} s", "none", remedy, message=message, unknown=True)
