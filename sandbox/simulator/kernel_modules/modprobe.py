# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``modprobe``: loads and unloads modules of the simulated kernel, refusing what a kernel would refuse."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from ..external_ports import switch_real
from ..kernel_tree import KERNEL, refresh, use_counts
from ..node_state import ROOT, Node, locked, read, replace, write
from ..open_devices import count_open
from ..readings import started
from .files import canonical, installed, package_version

DRIVER = "habanalabs"
IN_USE = "modprobe: FATAL: Module {} is in use."
FLAGS = {
    "-r": "remove", "--remove": "remove", "-n": "dry", "--dry-run": "dry", "--show": "dry", "-q": "quiet",
    "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose", "-a": "all", "--all": "all", "-f": "force",
    "--force": "force", "-D": "depends", "--show-depends": "depends", "--first-time": "first",
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Play modprobe; its options that a kernel module role uses, and no module of the real kernel."""
    flags = {FLAGS[word] for word in arguments if word in FLAGS}
    words = [word for word in arguments if not word.startswith("-")]
    unknown = [word for word in arguments if word.startswith("-") and word not in FLAGS]
    if unknown or not words:
        print(f"modprobe (simulated kernel): unknown option {unknown} or no module named", file=sys.stderr)
        return 1
    if "remove" in flags:
        return max(unload(name, quiet="quiet" in flags, dry="dry" in flags) for name in words)
    if "all" in flags:
        return max(load(name, {}, quiet="quiet" in flags, dry="dry" in flags) for name in words)
    if "depends" in flags:
        return show_depends(words[0])
    parameters = dict(word.partition("=")[::2] for word in words[1:])
    return load(words[0], parameters, quiet="quiet" in flags, dry="dry" in flags)


def load(name: str, parameters: Mapping[str, str], *, quiet: bool, dry: bool = False) -> int:
    """Load a module and what it needs; returns modprobe's exit code."""
    module = canonical(name)
    with locked():
        node = read()
        found = installed(node.kernel_release)
        if module in node.modules:
            return 0
        if module not in found:
            if not quiet:
                where = f"/lib/modules/{node.kernel_release}"
                print(f"modprobe: FATAL: Module {name} not found in directory {where}", file=sys.stderr)
            return 1
        path, needed = found[module]
        release = package_version(node.kernel_release, path)
        if not release:
            print(f"modprobe (simulated kernel): {path} is the kernel's own, which is not simulated", file=sys.stderr)
            return 1
        loaded = next(iter(node.modules.values()), release)
        if release != loaded:
            print(f"modprobe: ERROR: could not insert '{name}': Invalid argument", file=sys.stderr)
            print(f"{module}: it is of {release}, the loaded modules are of {loaded}", file=sys.stderr)
            return 1
        if not dry:
            before = node.modules
            node = with_modules(node, (*of_the_vendor(needed), module), release)
            if "habanalabs" in node.modules.keys() - before.keys():
                node = replace(node, loaded_at=time.time())
            write(replace(node, module_parameters={**node.module_parameters, module: dict(parameters)}))
            if "habanalabs_en" in node.modules.keys() - before.keys():
                switch_real(node, "down")  # each load of the driver leaves its ports down
            refresh(read())
    return 0


def of_the_vendor(needed: tuple[str, ...]) -> list[str]:
    """What a module needs of the vendor's, in the order of loading; what else it needs is the real kernel's affair."""
    return [name for name in reversed(needed) if name.startswith(DRIVER)]


def with_modules(node: Node, modules: tuple[str, ...], release: str) -> Node:
    """The node with these modules loaded, in this order. A driver that comes up finds its cards anew."""
    added = {module: release for module in modules if module not in node.modules}
    if "habanalabs" in added:
        node = started(replace(node, loads=node.loads + 1))  # the driver resets the cards when it comes up
    return replace(node, modules={**node.modules, **added})


def without_module(node: Node, module: str) -> Node:
    """The node with this module unloaded. The external ports go down with their driver."""
    return replace(
        node,
        modules={name: release for name, release in node.modules.items() if name != module},
        module_parameters={name: value for name, value in node.module_parameters.items() if name != module},
        external_ports_up=node.external_ports_up and module not in ("habanalabs", "habanalabs_cn", "habanalabs_en"),
    )


def holders(node: Node, module: str, open_devices: int = 0) -> tuple[str, ...]:
    """What keeps the module from being unloaded: other modules, or processes on a card (``open_devices`` times)."""
    count, users = use_counts(node, open_devices)[module]
    busy = count - len(users) if module == "habanalabs" else 0
    return (*users, *(("a process",) if busy else ()))


def unload(name: str, *, quiet: bool, dry: bool = False) -> int:
    """Unload a module and then what only it needed; returns modprobe's exit code."""
    module = canonical(name)
    with locked():
        node = read()
        if module not in node.modules:
            return 0
        opened = count_open(ROOT / KERNEL)
        if holders(node, module, opened):
            if not quiet:
                print(IN_USE.format(name), file=sys.stderr)
            return 1
        for candidate in (module, *installed(node.kernel_release).get(module, ("", ()))[1]):
            if candidate in node.modules and not holders(node, candidate, opened):
                node = without_module(node, candidate)
        if not dry:
            write(node)
            refresh(node)
    return 0


def show_depends(name: str) -> int:
    """Print what loading would insert."""
    release = read().kernel_release
    found = installed(release)
    if canonical(name) not in found:
        print(f"modprobe: FATAL: Module {name} not found in directory /lib/modules/{release}", file=sys.stderr)
        return 1
    for module in (*reversed(found[canonical(name)][1]), canonical(name)):
        print(f"insmod /lib/modules/{release}/{found[module][0]}")
    return 0
