# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The sandbox's vault: a signed apt repository, a pip index and PyTorch bundles, with the URL shapes of the vendor's.

Names, versions and directory layout are the vendor's; the content is the simulator, PyTorch for CPUs and pip's wheels.
"""
