# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of image classification, read and resized when they are asked for."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from PIL import Image

from gaudi3_scale.fine_tune.labels import Labels
from gaudi3_scale.fine_tune.records import Row


class Images(torch.utils.data.Dataset[Row]):
    """Each image as the model's own processor makes it: one size, normalized, not augmented."""

    def __init__(self, rows: Sequence[Row], processor: Any, labels: Labels) -> None:
        self._rows = rows
        self._processor = processor
        self._labels = labels

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> Row:
        row = self._rows[number]
        with Image.open(row["image"]) as image:
            pixels = self._processor(images=[image.convert("RGB")], return_tensors="pt")["pixel_values"][0]
        return {"pixel_values": pixels, "labels": self._labels.of(row["label"])}
