# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The sandbox's repository: signed apt and dnf repositories, a pip index and PyTorch bundles, with the vendor's URLs.

Names, versions and directory layout are the vendor's; the content is the simulator, PyTorch for CPUs and pip's wheels.
"""
