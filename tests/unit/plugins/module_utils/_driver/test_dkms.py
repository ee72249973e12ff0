# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What dkms of both lines prints, and what is made of a build that failed."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.dkms import (
    DkmsEntry,
    build_error,
    failed_build,
    has_headers,
    install,
    installed_for,
    newest_log,
    parse_status,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

KERNEL = "6.8.0-45-generic"
VERSION = "1.24.1-482"
TWO_KERNELS = """\
habanalabs/1.24.1-482, 6.8.0-45-generic, x86_64: installed
habanalabs/1.24.1-482, 6.8.0-48-generic, x86_64: built
"""
REPLACED = """\
Deprecated feature: REMAKE_INITRD (/var/lib/dkms/habanalabs/1.24.1-482/source/dkms.conf)
habanalabs/1.24.1-482, 6.8.0-45-generic, x86_64: installed (WARNING! Diff between built and installed module!)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("habanalabs/1.24.1-482: added\n", [("1.24.1-482", None, "added", "")]),
        ("habanalabs, 1.24.1-482: added\n", [("1.24.1-482", None, "added", "")]),
        (TWO_KERNELS, [("1.24.1-482", KERNEL, "installed", ""), ("1.24.1-482", "6.8.0-48-generic", "built", "")]),
        ("habanalabs, 1.23.0-695, 6.8.0-45-generic, x86_64: installed\n", [("1.23.0-695", KERNEL, "installed", "")]),
        (
            "habanalabs/1.24.1-482, 6.8.0-45-generic, x86_64: installed (Original modules exist)\n",
            [("1.24.1-482", KERNEL, "installed", "Original modules exist")],
        ),
        (REPLACED, [("1.24.1-482", KERNEL, "installed", "WARNING! Diff between built and installed module!")]),
        (
            "habanalabs, 1.24.1-482, 5.14.0-427.el9.x86_64, x86_64: installed-weak from 5.14.0-362.el9.x86_64\n",
            [("1.24.1-482", "5.14.0-427.el9.x86_64", "installed-weak", "from 5.14.0-362.el9.x86_64")],
        ),
        ("habanalabs/1.23.0-695: broken\n", [("1.23.0-695", None, "broken", "")]),
    ],
)
def test_status_of_dkms_2_and_3(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert [(entry.version, entry.kernel, entry.state, entry.notes) for entry in parse_status(text)] == expected


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ("WARNING! Diff between built and installed module!", True),
        ("Differences between built and installed modules", True),
        ("Original modules exist", False),
        ("", False),
    ],
)
def test_a_replaced_module_is_seen(notes: str, expected: bool) -> None:
    assert DkmsEntry("habanalabs", VERSION, KERNEL, "x86_64", "installed", notes).differs is expected


def test_only_an_installed_build_of_this_version_counts() -> None:
    entries = parse_status(
        "habanalabs/1.24.1-482, 6.8.0-45-generic, x86_64: built\n"
        "habanalabs/1.23.0-695, 6.8.0-45-generic, x86_64: installed\n"
        "habanalabs/1.24.1-482, 6.8.0-48-generic, x86_64: installed\n"
    )
    assert not installed_for(entries, VERSION, KERNEL)
    assert installed_for(entries, VERSION, "6.8.0-48-generic")
    assert installed_for(entries, "1.23.0-695", KERNEL)


def test_headers_are_there_when_the_link_leads_somewhere(tmp_path: Path) -> None:
    modules = tmp_path / "lib/modules" / KERNEL
    modules.mkdir(parents=True)
    (modules / "build").symlink_to("/usr/src/removed-headers")
    assert not has_headers(KERNEL, str(tmp_path))
    (modules / "build").unlink()
    (modules / "build").mkdir()
    assert has_headers(KERNEL, str(tmp_path))


COMPILER = """DKMS make.log for habanalabs-1.24.1-482 for kernel 6.8.0-45-generic (x86_64)
make: Entering directory '/usr/src/linux-headers-6.8.0-45-generic'
  CC [M]  /var/lib/dkms/habanalabs/1.24.1-482/build/common/device.o

/var/lib/dkms/habanalabs/1.24.1-482/build/common/device.c:17:10: fatal error: linux/aer.h: No such file or directory
make[2]: *** [scripts/Makefile.build:243: common/device.o] Error 1
make: *** [Makefile:240: __sub-make] Error 2
"""


def log_path(root: Path, finished: bool = False) -> Path:
    tree = root / "var/lib/dkms/habanalabs" / VERSION
    path = tree / KERNEL / platform.machine() / "log/make.log" if finished else tree / "build/make.log"
    path.parent.mkdir(parents=True)
    return path


def fails_writing(path: Path | None, text: str, output: str = "") -> Any:
    def run(argv: Any, **_more: Any) -> CommandResult:
        assert list(argv) == ["dkms", "install", "--force", "-m", "habanalabs", "-v", VERSION, "-k", KERNEL]
        if path is not None:
            path.write_text(text)
        return CommandResult(10, output, "")

    return run


def test_a_failed_build_ends_in_the_first_error_and_the_end_of_the_log(tmp_path: Path) -> None:
    log = log_path(tmp_path)
    with pytest.raises(GaudiError) as caught:
        install(VERSION, KERNEL, fails_writing(log, COMPILER), 60, str(tmp_path))
    first, *end = str(caught.value).splitlines()
    assert first.startswith(f"DKMS cannot build habanalabs {VERSION} for kernel {KERNEL} (")
    assert "device.c:17:10: fatal error: linux/aer.h: No such file or directory)" in first
    kept = tmp_path / f"var/log/gaudi3_scale/dkms-{VERSION}-{KERNEL}.log"
    assert first.endswith(f"its log is {kept}.")
    assert kept.read_text() == log.read_text()
    assert end[-1] == "make: *** [Makefile:240: __sub-make] Error 2"
    assert caught.value.facts["build_log"] == str(kept)


# What gcc 12 and make -j2 said of the kernel's own driver, without the lines of it that gcc quotes.
REAL = Path(__file__).parents[3] / "fixtures/dkms"
FIRST_ERRORS = {
    "newer_driver_on_6.1": (
        "/var/lib/dkms/habanalabs/1.24.1-482/build/habanalabs/common/pci/pci.c:125:30: error: implicit declaration of "
        "function \u2018trace_habanalabs_elbi_read_enabled\u2019; did you mean "
        "\u2018trace_habanalabs_dma_free_enabled\u2019? [-Werror=implicit-function-declaration]"
    ),
    "older_driver_on_6.12": (
        "/var/lib/dkms/habanalabs/1.23.0-695/build/habanalabs/common/habanalabs_drv.c:539:9: error: implicit "
        "declaration of function \u2018pci_enable_pcie_error_reporting\u2019 [-Werror=implicit-function-declaration]"
    ),
}


@pytest.mark.parametrize("name", FIRST_ERRORS)
def test_the_first_error_of_a_real_compiler_is_in_the_sentence(name: str, tmp_path: Path) -> None:
    sentence = str(build_error(VERSION, KERNEL, str(REAL / f"{name}.txt"), str(tmp_path))).partition("\n")[0]
    assert sentence.startswith(f"DKMS cannot build habanalabs {VERSION} for kernel {KERNEL} ({FIRST_ERRORS[name]}): ")


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("/b/pci.c:125:30: error: implicit declaration of function 'f'; did you mean 'g'?", True),
        ("/b/habanalabs_drv.c:19:10: fatal error: drm/drm_accel.h: No such file or directory", True),
        ('ERROR: modpost: "drm_dev_register" [/b/habanalabs/habanalabs.ko] undefined!', True),
        ("make[2]: *** No rule to make target '/b/x.o', needed by '/b/habanalabs.o'.  Stop.", True),
        ("/bin/sh: 1: pahole: not found", False),
        ("make[4]: *** [/k/scripts/Makefile.modfinal:57: /b/habanalabs/habanalabs.ko] Error 127", True),
        ("cc1: some warnings being treated as errors", False),
        ("/k/include/linux/compiler.h:78:45: note: in definition of macro 'unlikely'", False),
        ("/b/device.c:7:3: warning: unused variable 'error' [-Wunused-variable]", False),
        ("make[2]: *** Waiting for unfinished jobs....", False),
        ("  CC [M]  /b/habanalabs/common/error.o", False),
    ],
)
def test_what_counts_as_an_error_of_a_build(line: str, is_one: bool, tmp_path: Path) -> None:
    log = log_path(tmp_path)
    log.write_text(f"make: Entering directory '/k'\n{line}\n")
    sentence = str(build_error(VERSION, KERNEL, str(log), str(tmp_path))).partition("\n")[0]
    assert (f"({line})" in sentence) is is_one
    assert ("(the log has no compiler error)" in sentence) is not is_one


@pytest.mark.parametrize(
    ("head", "kernel"),
    [
        ("DKMS make.log for habanalabs-1.24.1-482 for kernel 6.12.117+deb12-amd64 (x86_64)", "6.12.117+deb12-amd64"),
        (
            "DKMS (dkms-3.1.8) make.log for habanalabs/1.24.1-482 for kernel 6.8.0-48-generic (x86_64)",
            "6.8.0-48-generic",
        ),
        ("make: Entering directory '/usr/src/linux-headers'", KERNEL),
    ],
)
def test_a_build_of_a_package_s_script_is_told_with_the_kernel_of_its_log(
    head: str, kernel: str, tmp_path: Path
) -> None:
    log_path(tmp_path).write_text(f"{head}\n/b/x.c:1:1: error: unknown type name 'u8'\n")
    error = failed_build(KERNEL, str(tmp_path))
    assert str(error).startswith(f"DKMS cannot build habanalabs {VERSION} for kernel {kernel} (/b/x.c:1:1: error: ")
    assert error is not None
    assert error.facts["kernel"] == kernel


def test_of_builds_that_ended_well_or_failed_before_nothing_is_said(tmp_path: Path) -> None:
    log_path(tmp_path, finished=True).write_text(COMPILER)
    assert failed_build(KERNEL, str(tmp_path)) is None
    log = log_path(tmp_path)
    log.write_text(COMPILER)
    os.utime(log, (1, 1))
    assert failed_build(KERNEL, str(tmp_path), since=2) is None


def test_only_the_last_lines_of_a_long_log_are_shown(tmp_path: Path) -> None:
    text = COMPILER + "".join(f"line {number}\n" for number in range(1000))
    with pytest.raises(GaudiError) as caught:
        install(VERSION, KERNEL, fails_writing(log_path(tmp_path), text), 60, str(tmp_path))
    assert str(caught.value).splitlines()[2:] == [f"line {number}" for number in range(980, 1000)]
    assert "linux/aer.h" in str(caught.value)


def test_the_log_of_an_older_build_explains_nothing(tmp_path: Path) -> None:
    log = log_path(tmp_path)
    log.write_text(COMPILER)
    os.utime(log, (1, 1))
    output = (
        "\nError! Your kernel headers for kernel 6.8.0-45-generic cannot be found at /lib/modules/...\nPlease install\n"
    )
    with pytest.raises(GaudiError, match=r"cannot install .*: Error! Your kernel headers .* cannot be found"):
        install(VERSION, KERNEL, fails_writing(None, "", output), 60, str(tmp_path))


def test_the_log_below_the_kernel_is_found_too(tmp_path: Path) -> None:
    older, newer = log_path(tmp_path), log_path(tmp_path, finished=True)
    older.write_text("old")
    os.utime(older, (1, 1))
    newer.write_text("new")
    assert newest_log(VERSION, KERNEL, str(tmp_path)) == str(newer)
    assert newest_log(VERSION, "6.8.0-48-generic", str(tmp_path), since=2) is None


def test_a_build_without_end_is_told(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="did not finish within 60 s; raise build_timeout"):
        install(VERSION, KERNEL, lambda *_argv, **_more: CommandResult(124, "", ""), 60, str(tmp_path))
