# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel's own habanalabs driver, packed as the vendor packs his, from the distribution's kernel sources.

It is GPL-2, so apt fetches it where it is asked for, and nothing of it is in this checkout. It knows no Gaudi 3 and has
no network modules: those, and the one for old kernels, stay the small ones of ``dkms/``. Where each series has the
driver: drivers/misc/habanalabs until 6.1, drivers/accel/habanalabs since 6.2.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..commands import run, step
from ..simulator.releases import Release
from . import packages
from .deb import DebPackage, PackagedFile
from .layout import HOME, is_current, replacing

MODULE = "habanalabs"
SMALL_MODULES = ("habanalabs_compat", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")


@dataclass(frozen=True)
class Series:
    """A series of kernels that the distribution has as source: the driver's directory, its setting, its headers."""

    name: str
    driver: str
    setting: str
    headers: tuple[str, ...]

    @property
    def package(self) -> str:
        """The distribution's package with the source."""
        return f"linux-source-{self.name}"

    def wants(self, path: str) -> bool:
        """Whether a file of the kernel's source, named from its top, is the driver's."""
        return path.startswith((f"{self.driver}/", *self.headers))


SERIES = {
    series.name: series
    for series in (
        Series(
            "6.1",
            "drivers/misc/habanalabs",
            "CONFIG_HABANA_AI",
            ("include/uapi/misc/habanalabs.h", "include/trace/events/habanalabs.h"),
        ),
        Series(
            "6.12",
            "drivers/accel/habanalabs",
            "CONFIG_DRM_ACCEL_HABANALABS",
            (
                "include/linux/habanalabs/",
                "include/uapi/drm/habanalabs_accel.h",
                "include/trace/events/habanalabs.h",
            ),
        ),
    )
}
# Which series plays the driver of which release: neither compiles for the other's kernels.
OF_RELEASE = {"1.23.0-695": SERIES["6.1"], "1.24.1-482": SERIES["6.12"]}
SOURCES = HOME / "upstream_driver"


def source_of(series: Series) -> tuple[Path, str]:
    """The directory with the driver's files as the kernel's source has them, and apt's line on where they are from."""
    directory = SOURCES / series.name
    uri = _uri(series)
    if not is_current(directory, uri):
        with step(f"Package repository: the driver in {series.package}"), replacing(directory, uri) as target:
            _fetch(series, target)
    return directory, uri


def _uri(series: Series) -> str:
    """The package's address, file, size and checksum: another one where the distribution has a newer source."""
    return run(
        ["apt-get", "--print-uris", "--quiet", "download", series.package],
        remedy=f"This distribution may have no {series.package}: Debian 12 has it, after `apt-get update`.",
    ).strip()


def _fetch(series: Series, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=HOME, prefix="source-") as scratch:
        run(["apt-get", "--quiet", "download", series.package], cwd=Path(scratch))
        (package,) = Path(scratch).glob("*.deb")
        run(["dpkg-deb", "--extract", package, scratch])
        for path, content in _members(Path(scratch, "usr", "src", f"{series.package}.tar.xz"), series):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(content)


def _members(archive: Path, series: Series) -> Iterator[tuple[str, bytes]]:
    """Path from the top of the kernel's source -> content, of the driver's files."""
    with tarfile.open(archive, "r|xz") as opened:
        for member in opened:
            path = member.name.partition("/")[2]
            if member.isfile() and series.wants(path):
                content = opened.extractfile(member)
                assert content is not None
                yield path, content.read()


def all_packages(release: Release) -> list[DebPackage]:
    """Every package of one release, the driver's with the kernel's own driver."""
    series = OF_RELEASE[release.package]
    source = read(source_of(series)[0])
    return [
        dkms(package, release, series, source) if package.name == "habanalabs-dkms" else package
        for package in packages.all_packages(release)
    ]


def read(directory: Path) -> dict[str, bytes]:
    """Path below ``directory`` -> content, of every file."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def dkms(small: DebPackage, release: Release, series: Series, source: Mapping[str, bytes]) -> DebPackage:
    """The package ``small`` with the driver of ``source`` in the place of the small one."""
    top = f"/usr/src/{MODULE}-{release.package}"
    kept = ("habanalabs.h", *(f"{name}.c" for name in SMALL_MODULES))
    driver = f"{series.driver}/"
    files = {
        **{f"{top}/{name}": small.files[f"{top}/{name}"] for name in kept},
        f"{top}/dkms.conf": PackagedFile(_dkms_conf(release)),
        f"{top}/Makefile": PackagedFile(_makefile(series)),
        **{f"{top}/{_place(path, driver)}": PackagedFile(content) for path, content in source.items()},
        f"{top}/{MODULE}/release.c": PackagedFile(_release(release)),
    }
    own = files[f"{top}/{MODULE}/Makefile"].data
    files[f"{top}/{MODULE}/Makefile"] = PackagedFile(own + b"\nhabanalabs-y += release.o\n")
    return replace(small, description=f"The driver of Linux {series.name} as a Gaudi kernel driver", files=files)


def _place(path: str, driver: str) -> str:
    """Where a file of the kernel's source lies in the package: the driver by itself, its headers as they were."""
    return f"{MODULE}/{path.removeprefix(driver)}" if path.startswith(driver) else path


def _dkms_conf(release: Release) -> str:
    modules = (SMALL_MODULES[0], MODULE, *SMALL_MODULES[1:])
    lines = [f'PACKAGE_NAME="{MODULE}"', f'PACKAGE_VERSION="{release.package}"']
    for number, name in enumerate(modules):
        lines += [f'BUILT_MODULE_NAME[{number}]="{name}"', f'DEST_MODULE_LOCATION[{number}]="/updates"']
        lines += [f'BUILT_MODULE_LOCATION[{number}]="{MODULE}/"'] if name == MODULE else []
    build = "make -C ${kernel_source_dir} M=${dkms_tree}/${PACKAGE_NAME}/${PACKAGE_VERSION}/build"
    return "\n".join([*lines, f'MAKE[0]="{build} modules"', f'CLEAN="{build} clean"', 'AUTOINSTALL="yes"', ""])


def _makefile(series: Series) -> str:
    """The kernel's build of a module outside of its tree.

    The small network modules call what the small driver exports; here they call the module below it.
    """
    return "\n".join(
        (
            f"obj-m := {' '.join(f'{name}.o' for name in SMALL_MODULES)} {MODULE}/",
            "CFLAGS_habanalabs_cn.o := -Dhl_core_package=hl_compat_package",
            # A kernel has headers of its own driver's version, or none.
            "subdir-ccflags-y := -I$(src)/include",
            f"export {series.setting} := m",
            "",
        )
    )


def _release(release: Release) -> str:
    """What the kernel's own driver does not tell and the vendor's does: its version; ``package`` is the simulator's."""
    return "\n".join(
        (
            "#include <linux/module.h>",
            f'MODULE_VERSION("{release.driver}");',
            f'MODULE_INFO(package, "{release.package}");',
            "",
        )
    )
