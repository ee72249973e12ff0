# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated part of a sandbox node: its cards and what only a kernel with their driver could answer.

Runs inside the nodes, mounted at /usr/lib/gaudi_simulator. Its tables and formats are written from the same public
sources as the collection's and share no code with it: a wrong fact must not be able to confirm itself.
State and injected faults are one file, /var/lib/gaudi_simulator/node.json.
"""
