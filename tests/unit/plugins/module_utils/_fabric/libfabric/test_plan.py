# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What of libfabric is refused before anything is fetched, and which nodes have one build in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.libfabric.plan import (
    LibfabricOptions,
    build_key,
    check_headers,
    check_options,
    configure_words,
    is_defined,
    source_version,
)

SHA = "sha256:" + "a1" * 32
GOOD = LibfabricOptions("https://mirror.example.com/libfabric-1.22.0.tar.bz2", SHA, "1.22.0", release="1.24.1")
NODE = {"os": "ubuntu", "version": "22.04", "machine": "x86_64"}


def test_without_an_archive_nothing_is_wanted() -> None:
    check_options(LibfabricOptions())
    assert not LibfabricOptions().wanted


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"archive": "/srv/archives/libfabric-1.22.0.tar.bz2"},
        {"wrapper_archive": "/srv/archives/wrapper.tar.gz", "wrapper_checksum": SHA},
        {"version": "1.20.0"},
        {"version": "1.16.1", "gaudi_direct": False},
        {"version": "2.1.0", "configure": ["--enable-debug", "CFLAGS=-O3 -g", "--with-numa=/usr"]},
    ],
)
def test_what_can_be_meant(change: Mapping[str, Any]) -> None:
    check_options(replace(GOOD, **change))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"checksum": ""}, "gaudi_fabric_libfabric_checksum is ''; give sha256: and the 64 hex digits"),
        ({"checksum": "md5:abc"}, "gaudi_fabric_libfabric_checksum is 'md5:abc'"),
        (
            {"archive": "libfabric.tar"},
            "gaudi_fabric_libfabric_archive is 'libfabric.tar'; give a URL, or the absolute",
        ),
        ({"archive": "http://mirror.example.com/l.tar"}, "gaudi_fabric_libfabric_archive uses plain http to"),
        ({"wrapper_archive": "/w.tar"}, "gaudi_fabric_ofi_wrapper_checksum is ''"),
        ({"archive": "", "wrapper_archive": "/w.tar"}, "gaudi_fabric_ofi_wrapper_archive is given without"),
        ({"version": "1.19.1"}, "gaudi_fabric_libfabric_version is 1.19.1, and HCL with Gaudi Direct needs 1.20.0"),
        ({"version": "1.16.0", "gaudi_direct": False}, "and HCL needs 1.16.1 or newer"),
        ({"version": "main"}, "gaudi_fabric_libfabric_version is 'main'; give the version"),
        (
            {"configure": ["; reboot"]},
            "gaudi_fabric_libfabric_configure has '; reboot', which is not an option of configure",
        ),
        ({"build_packages": ["gcc;"]}, "packages must have names of packages"),
    ],
)
def test_what_is_refused(change: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError) as refused:
        check_options(replace(GOOD, **change))
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_a_build_without_headers_has_to_be_asked_for() -> None:
    check_headers(GOOD, True)
    check_headers(replace(GOOD, gaudi_direct=False), False)
    with pytest.raises(GaudiError, match=r"/usr/include/habanalabs/synapse_api\.h is not on .*direct: false"):
        check_headers(GOOD, False)


@pytest.mark.parametrize(
    ("change", "node", "is_another"),
    [
        ({}, {}, False),
        # Where an archive comes from, and how long it may take, makes no other library.
        ({"archive": "/srv/libfabric.tar.bz2", "build_timeout": 10.0}, {}, False),
        ({"wrapper_checksum": SHA}, {}, False),
        ({"checksum": "sha256:" + "b2" * 32}, {}, True),
        ({"wrapper_archive": "/w.tar", "wrapper_checksum": SHA}, {}, True),
        ({"release": "1.23.0"}, {}, True),
        ({"gaudi_direct": False}, {}, True),
        ({"configure": ["--enable-debug"]}, {}, True),
        ({}, {"version": "24.04"}, True),
        ({}, {"machine": "aarch64"}, True),
    ],
)
def test_nodes_of_one_kind(change: Mapping[str, Any], node: Mapping[str, str], is_another: bool) -> None:
    assert (build_key(replace(GOOD, **change), {**NODE, **node}) != build_key(GOOD, NODE)) is is_another


def test_without_gaudi_direct_a_build_is_for_every_release() -> None:
    plain = replace(GOOD, gaudi_direct=False)
    assert build_key(plain, NODE) == build_key(replace(plain, release="1.23.0"), NODE)


def test_the_words_of_configure() -> None:
    words = configure_words(replace(GOOD, synapse="/opt/synapse", configure=["--enable-debug"]))
    assert words[0] == "--prefix=/opt/gaudi3_scale/libfabric"
    assert words[-2:] == ["--with-synapseai=/opt/synapse", "--enable-debug"]
    assert {"--enable-verbs=yes", "--enable-tcp=yes", "--disable-efa"} < set(words)
    assert configure_words(replace(GOOD, gaudi_direct=False))[-1] == "--with-synapseai=no"


def test_the_version_and_the_features_of_a_source_tree() -> None:
    # The lines of libfabric's own files.
    assert source_version("dnl x\nAC_INIT([libfabric], [2.1.0], [ofiwg@lists.openfabrics.org])\n") == "2.1.0"
    assert source_version("AC_INIT([zlib], [1.3])\n") == ""
    config = "#define HAVE_SYNAPSEAI 0\n#define HAVE_VERBS 1\n#define HAVE_VERBS_DL 0\n"
    assert is_defined(config, "HAVE_VERBS")
    assert not is_defined(config, "HAVE_SYNAPSEAI")
