# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the operator wants of HCCL's wrapper of libfabric on a node with EFA, and what is refused. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._errors import GaudiError
from ..._packages.repository_words import checked_words
from ..libfabric.plan import check_source_archive
from ..ofi_wrapper import ARCHIVE, WRAPPER

VERSION_OPTION = "gaudi_fabric_efa_version"
# Of the checksum, in what is shown.
_SHOWN = len("sha256:") + 12


@dataclass(frozen=True)
class WrapperOptions:
    """The operator's wishes; see the options ``ofi_wrapper_*`` of the module ``efa_installation``."""

    archive: str = ""
    checksum: str = ""
    archive_file: str = ""
    build_packages: Sequence[str] = ()


def check_wrapper(wishes: WrapperOptions, version: str, minimal: bool, plain_http_hosts: Sequence[str]) -> None:
    """Refuse what cannot be built; ``version`` is that of the installer that will have run."""
    checked_words("packages", wishes.build_packages)
    if not wishes.archive:
        return
    check_source_archive(ARCHIVE, wishes.archive, wishes.checksum, plain_http_hosts)
    if minimal:
        raise GaudiError(
            f"{ARCHIVE} is given with --minimal, which leaves out the libfabric that the wrapper is built against; "
            "remove one of them."
        )
    if not version:
        raise GaudiError(
            f"{ARCHIVE} is given, and Amazon's libfabric, which the wrapper is built against, is not on this node; set "
            f"{VERSION_OPTION}."
        )


def described(wishes: WrapperOptions, version: str) -> str:
    """What a wrapper is built of, in words: another checksum or another EFA, and it is built again."""
    return f"{WRAPPER} of {wishes.checksum[:_SHOWN]} for EFA {version}" if wishes.archive else ""
