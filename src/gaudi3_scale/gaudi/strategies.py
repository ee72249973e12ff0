# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Lightning's strategies on Gaudi: data parallel, FSDP2 and one card. Never run on a card.

What they change is one mixin: how ranks join, where autocast and checkpoints are, and where lazy graphs end.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Iterator, Literal

import torch
from lightning.fabric.plugins import CheckpointIO
from lightning.fabric.plugins.collectives.torch_collective import default_pg_timeout
from lightning.fabric.plugins.environments import ClusterEnvironment
from lightning.fabric.strategies.registry import _StrategyRegistry
from lightning.fabric.utilities.distributed import _init_dist_connection
from lightning.pytorch.overrides.distributed import _register_ddp_comm_hook
from lightning.pytorch.plugins import MixedPrecision, Precision
from lightning.pytorch.plugins.io.wrapper import _WrappingCheckpointIO
from lightning.pytorch.strategies import DDPStrategy, ModelParallelStrategy, SingleDeviceStrategy, Strategy
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from torch.distributed.fsdp import FSDPModule

from gaudi3_scale.devices import BACKENDS, habana, load_collectives
from gaudi3_scale.gaudi.checkpoint_io import WholeFileIO


class GaudiStrategy(Strategy):
    """What every strategy does on Gaudi; comes first among the bases, before one of Lightning's."""

    strategy_name: str

    @classmethod
    def register_strategies(cls, strategy_registry: _StrategyRegistry) -> None:
        strategy_registry.register(cls.strategy_name, cls, description=cls.__doc__, override=True)

    @property
    def precision_plugin(self) -> Precision:
        return super().precision_plugin

    @precision_plugin.setter
    def precision_plugin(self, plugin: Precision | None) -> None:
        """Takes over ``precision="bf16-mixed"``: Lightning 2.6 makes autocast for CUDA of it on every device that it
        does not know (``_AcceleratorConnector._check_and_init_precision``), which would leave Gaudi in fp32."""
        if isinstance(plugin, MixedPrecision):
            if plugin.precision == "16-mixed":
                raise MisconfigurationException(
                    "precision='16-mixed': its gradient scaler is CUDA's; use 'bf16-mixed' on Gaudi."
                )
            plugin.device = "hpu"
        self._precision_plugin = plugin

    @property
    def checkpoint_io(self) -> CheckpointIO:
        """By default the one that moves tensors to the CPU first: a card's could only be read where there is one."""
        if self._checkpoint_io is None:
            self._checkpoint_io = WholeFileIO()
        elif isinstance(self._checkpoint_io, _WrappingCheckpointIO):
            self._checkpoint_io.checkpoint_io = WholeFileIO()
        return self._checkpoint_io

    @checkpoint_io.setter
    def checkpoint_io(self, checkpoint_io: CheckpointIO | None) -> None:
        self._checkpoint_io = checkpoint_io

    def post_backward(self, closure_loss: torch.Tensor) -> None:
        super().post_backward(closure_loss)
        _end_lazy_graph()

    def optimizer_step(self, *args: Any, **kwargs: Any) -> Any:
        output = super().optimizer_step(*args, **kwargs)
        _end_lazy_graph()
        return output

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        output = super().validation_step(*args, **kwargs)
        _end_lazy_graph()
        return output

    def test_step(self, *args: Any, **kwargs: Any) -> Any:
        output = super().test_step(*args, **kwargs)
        _end_lazy_graph()
        return output

    def predict_step(self, *args: Any, **kwargs: Any) -> Any:
        output = super().predict_step(*args, **kwargs)
        _end_lazy_graph()
        return output


class HookedDDPStrategy(DDPStrategy):
    """Lightning registers ``ddp_comm_hook`` on CUDA alone and drops it elsewhere without a word."""

    def _register_ddp_hooks(self) -> None:
        # By now it is the one that DDP wraps, which Lightning's type of it does not say.
        model: Any = self.model
        _register_ddp_comm_hook(model, self._ddp_comm_state, self._ddp_comm_hook, self._ddp_comm_wrapper)


class AccumulatingStrategy(ModelParallelStrategy):
    """Lightning exchanges FSDP2's gradients after every pass; here, as with DDP, after the last of a step."""

    @contextmanager
    def block_backward_sync(self) -> Iterator[None]:
        assert self.model is not None
        sharded = [module for module in self.model.modules() if isinstance(module, FSDPModule)]
        for module in sharded:
            module.set_requires_gradient_sync(False, recurse=False)
        try:
            yield
        finally:
            for module in sharded:
                module.set_requires_gradient_sync(True, recurse=False)


class GaudiSingleStrategy(GaudiStrategy, SingleDeviceStrategy):
    """One Gaudi card, one process."""

    strategy_name = "habana_single"

    def __init__(self, device: torch.device | str = "hpu", **kwargs: Any) -> None:
        super().__init__(device=device, **kwargs)


class GaudiDDPStrategy(GaudiStrategy, HookedDDPStrategy):
    """Data parallel over HCCL."""

    strategy_name = "habana_ddp"

    def __init__(self, process_group_backend: str = BACKENDS["hpu"], **kwargs: Any) -> None:
        super().__init__(process_group_backend=process_group_backend, **kwargs)

    def setup_environment(self) -> None:
        _join(self.cluster_environment, self._timeout)
        super().setup_environment()

    def determine_ddp_device_ids(self) -> None:
        """No ids: the module is already on the process's only card."""


class GaudiFSDP2Strategy(GaudiStrategy, AccumulatingStrategy):
    """FSDP2 over HCCL: the module's ``configure_model`` calls ``fully_shard`` with ``self.device_mesh``.

    The mesh's dimension ``data_parallel`` is all ranks, unless ``tensor_parallel_size`` takes some of them.
    """

    strategy_name = "habana_fsdp2"

    def __init__(
        self,
        data_parallel_size: int | Literal["auto"] = "auto",
        tensor_parallel_size: int | Literal["auto"] = 1,
        process_group_backend: str = BACKENDS["hpu"],
        **kwargs: Any,
    ) -> None:
        super().__init__(
            data_parallel_size, tensor_parallel_size, process_group_backend=process_group_backend, **kwargs
        )

    def setup_environment(self) -> None:
        if self._data_parallel_size == "auto" and isinstance(self._tensor_parallel_size, int):
            self._data_parallel_size = self.world_size // self._tensor_parallel_size
        _join(self.cluster_environment, self._timeout)
        super().setup_environment()


STRATEGIES = {
    strategy.strategy_name: strategy for strategy in (GaudiDDPStrategy, GaudiFSDP2Strategy, GaudiSingleStrategy)
}


def _join(environment: ClusterEnvironment | None, timeout: timedelta | None = default_pg_timeout) -> None:
    """Tell the bridge which rank this is and join the process group, unless the process is already in one.

    Before Lightning would: it passes the device to ``init_process_group``, which wants one with an index, and
    Gaudi's has none. Lightning's own launcher sets no RANK, so that the bridge has to be told (docs.habana.ai,
    Distributed Backend Initialization, "Custom Launchers").
    """
    assert environment is not None
    backend = load_collectives("hpu")
    habana("distributed.hccl").initialize_distributed_hpu(
        world_size=environment.world_size(), rank=environment.global_rank(), local_rank=environment.local_rank()
    )
    _init_dist_connection(environment, backend, timeout=timeout)


def _end_lazy_graph() -> None:
    """In lazy mode (PT_HPU_LAZY_MODE=1) what was recorded runs from here on; in eager mode there is nothing to do."""
    habana("core").mark_step()
