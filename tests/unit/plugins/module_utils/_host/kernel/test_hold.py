# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.hold import kernel_globs, kernel_packages

UBUNTU = ["linux-generic", "linux-image-generic-hwe-24.04", "linux-headers-generic", "linux-oem-24.04b", "linux-aws"]
DEBIAN = ["linux-headers-amd64", "linux-image-6.12-amd64", "linux-image-amd64", "linux-image-cloud-amd64"]
RHEL = ["kernel", "kernel-core", "kernel-devel", "kernel-devel-matched", "kernel-modules-core", "kernel-rt-core"]


@pytest.mark.parametrize(
    ("wanted", "others", "os_id"),
    [
        (UBUNTU, ["linux-image-6.8.0-45-generic", "linux-firmware", "linux-libc-dev", "linux-base"], "ubuntu-24.04"),
        (DEBIAN, ["linux-image-6.1.0-56-amd64", "linux-image-amd64-dbg", "linux-perf"], "debian"),
        (RHEL, ["kernel-headers", "kernel-tools", "kernelshark", "kernel-srpm-macros"], "rhel-9.6"),
    ],
)
def test_only_what_brings_another_kernel_is_held(wanted: list[str], others: list[str], os_id: str) -> None:
    assert kernel_packages([*others, *wanted], os_id) == sorted(wanted)


def test_the_database_is_asked_by_family() -> None:
    assert kernel_globs("ubuntu-24.04") == ["linux-*"]
    assert kernel_globs("rocky-9.4") == ["kernel*"]
