# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A whole node for tests of the driver: apt, dpkg, DKMS, modules and cards are played, its files are real.

A repository that offers ``offered``; ``breaks`` and ``breaks_once`` map a command's start to how it fails. ``cut_at``
counts the commands that change something, and ends everything at that one as a power cut does: half of the command is
done.

``efi`` are firmware variables, ``owners`` says whose a file is for dpkg, ``in_tree`` that the kernel has a habanalabs
of its own which depmod puts first; loaded without a ``driver``, it tells no version. DKMS signs with the key of
``SERIAL`` once it is told to, and says nothing while a version in its tree on disk has no source.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._driver.plan import DriverOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

from .healthy_node import ADDRESSES, HlSmi, write_kernel

KERNEL = "6.8.0-45-generic"
PACKAGES = ("habanalabs-dkms", "habanalabs-qual")
OPTIONS = DriverOptions(release="1.24.1", packages=PACKAGES, os_packages=("dkms", "linux-headers-{kernel}"))
OK = CommandResult(0, "", "")
# The outermost of a certificate as DER has it, down to its serial number; it is at /mok/m.der of every node.
CERTIFICATE = b"\x30\x82\x00\x06\x30\x04\x02\x02\x2a\x17"
SERIAL = "2A:17"
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
MOK_LIST, MOK_NEW = (f"{name}-605dab50-e046-4300-abb6-3dd810dd8b23" for name in ("MokListRT", "MokNew"))
SIGNING = {"signing_key": "/mok/m.key", "signing_certificate": "/mok/m.der", "enrollment_hash_file": "/mok/hash"}
READING = ("grubby", "rpm")
QUESTIONS = ("systemctl is-enabled", "mokutil --test-key", "mokutil --sb-state")


class PowerCut(BaseException):
    """Nothing catches it: the machine is off."""


class PlayedNode:
    """Call it as ``Run``; ``converge`` runs the engine on it."""

    def __init__(self, root: Path, offered: Sequence[str] = ("1.23.0-695", "1.24.1-482")) -> None:
        self.root = root
        self.kernel_root = root / "kernel"
        self.offered = list(offered)
        self.packages: dict[str, tuple[str, str]] = {"dkms": ("3.0.10", "installed")}
        self.held: set[str] = set()
        self.built: set[tuple[str, str]] = set()
        self.loaded: list[str] = []
        self.active_units: set[str] = set()
        self.enabled_units: set[str] = set()
        self.lost_with = ""
        self.pci_id = "0x1060"
        self.breaks: dict[str, CommandResult] = {}
        self.breaks_once: dict[str, CommandResult] = {}
        self.driver = ""
        self.shown: tuple[object, ...] = ()
        self.commands: list[list[str]] = []
        self.cut_at = 0
        self.efi: dict[str, bytes] = {}
        self.owners: dict[str, str] = {}
        self.in_tree = False
        self.command_line = "root=/dev/sda1 iommu=pt intel_iommu=on"
        self.signed: set[tuple[str, str]] = set()
        (root / "mok").mkdir(parents=True)
        for name, content in (("m.key", b"key"), ("m.der", CERTIFICATE), ("hash", b"$6$x")):
            (root / "mok" / name).write_bytes(content)
            (root / "mok" / name).chmod(0o600)
        (root / f"lib/modules/{KERNEL}/build").mkdir(parents=True)
        for directory in ("var/lib/dpkg/updates", "etc"):
            (root / directory).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        self.show_kernel()

    def source(self) -> str:
        """The version whose driver source is on the node."""
        return self.packages.get("habanalabs-dkms", ("", ""))[0]

    def show_kernel(self) -> None:
        """The /proc and /sys of the node as it is now."""
        loaded = "habanalabs" in self.loaded
        looks = (loaded, self.pci_id, self.driver if loaded else "", self.lost_with, tuple(sorted(self.efi.items())))
        looks = (*looks, self.command_line)
        if looks != self.shown:
            self.shown = looks
            self.show_cards(loaded)
        lines = "".join(f"{name} 1 0 - Live 0x0\n" for name in reversed(self.loaded))
        (self.kernel_root / "proc/modules").write_text(lines)

    def show_cards(self, loaded: bool) -> None:
        """The cards, with the driver's files where it is loaded, and the firmware's variables."""
        shutil.rmtree(self.kernel_root, ignore_errors=True)
        addresses = ADDRESSES[:-1] if loaded and self.lost_with == self.driver else ADDRESSES
        write_kernel(
            self.kernel_root, addresses, self.pci_id, driver=loaded, kernel=KERNEL, command_line=self.command_line
        )
        for name, content in self.efi.items():
            variable = self.kernel_root / "sys/firmware/efi/efivars" / name
            variable.parent.mkdir(parents=True, exist_ok=True)
            variable.write_bytes(b"\7\0\0\0" + content)
        if loaded:
            for path in (self.kernel_root / "sys/bus/pci/devices").glob("*/driver_ver"):
                path.write_text(f"{self.driver}-abcdef\n" if self.driver else "")
            if not self.driver:
                return
            version = self.kernel_root / "sys/module/habanalabs/version"
            version.parent.mkdir(parents=True)
            version.write_text(f"{self.driver}-abcdef\n")

    def failure(self, argv: Sequence[str]) -> CommandResult | None:
        """How this command fails; its options are left out of the comparison, a rehearsal never fails."""
        words = " ".join(word for word in argv if not word.startswith("-") and "::" not in word)
        for table in (self.breaks_once, self.breaks):
            hit = next((beginning for beginning in table if words.startswith(beginning)), None)
            if hit is not None and "--download-only" not in argv:
                return table.pop(hit) if table is self.breaks_once else table[hit]
        return None

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        program, *words = argv
        answer = self.answer(program, words)
        if answer is not None:
            return answer
        self.commands.append(list(argv))
        if self.cut_at and len(self.commands) == self.cut_at:
            self.half(program, words)
            raise PowerCut
        failure = self.failure(argv)
        if failure:
            return failure
        result = self.change(program, words)
        self.show_kernel()
        return result

    def answer(self, program: str, words: Sequence[str]) -> CommandResult | None:
        """What a command says that changes nothing; None for one that does."""
        question = f"{program} {words[0]}"
        if program == "dpkg-query":
            return self.owner(words[1]) if words[0] == "--search" else CommandResult(0, self.database(words[3:]), "")
        if program == "modinfo":
            return self.modinfo(words)
        if program == "hl-smi":
            return HlSmi()([program, *words])
        if question == "dkms --version":
            return CommandResult(0, "dkms-3.0.10\n", "")
        if question == "dkms status":
            lines = (f"habanalabs/{version}, {kernel}, x86_64: installed\n" for version, kernel in sorted(self.built))
            return CommandResult(0, "" if self.is_damaged() else "".join(lines), "")
        if question == "systemctl is-enabled" and words[-1] in self.enabled_units:
            return OK
        return CommandResult(1, "", "") if program in READING or question in QUESTIONS else None

    def owner(self, path: str) -> CommandResult:
        """dpkg-query --search."""
        package = self.owners.get(path)
        return CommandResult(0, f"{package}: {path}\n", "") if package else CommandResult(1, "", "no path found")

    def is_damaged(self) -> bool:
        """Whether dkms has a version without source, and then says nothing about any."""
        versions = (self.root / "var/lib/dkms/habanalabs").glob("[0-9]*")
        return any(not (version / "source/dkms.conf").is_file() for version in versions)

    def modinfo(self, words: Sequence[str]) -> CommandResult:
        """The file that a kernel would load, or the signature of a file."""
        if words[0] == "-k":
            place = "kernel/drivers/accel/habanalabs" if self.in_tree else "updates/dkms"
            there = self.in_tree or (self.source(), words[1]) in self.built
            return CommandResult(0, f"/lib/modules/{words[1]}/{place}/habanalabs.ko\n" if there else "", "")
        signed = (self.source(), words[0].split("/")[3]) in self.signed
        return CommandResult(0, f"sig_id: PKCS#7\nsig_key: {SERIAL}\n" if signed else "", "")

    def database(self, names: Sequence[str]) -> str:
        """What dpkg-query prints for these names; for none: for all packages."""
        wanted = [name.rstrip("*") for name in names] or [""]
        exact = {name for name in names if not name.endswith("*")}
        return "".join(
            f"{name}\t{version}\t{'hold' if name in self.held else 'install'}\t{status}\n"
            for name, (version, status) in self.packages.items()
            if not names or name in exact or any(name.startswith(w) for w in wanted if w and w not in exact)
        )

    def half(self, program: str, words: Sequence[str]) -> None:
        """What a power cut leaves of this command; modules are gone with the power."""
        if program == "apt-get" and "--download-only" not in words and "install" in words:
            file = next((Path(word) for word in words if word.endswith(".deb")), None)
            if file is not None:
                self.unpack(file, "half-configured")
                (self.root / "var/lib/dpkg/updates/0001").touch()
        self.loaded = []
        self.show_kernel()

    def unpack(self, file: Path, status: str) -> None:
        """dpkg's work for one package file."""
        name, version, _architecture = file.stem.split("_")
        if name == "habanalabs-dkms":
            source = self.root / f"usr/src/habanalabs-{version}/dkms.conf"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.touch()
            self.built = {entry for entry in self.built if entry[0] == version}
        self.packages[name] = (version, status)

    def change(self, program: str, words: Sequence[str]) -> CommandResult:
        """Play one command that changes the node."""
        if program == "sh":
            return self.download(Path(words[3]), words[4:])
        if program == "apt-get":
            return self.apt(words)
        if program == "dpkg":
            for update in (self.root / "var/lib/dpkg/updates").glob("*"):
                update.unlink()
            self.packages = {name: (version, "installed") for name, (version, _status) in self.packages.items()}
        elif program == "apt-mark":
            self.held = self.held | set(words[1:]) if words[0] == "hold" else self.held - set(words[1:])
        elif program == "modprobe":
            self.load(words[0])
        elif program == "rmmod":
            self.loaded.remove(words[0])
        elif program == "systemctl":
            (self.active_units.discard if words[0] == "stop" else self.active_units.add)(words[1])
        else:
            self.build(program, words)
        return OK

    def build(self, program: str, words: Sequence[str]) -> None:
        """dkms, depmod, and mokutil --import."""
        if program == "dkms":
            version, kernel = words[words.index("-v") + 1], words[words.index("-k") + 1]
            change = set.discard if words[0] == "remove" else set.add
            change(self.built, (version, kernel))
            reported = (self.root / "etc/dkms/framework.conf.d/gaudi3_scale.conf").exists()
            (change if reported else set.discard)(self.signed, (version, kernel))
        elif program == "depmod":
            self.in_tree = self.in_tree and not (self.root / "etc/depmod.d/gaudi3_scale.conf").exists()
        elif program == "mokutil":
            self.efi[MOK_NEW] = (self.root / words[1].lstrip("/")).read_bytes()

    def load(self, name: str) -> None:
        """modprobe."""
        self.loaded.append(name)
        self.driver = self.source().split("-")[0]

    def download(self, directory: Path, pins: Sequence[str]) -> CommandResult:
        """apt-get download."""
        for pin in pins:
            name, version = pin.split("=")
            if version not in self.offered:
                return CommandResult(100, "", f"E: Version '{version}' for '{name}' was not found")
            (directory / f"{name}_{version}_all.deb").touch()
        return OK

    def apt(self, words: Sequence[str]) -> CommandResult:
        """apt-get install of package files and of names."""
        if any((self.root / "var/lib/dpkg/updates").iterdir()):
            return CommandResult(100, "", "E: dpkg was interrupted, you must manually run 'dpkg --configure -a'")
        if "install" not in words or "--download-only" in words:
            return OK
        for word in words[words.index("install") + 1 :]:
            if word.endswith(".deb"):
                self.unpack(Path(word), "installed")
            else:
                self.packages[word] = ("1", "installed")
        return OK

    def boot(self) -> None:
        """Power on after a cut: what modules-load.d names is loaded, as far as it is built."""
        self.cut_at = 0
        self.loaded = []
        names = self.root / "etc/modules-load.d/habanalabs.conf"
        if names.exists() and (self.source(), KERNEL) in self.built:
            for name in names.read_text().splitlines()[1:]:
                self.load(name)
        self.show_kernel()

    def converge(self, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        """Run the engine on this node."""
        self.commands.clear()
        given: dict[str, Any] = {"kernels": (KERNEL,), **more}
        options = replace(OPTIONS, kernel_root=str(self.kernel_root), settle_timeout=0, **given)
        return converge(options, self, check_mode, str(self.root))

    def state(self) -> dict[str, Any]:
        """What a test compares: packages, builds, loaded modules and their release."""
        return {
            "packages": {name: entry for name, entry in self.packages.items() if name.startswith("habanalabs")},
            "built": sorted(self.built),
            "loaded": list(self.loaded),
            "driver": self.driver,
            "held": sorted(self.held),
        }
