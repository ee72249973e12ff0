# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The other module of own_program."""

import torch

SAMPLE = 1 << 18


def training_step(batch_size, device):
    weights = torch.ones(SAMPLE, device=device, requires_grad=True)

    def once():
        loss = (torch.ones(batch_size, SAMPLE, device=device) * weights).mean()
        loss.backward()
        return float(loss.detach())

    return once
