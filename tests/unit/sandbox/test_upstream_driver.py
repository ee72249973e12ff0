# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The package with the kernel's own driver, of a source as small as one file: what is in it, and what stays ours."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from sandbox.repository import packages, upstream_driver
from sandbox.repository.upstream_driver import SERIES, Series
from sandbox.simulator.releases import RELEASES

RELEASE = RELEASES["1.24.1-482"]
TOP = f"/usr/src/habanalabs-{RELEASE.package}"


def source_of(series: Series) -> dict[str, bytes]:
    return {
        f"{series.driver}/Makefile": b"obj-m := habanalabs.o\n",
        f"{series.driver}/common/device.c": b"int probe;\n",
        "include/trace/events/habanalabs.h": b"/* events */\n",
    }


def packed(series: Series) -> dict[str, str]:
    package = upstream_driver.dkms(packages.dkms(RELEASE), RELEASE, series, source_of(series))
    assert (package.name, package.version) == ("habanalabs-dkms", RELEASE.package)
    assert set(package.scripts) == {"postinst", "prerm"}
    return {path.removeprefix(f"{TOP}/"): packaged.data.decode() for path, packaged in package.files.items()}


def test_each_release_is_played_by_a_series() -> None:
    assert set(upstream_driver.OF_RELEASE) == set(RELEASES)
    assert set(upstream_driver.OF_RELEASE.values()) == set(SERIES.values())


@pytest.mark.parametrize("name", SERIES)
def test_the_driver_is_the_kernel_s_and_the_other_modules_are_the_small_ones(name: str) -> None:
    files = packed(SERIES[name])
    assert set(files) == {
        "Makefile", "dkms.conf", "habanalabs.h", "habanalabs_cn.c", "habanalabs_compat.c", "habanalabs_en.c",
        "habanalabs_ib.c", "habanalabs/Makefile", "habanalabs/common/device.c", "habanalabs/release.c",
        "include/trace/events/habanalabs.h",
    }  # fmt: skip
    assert files["habanalabs/Makefile"] == "obj-m := habanalabs.o\n\nhabanalabs-y += release.o\n"
    assert f"export {SERIES[name].setting} := m" in files["Makefile"].splitlines()


def test_the_module_tells_its_release() -> None:
    lines = packed(SERIES["6.12"])["habanalabs/release.c"].splitlines()
    assert f'MODULE_VERSION("{RELEASE.driver}");' in lines
    assert f'MODULE_INFO(package, "{RELEASE.package}");' in lines


def test_dkms_takes_the_driver_from_its_directory_and_the_others_from_the_top() -> None:
    lines = packed(SERIES["6.1"])["dkms.conf"].splitlines()
    assert [line for line in lines if "_NAME[" in line] == [
        f'BUILT_MODULE_NAME[{number}]="{name}"'
        for number, name in enumerate(
            ("habanalabs_compat", "habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")
        )
    ]
    assert [line for line in lines if "LOCATION[" in line and "BUILT" in line] == [
        'BUILT_MODULE_LOCATION[1]="habanalabs/"'
    ]


def test_of_a_kernel_s_source_only_the_driver_is_taken(tmp_path: Path) -> None:
    archive = tmp_path / "source.tar.xz"
    wanted = {f"{SERIES['6.12'].driver}/gaudi2/gaudi2.c", "include/linux/habanalabs/cpucp_if.h"}
    with tarfile.open(archive, "w:xz") as opened:
        for path in (*sorted(wanted), "drivers/accel/drm_accel.c", "drivers/accel/habanalabs2/x.c", "README"):
            member = tarfile.TarInfo(f"linux-source-6.12/{path}")
            member.size = len(path)
            opened.addfile(member, io.BytesIO(path.encode()))
    found = dict(upstream_driver._members(archive, SERIES["6.12"]))
    assert found == {path: path.encode() for path in wanted}
