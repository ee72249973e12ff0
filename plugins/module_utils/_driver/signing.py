# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What Secure Boot and the machine owner's key mean for the driver of a node: seen, prepared, and what it forbids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from .._errors import GaudiError
from .._host.kernel import secure_boot
from .._node import kernel_modules
from .._node.commands import Run
from .._node.rendered_files import WantedFile, pending, write
from . import module_signing
from .dkms import DRIVER
from .module_signing import SigningOptions


@dataclass(frozen=True)
class Signing:
    """How things stand.

    ``files`` are DKMS's settings that are not yet as wanted, ``enroll`` the certificate that the firmware has to be
    asked about (empty: none), ``unsigned`` the kernels whose driver is not signed with the wanted key. ``barrier`` says
    why this node would load no driver that DKMS builds (empty: it would), ``notes`` what else an operator should know.
    """

    files: tuple[WantedFile, ...] = ()
    enroll: str = ""
    unsigned: tuple[str, ...] = ()
    barrier: str = ""
    notes: tuple[str, ...] = ()

    @property
    def preparations(self) -> tuple[str, ...]:
        """What :func:`prepare` would write and ask for."""
        return (*(file.path for file in self.files), *([self.enroll] if self.enroll else []))


def look(options: SigningOptions, kernels: Sequence[str], run: Run, root: str = "/", kernel_root: str = "/") -> Signing:
    """See the node; changes nothing."""
    state = secure_boot.read(run, root, kernel_root, options.key, options.certificate)
    version = module_signing.dkms_version(run) if options.key else ""
    planned = module_signing.plan(options, state, version, root)
    return Signing(
        files=tuple(change.wanted for change in pending(planned.files)),
        enroll=planned.enroll,
        unsigned=tuple(kernel for kernel in kernels if is_unsigned(options, kernel, run, root)),
        barrier=_barrier(state),
        notes=planned.notes,
    )


def _barrier(state: secure_boot.SecureBoot) -> str:
    """A key that may well be trusted blocks nobody."""
    unknown = state.certificate is not None and state.enrolled is None
    return "" if unknown else secure_boot.advice(state) or ""


def is_unsigned(options: SigningOptions, kernel: str, run: Run, root: str = "/") -> bool:
    """Whether this kernel has a driver that was not signed with the wanted key, and building it again may change that.

    dkms 2 cannot be told which key to take: what it builds is not judged.
    """
    if not options.certificate or module_signing.dkms_version(run).startswith("2."):
        return False
    file = kernel_modules.module_files([DRIVER], kernel, run).get(DRIVER)
    return file is not None and not module_signing.signed_with(file, options.certificate, run, root)


def prepare(signing: Signing, options: SigningOptions, run: Run) -> None:
    """Have DKMS sign with the key, and the firmware ask for it at the next start."""
    for change in pending(signing.files):
        write(change)
    if signing.enroll:
        module_signing.enroll(signing.enroll, options.hash_file, run)


def require_signed(options: SigningOptions, kernel: str, run: Run, root: str = "/") -> None:
    """After a build. DKMS ends with 0 where it has not signed, for want of the kernel's ``sign-file``."""
    if is_unsigned(options, kernel, run, root):
        raise GaudiError(
            f"DKMS did not sign the driver for kernel {kernel} with {options.certificate}; its build log has the "
            "reason at the end (no sign-file in the kernel's headers, a key of another pair).",
            kernel=kernel,
        )
