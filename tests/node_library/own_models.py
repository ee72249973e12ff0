# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Models as a user may have them, where another process can import them."""

from __future__ import annotations

import lightning.pytorch as lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 4096


class Perceptron(nn.Module):
    """With a dropout, a buffer that training changes, and a loss of its own kind."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FEATURES, 32), nn.BatchNorm1d(32), nn.Dropout(0.5), nn.Linear(32, FEATURES)
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.layers(features)


class PerceptronTask(lightning.LightningModule):
    def __init__(self, batch_size: int = 2) -> None:
        super().__init__()
        self.model = Perceptron()
        self.batch_size = batch_size
        self.seen: list[int] = []

    def training_step(self, batch: list[torch.Tensor], _index: int) -> torch.Tensor:
        (features,) = batch
        self.seen.append(len(features))
        loss = (self.model(features) - features).square().mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> dict:
        return {"optimizer": torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)}

    def train_dataloader(self) -> DataLoader:
        return DataLoader(TensorDataset(torch.randn(2000, FEATURES)), batch_size=self.batch_size)
