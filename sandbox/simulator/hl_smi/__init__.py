# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated hl-smi. Formats follow listings of the real tool in public repositories and docs.habana.ai
(System_Management_Interface_Tool); what no source shows is marked in the file that prints it.
"""
