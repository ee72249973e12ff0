# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint holds of a Lightning training, and putting it back: any module, sharded or not, and its optimizers.

Three things: ``model`` and ``optimizer`` are tensors by the names of the parameters, through torch's own
``get_state_dict`` (so neither DDP nor FSDP2 nor torch.compile shows in the names); ``progress`` is everything else.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, Callable, Mapping

import lightning.pytorch as lightning
import torch
import torch.distributed.checkpoint as distributed_checkpoint
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.tensor import DTensor

from gaudi3_scale.checkpoints.loading import DataPlanner, DataReader
from gaudi3_scale.core._errors import GaudiError


def state_of(trainer: lightning.Trainer) -> dict[str, Any]:
    """Tensors are the training's own, not copies."""
    module = trainer.lightning_module
    model, optimizer = get_state_dict(module, trainer.optimizers)
    reported: dict[str, Any] = {}
    module.on_save_checkpoint(reported)
    progress = {
        "global_step": trainer.global_step,
        "module": reported,
        "loops": trainer.fit_loop.state_dict(),
        "param_groups": optimizer["param_groups"],
        "lr_schedulers": [config.scheduler.state_dict() for config in trainer.lr_scheduler_configs],
        "callbacks": {callback.state_key: callback.state_dict() for callback in _callbacks(trainer)},
    }
    return {"model": model, "optimizer": optimizer["state"], "progress": _packed(progress)}


def share_of(state: Mapping[str, Any], number: int, members: int) -> dict[str, Any]:
    """What member ``number`` of ``members`` writes: its shards of DTensors, and its part of the tensors that all hold.

    Ranks of a data parallel training hold the same tensors. Shared out before they are copied, a node copies and writes
    each once, however many ranks it has.
    """
    whole = sorted(
        ((name, tensor) for name, tensor in _tensors(state) if not isinstance(tensor, DTensor)),
        key=lambda item: (-item[1].nbytes, item[0]),
    )
    filled = [0] * members
    mine: set[str] = set()
    for name, tensor in whole:
        least = filled.index(min(filled))
        filled[least] += max(1, tensor.nbytes)
        if least == number:
            mine.add(name)

    def kept(path: str, value: Any) -> bool:
        if isinstance(value, DTensor):
            return True
        return path in mine if isinstance(value, torch.Tensor) else number == 0

    return _filtered(state, "", kept)


def bytes_of(state: Mapping[str, Any]) -> int:
    """Of its tensors, each counted whole."""
    return sum(tensor.nbytes for _name, tensor in _tensors(state))


def own_bytes_of(share: Mapping[str, Any]) -> int:
    """Of what this rank writes of it."""
    tensors = (tensor for _name, tensor in _tensors(share))
    return sum(tensor.to_local().nbytes if isinstance(tensor, DTensor) else tensor.nbytes for tensor in tensors)


def is_sharded(state: Mapping[str, Any]) -> bool:
    return any(isinstance(tensor, DTensor) for _name, tensor in _tensors(state))


def restore(
    trainer: lightning.Trainer,
    path: Path,
    group: torch.distributed.ProcessGroup,
    reader_of: Callable[[Path], DataReader] = DataReader,
) -> None:
    """Put the checkpoint in ``path`` back into a training that was set up and has not begun.

    Collective in ``group``. Raises GaudiError when the checkpoint is of another model.
    """
    module = trainer.lightning_module
    reader = _reader(path, reader_of)
    packed = {"progress": b""}
    _load(packed, reader, path, group)
    progress = torch.load(io.BytesIO(packed["progress"]), map_location="cpu", weights_only=True)
    module.on_load_checkpoint(progress["module"])

    model, optimizer = get_state_dict(module, trainer.optimizers)
    saved = reader.read_metadata().state_dict_metadata
    _require_same_model(path, model, saved)
    # By the names of parameters, of the shapes that the type of it allows.
    states: Any = optimizer["state"]
    # A parameter that had no gradient yet has no state either.
    with_state = {
        name: values for name, values in states.items() if all(f"optimizer.{name}.{value}" in saved for value in values)
    }
    # Into the training's own tensors: they are read once, and nothing is held twice.
    _load({"model": model, "optimizer": with_state}, reader, path, group)
    set_state_dict(
        module,
        trainer.optimizers,
        model_state_dict=model,
        optim_state_dict={"state": with_state, "param_groups": progress["param_groups"]},
    )
    for config, state in zip(trainer.lr_scheduler_configs, progress["lr_schedulers"]):
        config.scheduler.load_state_dict(state)
    for callback in _callbacks(trainer):
        if callback.state_key in progress["callbacks"]:
            callback.load_state_dict(progress["callbacks"][callback.state_key])
    trainer.fit_loop.load_state_dict(progress["loops"])
    _begin_a_step(trainer)


def _callbacks(trainer: lightning.Trainer) -> list[lightning.Callback]:
    # Lightning makes the attribute outside the class, where its types do not show it.
    return trainer.callbacks  # type: ignore[attr-defined,no-any-return]


def _reader(path: Path, reader_of: Callable[[Path], DataReader]) -> DataReader:
    try:
        return reader_of(path)
    except (OSError, ValueError) as error:
        raise GaudiError(f"--resume: {path} cannot be resumed from: {error}; name another checkpoint.") from error


def _load(state: dict[str, Any], reader: DataReader, path: Path, group: torch.distributed.ProcessGroup) -> None:
    try:
        distributed_checkpoint.load(state, storage_reader=reader, planner=DataPlanner(), process_group=group)
    except CheckpointException as error:
        cause, _traceback = next(iter(error.failures.values()))
        # PyTorch's own words for the first advise to run it.
        reported = "a value in it is not plain data" if isinstance(cause, pickle.UnpicklingError) else str(cause)
        reported = reported.strip().partition("\n")[0]
        raise GaudiError(f"--resume: {path} cannot be resumed from: {reported}; name another checkpoint.") from error


def _begin_a_step(trainer: lightning.Trainer) -> None:
    """A checkpoint is between two steps. Lightning ends a step where the batches so far are a multiple of those it
    accumulates: where another number of ranks has changed that, the first step would get too few."""
    batches = trainer.fit_loop.epoch_loop.batch_progress.current
    missing = -batches.ready % trainer.accumulate_grad_batches
    for name in ("ready", "started", "processed", "completed"):
        setattr(batches, name, getattr(batches, name) + missing)


def _require_same_model(path: Path, model: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    here = {name: tuple(value.shape) for name, value in model.items() if isinstance(value, torch.Tensor)}
    there = {
        name.removeprefix("model."): tuple(about.size)
        for name, about in saved.items()
        if name.startswith("model.") and isinstance(about, TensorStorageMetadata)
    }
    for name in sorted({*here, *there}):
        if here.get(name) != there.get(name):
            differs = " and ".join(
                f"{name} is {list(shapes[name])} {where}" if name in shapes else f"there is no {name} {where}"
                for shapes, where in ((there, "in the checkpoint"), (here, "in this training"))
            )
            raise GaudiError(
                f"--resume: {path} is of another model: {differs}; give the options that it was made with, "
                "or another --job-dir to begin a new one."
            )


def _packed(progress: dict[str, Any]) -> bytes:
    """One value, so that it is written and read as one."""
    stream = io.BytesIO()
    torch.save(progress, stream)
    return stream.getvalue()


def _tensors(state: Mapping[str, Any], prefix: str = "") -> list[tuple[str, torch.Tensor]]:
    found: list[tuple[str, torch.Tensor]] = []
    for name, value in state.items():
        if isinstance(value, Mapping):
            found += _tensors(value, f"{prefix}{name}.")
        elif isinstance(value, torch.Tensor):
            found.append((f"{prefix}{name}", value))
    return found


def _filtered(state: Mapping[str, Any], prefix: str, kept: Any) -> dict[str, Any]:
    part: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, Mapping):
            part[name] = _filtered(value, f"{prefix}{name}.", kept)
        elif kept(f"{prefix}{name}", value):
            part[name] = value
    return part
