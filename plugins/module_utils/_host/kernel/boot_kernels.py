# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which kernels a node may run: the one that runs, and the one that its next boot starts.

A driver that is built for the running kernel only is gone after the reboot that follows a kernel update.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable

from ..._node.commands import Run
from ..._node.kernel_modules import running_kernel
from ..._node.rendered_files import read_text
from . import grub_menu

_IMAGE = re.compile(r"^(?:vmlinuz|vmlinux|kernel)-(?P<release>\d.*)$")
# Names that packages and people give to copies, and RHEL's rescue image, which no normal boot starts.
_COPY = re.compile(r"\.(?:old|bak|dpkg-\w+|rpm\w+|hmac)$|^0-rescue")


def boot_kernels(run: Run, kernel_root: str = "/", root: str = "/") -> list[str]:
    """The running kernel and the one that boots next, each once, in this order."""
    following = next_kernel(run, root)
    return list(dict.fromkeys([running_kernel(kernel_root), *([following] if following else [])]))


def next_kernel(run: Run, root: str = "/") -> str | None:
    """The release of the kernel that boots next, for example ``6.8.0-48-generic``; None where that is not known.

    What a network boot or a person at the console chooses cannot be seen from here.
    """
    boot = Path(root, "boot")
    menu = read_text(str(boot / "grub/grub.cfg"))
    if menu is not None:
        environment = grub_menu.read_environment(read_text(str(boot / "grub/grubenv")) or "")
        return _release(grub_menu.default_image(menu, environment), boot)
    entries = sorted(boot.glob("loader/entries/*.conf"))
    if entries:
        return _of_entries(entries, run, boot)
    return newest(path.name for path in boot.glob("vmlinu[xz]-*"))


def newest(images: Iterable[str]) -> str | None:
    """The newest kernel among image names such as ``vmlinuz-6.1.0-56-amd64``, by version order."""
    releases = [found["release"] for found in map(_IMAGE.match, images) if found]
    usual = [release for release in releases if not _COPY.search(release)]
    return max(usual, key=version_order, default=None)


def version_order(release: str) -> list[tuple[int, int, str]]:
    """A sort key of kernel releases: numbers by value and above words, and ``~rc1`` below the release itself."""
    parts = re.findall(r"\d+|[a-zA-Z]+|~", release)
    keys = [(2, int(part), "") if part.isdecimal() else (-1 if part == "~" else 1, 0, part) for part in parts]
    return [*keys, (0, 0, "")]


def _of_entries(entries: list[Path], run: Run, boot: Path) -> str | None:
    """From the Boot Loader Specification's files, as RHEL 8 and 9 have them: the one-time choice, grubby, the saved."""
    texts = {path.stem: read_text(str(path)) or "" for path in entries}
    environment = grub_menu.read_environment(read_text(str(boot / "grub2/grubenv")) or "")
    once = texts.get(environment.get("next_entry", ""))
    if once is not None:
        return _of_entry(once, boot)
    # Where grubby is not installed its answer is empty.
    answer = run(["grubby", "--default-kernel"])
    reported = _release(answer.stdout.strip(), boot) if answer.rc == 0 else None
    if reported:
        return reported
    saved = texts.get(environment.get("saved_entry", ""))
    if saved is not None:
        return _of_entry(saved, boot)
    releases = [release for release in (_of_entry(text, boot) for text in texts.values()) if release]
    return newest(f"vmlinuz-{release}" for release in releases)


def _of_entry(text: str, boot: Path) -> str | None:
    found = re.search(r"^linux\s+(\S+)", text, re.MULTILINE)
    return _release(found.group(1), boot) if found else None


def _release(image: str | None, boot: Path) -> str | None:
    """``/boot/vmlinuz-X`` to ``X``; a plain ``/boot/vmlinuz`` is a link to such a name."""
    if not image:
        return None
    name = image.rpartition("/")[2]
    if name in ("vmlinuz", "vmlinux"):
        links = [path for path in (boot / name, boot.parent / name) if path.is_symlink()]
        name = links[0].readlink().name if links else name
    found = _IMAGE.match(name)
    return found["release"] if found else None
