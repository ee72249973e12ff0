# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""libfabric and HCCL's wrapper of it: what the operator wants, what is refused, and which nodes need one and the same.

Sources: HabanaAI/hccl_demo README and docs.habana.ai (versions, ``--with-synapseai``), HabanaAI/hccl_ofi_wrapper
README (``make`` with LIBFABRIC_ROOT, the library's place). HCL takes no provider but tcp and verbs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..._errors import GaudiError
from ..._node.urls import checked_url, is_url
from ..._packages.repository_words import checked_words
from ..._releases.lookup import version_key
from ..ofi_wrapper import ARCHIVE as WRAPPER_ARCHIVE

PREFIX = "/opt/gaudi3_scale/libfabric"
# The oldest with which HCL works at all, and with Gaudi Direct.
LEAST, LEAST_DIRECT = "1.16.1", "1.20.0"
HEADER = "include/habanalabs/synapse_api.h"

_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){1,3}")
_CONFIGURE = re.compile(r"(?:--[a-z0-9-]+(?:=[A-Za-z0-9_./:,+-]*)?|[A-Z]+=[A-Za-z0-9_./:,+ -]*)")
_OPTION = "gaudi_fabric_libfabric_"
# Whatever HCL never takes; a word that this version does not know is only remarked on by configure.
_LEFT_OUT = (
    "cxi", "dmabuf_peer_mem", "efa", "hook_debug", "hook_hmem", "lnx", "lpp", "mrail", "opx", "perf",
    "profile", "psm2", "psm3", "rxd", "shm", "sm2", "sockets", "trace", "ucx", "udp", "usnic",
)  # fmt: skip


@dataclass(frozen=True)
class LibfabricOptions:
    """The operator's wishes; see the options ``libfabric_*`` of the module ``hpu_host_nics``."""

    archive: str = ""
    checksum: str = ""
    version: str = LEAST_DIRECT
    gaudi_direct: bool = True
    synapse: str = "/usr"
    configure: Sequence[str] = ()
    wrapper_archive: str = ""
    wrapper_checksum: str = ""
    release: str = ""
    build_packages: Sequence[str] = ()
    build_timeout: float = 3600.0
    plain_http_hosts: Sequence[str] = ()

    @property
    def wanted(self) -> bool:
        """Whether any of it is."""
        return bool(self.archive)


def check_options(options: LibfabricOptions) -> None:
    """Refuse what cannot be built, before anything is touched."""
    if not options.archive:
        if options.wrapper_archive:
            raise GaudiError(
                f"{WRAPPER_ARCHIVE} is given without gaudi_fabric_libfabric_archive, which the "
                "wrapper is built for; give both."
            )
        return
    check_source_archive(f"{_OPTION}archive", options.archive, options.checksum, options.plain_http_hosts)
    if options.wrapper_archive:
        given = (options.wrapper_archive, options.wrapper_checksum, options.plain_http_hosts)
        check_source_archive(WRAPPER_ARCHIVE, *given)
    _check_version(options)
    checked_words("packages", options.build_packages)
    for word in options.configure:
        if not _CONFIGURE.fullmatch(word):
            raise GaudiError(
                f"{_OPTION}configure has {word!r:.80}, which is not an option of configure; write --with-x=y."
            )


def check_source_archive(option: str, archive: str, checksum: str, plain_http_hosts: Sequence[str]) -> None:
    """Refuse sources without a pinned checksum, or that lie neither behind a URL nor on the controller."""
    if is_url(archive):
        checked_url(option, archive, plain_http_hosts)
    elif not archive.startswith("/"):
        raise GaudiError(f"{option} is {archive!r:.200}; give a URL, or the absolute path of a file on the controller.")
    if not _CHECKSUM.fullmatch(checksum):
        wanted = f"{option[: -len('archive')]}checksum"
        raise GaudiError(
            f"{wanted} is {checksum!r:.100}; give sha256: and the 64 hex digits that `sha256sum` prints for {archive}, "
            "as its maker publishes them."
        )


def _check_version(options: LibfabricOptions) -> None:
    least = LEAST_DIRECT if options.gaudi_direct else LEAST
    if not _VERSION.fullmatch(options.version):
        raise GaudiError(
            f"{_OPTION}version is {options.version!r:.80}; give the version of the archive, such as {LEAST_DIRECT}."
        )
    if version_key(options.version) < version_key(least):
        with_it = " with Gaudi Direct" if options.gaudi_direct else ""
        raise GaudiError(
            f"{_OPTION}version is {options.version}, and HCL{with_it} needs {least} or newer; give such an archive."
        )


def check_headers(options: LibfabricOptions, there: bool) -> None:
    """Refuse a build with Gaudi Direct on a node that has nothing to build it with."""
    if options.gaudi_direct and not there:
        raise GaudiError(
            f"{options.synapse}/{HEADER} is not on this node, and libfabric has no Gaudi Direct without it; install "
            f"the driver layer's packages first, correct {_OPTION}synapse, or ask for a build without Gaudi "
            f"Direct with {_OPTION}gaudi_direct: false."
        )


def build_key(options: LibfabricOptions, system: Mapping[str, str]) -> str:
    """The same for nodes that can use one build: of the same system, release, archives and settings."""
    parts = {
        "system": dict(system),
        "release": options.release if options.gaudi_direct else "",
        "libfabric": options.checksum,
        "wrapper": options.wrapper_checksum if options.wrapper_archive else "",
        "version": options.version,
        "configure": configure_words(options),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


def configure_words(options: LibfabricOptions) -> list[str]:
    """configure's options: what HCL uses, Synapse where it is wanted, and the operator's own words last."""
    synapse = f"--with-synapseai={options.synapse}" if options.gaudi_direct else "--with-synapseai=no"
    used = ["--enable-verbs=yes", "--enable-tcp=yes", "--enable-rxm=yes"]
    return [f"--prefix={PREFIX}", *used, *(f"--disable-{name}" for name in _LEFT_OUT), synapse, *options.configure]


def source_version(text: str) -> str:
    """The version that ``configure.ac`` has; empty where it has none, and so is no libfabric."""
    found = re.search(r"^AC_INIT\(\[libfabric\],\s*\[([^\]]+)\]", text, re.MULTILINE)
    return found[1] if found else ""


def is_defined(config: str, name: str) -> bool:
    """Whether ``config.h`` of a configured tree has this feature on."""
    return re.search(rf"^#define {name} 1$", config, re.MULTILINE) is not None
