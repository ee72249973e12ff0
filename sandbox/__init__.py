# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A Gaudi cluster that fits on a laptop: real systemd, sshd, apt and DKMS in containers, simulated cards.

Standard library only. ``python3 -m sandbox up`` from the root of the checkout makes it, ``down`` removes it.
"""
