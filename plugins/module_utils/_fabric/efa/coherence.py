# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the parts of EFA on a node belong together: kernel module, device, libfabric, loader's path, plug-in, flags.

Pure: ``stack.py`` reads what is judged here. Each check only advises: a job over another network is not stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Sequence

from ..._node.check import Check
from ..._releases.lookup import version_key
from ..ofi_wrapper import ARCHIVE, WRAPPER

# The vendor's documents ask for it with EFA (Scale-Out, host NIC).
OLDEST_LIBFABRIC = "1.16.0"
_VERSION_OPTION = "gaudi_fabric_efa_version"
# What HCCL_OVER_OFI reads as no.
_OFF = ("0", "false", "no", "off")


@dataclass(frozen=True)
class Stack:
    """What was found. ``libraries`` are libfabric's files on the loader's path, the one that is taken first.

    ``loaded`` is the kernel module's version: None where it is not loaded, empty where it does not tell.
    ``libfabric`` is what the installer's own ``fi_info`` calls itself. ``answers``: whether ``fi_info -p efa`` lists a
    device; None where that was not asked. ``wrapper_libfabric`` is the file that the wrapper loads: empty for none at
    all, ``not`` where the loader finds none, and None where it was not asked. ``unreadable`` is what is wrong with the
    environment file.
    """

    devices: tuple[str, ...] = ()
    loaded: str | None = None
    module_file: str | None = None
    libfabric_file: str | None = None
    libfabric: str | None = None
    libraries: Sequence[str] = ()
    nccl_plugins: Sequence[str] = ()
    wrapper: str | None = None
    wrapper_libfabric: str | None = None
    answers: bool | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    environment_file: str = ""
    unreadable: str = ""


def judge(stack: Stack, minimal: bool = False) -> list[Check]:
    """All checks; ``minimal``: the site left Amazon's libfabric out and has one of its own."""
    return [
        _device(stack),
        _module(stack),
        *([] if minimal else [_libfabric(stack)]),
        _one_libfabric(stack),
        _plugin(stack),
        _flags(stack),
    ]


def reboot_reasons(stack: Stack) -> list[str]:
    """A restart is wanted where another module is loaded than the one that is installed."""
    if stack.loaded and stack.module_file and stack.loaded != stack.module_file:
        return [f"the kernel module efa {stack.loaded} is loaded, and {stack.module_file} is installed"]
    return []


def _check(name: str, ok: bool, expected: str, found: str, message: str) -> Check:
    return Check(name, ok, expected, found, "", advice=True, message="" if ok else f"EFA {name}: {message}")


def _device(stack: Stack) -> Check:
    return _check(
        "device",
        bool(stack.devices) and stack.answers is not False,
        "an Elastic Fabric Adapter that fi_info lists",
        ", ".join(stack.devices) or "none",
        f"{', '.join(stack.devices)} is there and `fi_info -p efa` lists none; look at `dmesg` for efa, and whether "
        "the security group lets all traffic through to itself."
        if stack.devices
        else "this node has no Elastic Fabric Adapter; give the instance network interfaces of the type efa.",
    )


def _module(stack: Stack) -> Check:
    stale = reboot_reasons(stack)
    return _check(
        "kernel module",
        stack.loaded is not None and not stale,
        f"efa {stack.module_file or ''} loaded".replace("  ", " "),
        "not loaded" if stack.loaded is None else f"efa {stack.loaded}".strip(),
        f"{stale[0]}; restart the node."
        if stale
        else f"efa is not loaded; run `modprobe efa`, or install it with {_VERSION_OPTION} and without --skip-kmod.",
    )


def _libfabric(stack: Stack) -> Check:
    ok = bool(stack.libfabric) and version_key(stack.libfabric or "") >= version_key(OLDEST_LIBFABRIC)
    if not stack.libfabric_file:
        message = f"Amazon's is not below /opt/amazon/efa; set {_VERSION_OPTION} to have it installed."
    elif not stack.libfabric:
        message = f"{stack.libfabric_file} is there and its fi_info does not run; install that version again."
    else:
        message = f"it is {stack.libfabric}, older than {OLDEST_LIBFABRIC}; raise {_VERSION_OPTION}."
    return _check(
        "libfabric",
        ok,
        f"{OLDEST_LIBFABRIC} or newer below /opt/amazon/efa",
        stack.libfabric or stack.libfabric_file or "none",
        message,
    )


def _one_libfabric(stack: Stack) -> Check:
    found = list(dict.fromkeys(stack.libraries))
    if len(found) > 1:
        second = " and ".join(found[1:])
        message = (
            f"{found[0]} is loaded first, and {second} too is on the loader's path: which one a job gets depends on "
            "its environment; remove the package of the one that you do not want, or its line in /etc/ld.so.conf.d or "
            "LD_LIBRARY_PATH."
        )
    elif found:
        message = (
            f"{found[0]} is on the loader's path in place of {stack.libfabric_file}; remove its package, or put "
            "Amazon's directory into /etc/ld.so.conf.d and run ldconfig."
        )
    else:
        message = "none is on the loader's path; put Amazon's directory into /etc/ld.so.conf.d and run ldconfig."
    ok = len(found) == 1 and stack.libfabric_file in (None, found[0])
    return _check("loader's path", ok, "exactly one libfabric", ", ".join(found) or "none", message)


def _plugin(stack: Stack) -> Check:
    """HCCL reaches libfabric through its own wrapper. NCCL's plug-in, which newer installers bring, is none for it."""
    nccl = ", ".join(stack.nccl_plugins)
    taken = stack.wrapper is not None and "nccl" in stack.wrapper.rpartition("/")[2]
    other = "" if taken else _wrapper_of_another(stack)
    if taken:
        message = f"{WRAPPER} leads to {stack.wrapper}, which is NCCL's plug-in; put HCCL's own wrapper in its place."
    elif other:
        message = f"{stack.wrapper} {other}; set {ARCHIVE} to have it built for this libfabric."
    elif nccl:
        message = (
            f"{nccl} is NCCL's plug-in, which HCCL does not load, and HCCL's own {WRAPPER} is not on the loader's "
            f"path; set {ARCHIVE} to have it built into /usr/lib/habanalabs."
        )
    else:
        message = f"{WRAPPER} is not on the loader's path; set {ARCHIVE} to have it built into /usr/lib/habanalabs."
    return _check(
        "plug-in",
        stack.wrapper is not None and not taken and not other,
        f"HCCL's {WRAPPER}",
        stack.wrapper or nccl or "none",
        message,
    )


def _wrapper_of_another(stack: Stack) -> str:
    """What is wrong with the libfabric that HCCL's wrapper loads. A second one on the loader's path, which any program
    would load, is told there."""
    loads = stack.wrapper_libfabric
    if not stack.wrapper or loads is None or loads in (stack.libfabric_file, *stack.libraries[:1]):
        return ""
    if not loads:
        return "loads no libfabric.so.1 at all"
    return "finds no libfabric.so.1" if loads == "not" else f"loads {loads}"


def _flags(stack: Stack) -> Check:
    where = stack.environment_file
    wrong = [stack.unreadable] if stack.unreadable else []
    provider = stack.environment.get("FI_PROVIDER", "").strip()
    if provider and not _admits(provider, "efa"):
        wrong.append(f"FI_PROVIDER={provider} keeps libfabric from EFA: remove it from {where}")
    over = stack.environment.get("HCCL_OVER_OFI", "").strip()
    if over.lower() in _OFF:
        wrong.append(f"HCCL_OVER_OFI={over} keeps HCCL from the host's cards: remove it from {where}")
    plugin = stack.environment.get("NCCL_NET_PLUGIN", "").strip()
    if plugin:
        wrong.append(f"NCCL_NET_PLUGIN={plugin} is NCCL's, which HCCL does not read: remove it from {where}")
    return _check("flags", not wrong, "none that contradicts EFA", "; ".join(wrong) or "none", "; ".join(wrong) + ".")


def _admits(names: str, provider: str) -> bool:
    """FI_PROVIDER is a list of the only providers, or behind ``^`` of those that are left out (fi_getinfo(3))."""
    listed = [name.strip() for name in names.lstrip("^").lower().split(",")]
    # Layered providers are written as for example efa;ofi_rxr.
    named = any(provider in name.split(";") for name in listed)
    return not named if names.startswith("^") else named
