# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
