# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated boot loader: GRUB's own files decide which kernel the next boot starts, and with which command line.

A kernel is a /boot/vmlinuz-RELEASE, as its package leaves it (``gaudi-simulator kernel add RELEASE`` puts an empty one
there and runs update-grub, as the package would); its headers are the distribution's.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .node_state import read

BOOT = Path("/boot")
MENU = BOOT / "grub/grub.cfg"
ENVIRONMENT = BOOT / "grub/grubenv"
ROOT_DEVICE = "UUID=5a4d0b0e-0000-4000-8000-000000000001"
READ_DEFAULTS = """
if [ -r /etc/default/grub ]; then . /etc/default/grub; fi
for file in /etc/default/grub.d/*.cfg; do if [ -r "$file" ]; then . "$file"; fi; done
printf '%s\\n%s %s' "${GRUB_DEFAULT:-0}" "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"
"""
_KERNEL_LINE = re.compile(r"^\s*linux\s+(\S*/vmlinuz-(\S+))\s+(.*)$", re.MULTILINE)
_ENTRY = re.compile(r"^\s*menuentry '(?P<title>[^']*)'.*?\$menuentry_id_option '(?P<id>[^']*)'", re.MULTILINE)


def menu(kernels: list[str], options: str, default: str = "0") -> str:
    """A grub.cfg in the shape that grub-mkconfig gives it: the first kernel, and all of them in a submenu."""
    value = "${saved_entry}" if default == "saved" else default
    inner = "".join(
        _entry(f"Debian GNU/Linux, with Linux {name}", f"{name}-advanced", name, options) for name in kernels
    )
    return (
        "# Simulated: it takes effect at the next boot of this container.\n"
        'if [ "${next_entry}" ] ; then\n'
        '   set default="${next_entry}"\n'
        "   set next_entry=\n"
        "   save_env next_entry\n"
        "else\n"
        f'   set default="{value}"\n'
        "fi\n"
        + _entry("Debian GNU/Linux", "simple", kernels[0], options)
        + "submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-simulated' {\n"
        + inner
        + "}\n"
    )


def _entry(title: str, name: str, kernel_release: str, options: str) -> str:
    return (
        f"menuentry '{title}' --class debian $menuentry_id_option 'gnulinux-{name}-simulated' {{\n"
        f"\tlinux\t/boot/vmlinuz-{kernel_release} root={ROOT_DEVICE} ro {options}\n"
        f"\tinitrd\t/boot/initrd.img-{kernel_release}\n"
        "}\n"
    )


def booted(menu_text: str, environment: str = "") -> tuple[str, str]:
    """Kernel release and command line of a boot with this menu and grubenv.

    Entries are named by number, title or id; those of the submenu after ``1>`` or its own name and ``>``.
    """
    variables = dict(line.partition("=")[::2] for line in environment.splitlines() if "=" in line)
    chosen = variables.get("next_entry") or _default(menu_text, variables)
    found = _KERNEL_LINE.findall(menu_text)
    names = [(match["title"], match["id"]) for match in _ENTRY.finditer(menu_text)]
    image, release, options = found[_place(chosen, names)]
    return release, f"BOOT_IMAGE={image} {options.strip()}"


def _default(menu_text: str, variables: dict[str, str]) -> str:
    values = re.findall(r'^\s*set default="([^"]*)"', menu_text, re.MULTILINE)
    value = values[-1] if values else "0"
    return variables.get("saved_entry") or "0" if value == "${saved_entry}" else value


def _place(chosen: str, names: list[tuple[str, str]]) -> int:
    """Which entry of the whole text; the first where GRUB would not find the one that is named."""
    *above, name = chosen.split(">")
    # Entry 1 of the menu is the submenu, whose first entry is the second of the text.
    offset = 1 if above else 0
    if name.isdigit():
        place = int(name) + offset
        return place if place < max(len(names), 1) else offset
    return next((place for place, known in enumerate(names) if name in known), offset)


def next_boot(kernel_release: str) -> tuple[str, str]:
    """Kernel and command line of the boot that happens now, which uses up a one-time choice (grub-reboot).

    ``kernel_release`` is what the installer put on the node: one that never ran update-grub has its menu.
    """
    if not MENU.exists():
        write_menu(kernel_release)
    environment = ENVIRONMENT.read_text(encoding="utf-8") if ENVIRONMENT.exists() else ""
    if "next_entry=" in environment:
        ENVIRONMENT.write_text(re.sub(r"next_entry=.*", "next_entry=", environment), encoding="utf-8")
    return booted(MENU.read_text(encoding="utf-8"), environment)


def installed_kernels(running: str, images: list[str]) -> list[str]:
    """The kernels of the images' names, the newest first; the running one where its image is not kept."""
    names = {name.removeprefix("vmlinuz-") for name in images} or {running}
    return sorted(names, key=_version, reverse=True)


def _version(release: str) -> list[tuple[bool, int, str]]:
    parts = re.findall(r"\d+|[a-z]+", release)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def write_menu(kernel_release: str) -> None:
    """Read GRUB's defaults as grub-mkconfig does, a shell reading assignments, and write the menu."""
    done = subprocess.run(["/bin/sh", "-c", READ_DEFAULTS], capture_output=True, text=True, check=True)
    default, _newline, options = done.stdout.partition("\n")
    kernels = installed_kernels(kernel_release, [path.name for path in BOOT.glob("vmlinuz-*")])
    MENU.parent.mkdir(parents=True, exist_ok=True)
    MENU.write_text(menu(kernels, " ".join(options.split()), default.strip()), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """``update-grub``."""
    del arguments
    write_menu(read().kernel_release)
    print("Generating grub configuration file (simulated: it takes effect at the next boot of this node) ...\ndone")
    return 0
