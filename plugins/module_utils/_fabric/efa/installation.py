# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Amazon's EFA software on a node: installed by Amazon's installer where its version differs, and judged each time."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._cards.accel_sysfs import attribute
from ..._errors import GaudiError
from ..._host.kernel.values import value_difference
from ..._node import restart_due
from ..._node.check import advice, as_results
from ..._node.commands import CommandResult, Run
from ..._node.kernel_tree import kernel_tree
from ..._node.lock import alone, state_beside
from ..._node.regular_file import read_end
from ..._node.screen_text import one_line
from ..._node.umask import readable_by_all
from ..sysfs import read_network
from .archive import SCRIPT, have_archive, private_directory, unpack
from .coherence import judge, reboot_reasons
from .installed import Installed, read_installed
from .plan import MINIMAL, EfaOptions, Machine, cautions, check_options, refuse_downgrade, refuse_machine
from .stack import read_stack
from .wrapper import WrapperPlace, ask_for_sources, build_wrapper, found_wrapper
from .wrapper_plan import check_wrapper, described

_LOG = "var/log/gaudi3_scale/efa-installer.log"
_LAST_LINES = 5
_LOG_END = 1 << 14
# Changes the directory first, which the installer asks for, and writes what it says where a cut connection leaves it.
_IN_DIRECTORY = 'cd "$1" && exec >"$2" 2>&1 && shift 2 && exec "$@"'
_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}
# The installer's words where the module that was loaded could not be unloaded.
_WANTS_RESTART = ("Reboot is needed", "Please reboot to complete")


@dataclass(frozen=True)
class Place:
    """Where the node's files are."""

    kernel_root: str = field(default_factory=kernel_tree)
    root: str = "/"

    @property
    def beside(self) -> str:
        """The collection's state directory on this node."""
        return state_beside(str(Path(self.root, "etc")))

    @property
    def state(self) -> Path:
        """Archive, unpacked installer, and what a run leaves for the next one."""
        return Path(self.beside, "efa")

    @property
    def wrapper(self) -> WrapperPlace:
        """HCCL's wrapper, and what it was built of."""
        return WrapperPlace(self.root, self.state)

    @property
    def log(self) -> Path:
        """All that the installer said in its last run."""
        return Path(self.root, _LOG)


def converge(options: EfaOptions, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    """Bring the node to ``options``; returns what an Ansible module returns."""
    check_options(options)
    machine = _machine(place.kernel_root)
    refuse_machine(options, machine)
    # What is refused is refused before there is even a lock.
    there = read_installed(run, place.root).version
    if options.version:
        refuse_downgrade(options, there)
    version, minimal = options.version or there or "", MINIMAL in options.installer_options
    check_wrapper(options.wrapper, version, minimal, options.plain_http_hosts)
    with alone("EFA installation", place.beside, check_mode=check_mode):
        return _converge(options, machine, run, check_mode, place)


@dataclass(frozen=True)
class _Wanted:
    """What differs from the operator's wishes: the installer's version, and HCCL's wrapper, by its words."""

    before: Installed
    installer: bool
    wrapper: str
    had: str

    @property
    def build(self) -> bool:
        """Whether the wrapper is to be built."""
        return bool(self.wrapper) and self.wrapper != self.had

    @property
    def any(self) -> bool:
        return self.installer or self.build


def _wanted(options: EfaOptions, run: Run, place: Place) -> _Wanted:
    before = read_installed(run, place.root)
    return _Wanted(
        before,
        bool(options.version) and _differs(before, options, place),
        described(options.wrapper, options.version or before.version or ""),
        found_wrapper(place.wrapper),
    )


def _converge(options: EfaOptions, machine: Machine, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    wanted = _wanted(options, run, place)
    if not check_mode:
        _install_both(options, wanted, run, place)
    after = wanted.before if check_mode or not wanted.installer else read_installed(run, place.root)
    stack = read_stack(run, place.kernel_root, place.root, options.environment_file)
    # In check mode nothing has been installed yet, so what the parts lack is no news.
    checks = [] if wanted.any and check_mode else judge(stack, MINIMAL in options.installer_options)
    reasons = [*_asked_for_restart(place), *reboot_reasons(stack)]
    if not check_mode:
        restart_due.keep("efa", reasons, place.beside, place.kernel_root)
    warnings = [*cautions(options, machine), *advice(checks)]
    return {
        "changed": wanted.any,
        "diff": _differences(wanted, options, place),
        "warnings": [one_line(warning) for warning in warnings],
        "reboot_required": bool(reasons),
        "reboot_reasons": reasons,
        "efa": {
            "version": after.version,
            "previous": wanted.before.version,
            "generation": machine.generation,
            "instance_type": machine.instance_type,
            "libfabric": stack.libfabric,
            "kernel_module": stack.loaded,
            "devices": list(stack.devices),
            "wrapper": (wanted.had if check_mode or not wanted.build else wanted.wrapper) or None,
        },
        "coherence": as_results(checks),
    }


def _install_both(options: EfaOptions, wanted: _Wanted, run: Run, place: Place) -> None:
    if wanted.build:
        ask_for_sources(options.wrapper)
    if wanted.installer:
        _install(options, run, place)
    if wanted.build:
        private_directory(place.state)
        build_wrapper(options.wrapper, wanted.wrapper, options.timeout, run, place.wrapper)


def _differences(wanted: _Wanted, options: EfaOptions, place: Place) -> list[dict[str, str]]:
    found = []
    if wanted.installer:
        found.append(value_difference("Amazon's EFA installer", _shown(wanted.before), options.version))
    if wanted.build:
        found.append(value_difference(str(place.wrapper.target), wanted.had or None, wanted.wrapper))
    return found


def _machine(kernel_root: str) -> Machine:
    product = attribute(Path(kernel_root, "sys/class/dmi/id"), "product_name") or ""
    return Machine(read_network(kernel_root).generation, one_line(product, 60))


def _differs(before: Installed, options: EfaOptions, place: Place) -> bool:
    if before.version != options.version or (place.state / "running").exists():
        return True
    # A package that was not there either when the installer had come to its end is none that somebody removed.
    left_out = (read_end(str(place.state / "left_out"), _LOG_END) or "").split()
    return bool(set(before.missing) - set(left_out))


def _shown(before: Installed) -> str:
    if before.version and before.missing:
        return f"{before.version} without {', '.join(before.missing)}"
    return before.version or "none"


def _install(options: EfaOptions, run: Run, place: Place) -> None:
    """Run the installer. What it needs stays for the next run until it has come to its end."""
    state = private_directory(place.state)
    archive = have_archive(options, state)
    directory = unpack(archive, state, options.version)
    (state / "running").write_text(f"{options.version}\n", encoding="utf-8")
    done = _run_installer(options, directory, run, place)
    said = read_end(str(place.log), _LOG_END) or ""
    found = read_installed(run, place.root)
    if done.rc != 0 or found.version != options.version:
        raise _failure(options, done, said, found, place)
    if any(words in said for words in _WANTS_RESTART):
        (state / "restart").write_text(f"{_boot(place)}\n{options.version}\n", encoding="utf-8")
    (state / "left_out").write_text("\n".join(found.missing), encoding="utf-8")
    (state / "running").unlink()
    shutil.rmtree(directory)
    for kept in state.glob("*.tar.gz"):
        kept.unlink()


def _run_installer(options: EfaOptions, directory: Path, run: Run, place: Place) -> CommandResult:
    # Packages are the system's: root's own umask is none of theirs.
    with readable_by_all():
        place.log.parent.mkdir(parents=True, exist_ok=True)
        command = [f"./{SCRIPT}", "--yes", *options.installer_options]
        arguments = [str(directory), str(place.log), *command]
        return run(["sh", "-c", _IN_DIRECTORY, SCRIPT, *arguments], timeout=options.timeout, env=_QUIET)


def _failure(options: EfaOptions, done: CommandResult, said: str, found: Installed, place: Place) -> GaudiError:
    lines = [one_line(line, 200) for line in said.splitlines() if line.strip(" =")][-_LAST_LINES:]
    if done.rc == 124:
        how = f"did not finish within {options.timeout:.0f} s (gaudi_fabric_efa_timeout)"
    elif done.rc != 0:
        how = f"ended with {done.rc}"
    else:
        how = f"exited with 0 but left {_shown(found)}"
    tail = " | ".join(lines) or one_line(done.stderr.strip(), 200) or "it printed nothing"
    return GaudiError(
        f"{SCRIPT} of {options.version} {how}; its last lines are: {tail} (all in {place.log}); remove the cause, and "
        "run again: it starts from the beginning.",
        rc=done.rc,
        last_lines=lines,
        log=str(place.log),
    )


def _boot(place: Place) -> str:
    return attribute(Path(place.kernel_root, "proc/sys/kernel/random"), "boot_id") or ""


def _asked_for_restart(place: Place) -> Sequence[str]:
    """What the installer asked for in an earlier run counts until the node has booted."""
    lines = (read_end(str(place.state / "restart"), 200) or "").splitlines()
    if len(lines) != 2 or not lines[0] or lines[0] != _boot(place):
        return ()
    return (f"Amazon's installer of EFA {one_line(lines[1], 60)} asks for a restart",)
