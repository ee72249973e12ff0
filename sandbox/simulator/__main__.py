# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Entry of every simulated program: ``python3 -m gaudi_simulator PROGRAM ARGUMENT...``."""

from __future__ import annotations

import importlib
import sys

from . import losses

# Program -> module with a ``main(arguments) -> exit code``; imported when called, so that each starts fast.
PROGRAMS = {
    "boot": "boot",
    "render": "kernel_tree",
    "external-ports": "external_ports",
    "faults": "fault_program",
    "loss": "losses",
    "update-grub": "boot_loader",
    "kernel": "kernel_images",
    "modprobe": "kernel_modules.modprobe",
    "rmmod": "kernel_modules.rmmod",
    "lsmod": "kernel_modules.lsmod",
    "modinfo": "kernel_modules.modinfo",
    "lspci": "lspci",
    "hl-smi": "hl_smi.command",
    "hl-fw-loader": "hl_fw_loader",
    "bmc-write-protection": "write_protection",
    "hl_qual": "hl_qual",
    "habana-container-runtime": "container_runtime",
    "manage_network_ifs.sh": "network_interfaces",
}
# What the sandbox itself calls: no fault can wait for it.
OWN = ("boot", "render", "external-ports", "faults", "loss", "kernel")


def main() -> int:
    """Run the program named by the first argument."""
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        print(f"usage: gaudi-simulator {'|'.join(PROGRAMS)} ...", file=sys.stderr)
        return 2
    program = sys.argv[1]
    if program not in OWN:
        losses.called(program)
    module = importlib.import_module(f"{__package__}.{PROGRAMS[program]}")
    return int(module.main(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
