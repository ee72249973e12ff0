# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ``gaudi3_scale estimate`` says against what the trainer takes, for 27 models at 4 batch sizes, on the CPU.

    .venv/bin/python -m benchmarks.estimate [--few | --ranks] [--kitsune DIR]

Measured is the most that PyTorch's own CPU allocator has handed out at a time, from before the model is built to the
end of the third step of ``gaudi3_scale.train``: its profiler notes each allocation with the total after it. So buffers
of kernels are in it, which the estimate cannot see, and what oneDNN and the C library keep beside it is not. Nothing
here ran on a card. ``--kitsune DIR`` puts torch-kitsune (``pip install --no-deps --target DIR torch-kitsune``) beside
it, for the Hugging Face models in fp32 without checkpointing, for which it has a function.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

BATCHES = (1, 3, 8, 24)
BATCHES_OVER_RANKS = (1, 8)
STEPS = 3
PAUSE_S = 0.1
RANKS, RUNS_OF_RANKS = 2, 3
VOCABULARY = 512
BF16 = ("--precision", "bf16")
CHECKPOINTING = ("--checkpointing", "on")


class Model(NamedTuple):
    """``architecture`` is one of Hugging Face's, with its ``sizes``; none: the built-in model."""

    name: str
    options: tuple[str, ...]
    architecture: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    ranks: int = 1


def built_in(layers: int, width: int, heads: int, length: int, *more: str) -> Model:
    sizes = {"--layers": layers, "--width": width, "--heads": heads, "--sequence-length": length}
    given = [str(word) for option in sizes.items() for word in option]
    name = f"built-in {layers} x {width}, {length} tokens"
    return Model(" ".join([name, *more]).replace("--", ""), (*given, *more))


def hugging_face(architecture: str, *more: str, **sizes: int) -> Model:
    """Small, and of the proportions that such models have."""
    usual = {"hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 4, "num_attention_heads": 4}
    chosen = tuple({**usual, "vocab_size": VOCABULARY, "max_position_embeddings": 256, **sizes}.items())
    return Model(
        " ".join([architecture, *more]).replace("--", ""), ("--sequence-length", "128", *more), architecture, chosen
    )


MODELS = (
    hugging_face("llama", num_key_value_heads=2),
    hugging_face("llama", *BF16, num_key_value_heads=2),
    hugging_face("llama", *CHECKPOINTING, num_key_value_heads=2),
    hugging_face("mistral", num_key_value_heads=2),
    hugging_face("qwen2", num_key_value_heads=2),
    hugging_face("qwen3", *BF16, num_key_value_heads=2, head_dim=32),
    hugging_face("gemma2", num_key_value_heads=2, head_dim=32),
    hugging_face("phi3", pad_token_id=0),
    hugging_face("phi", *BF16),
    hugging_face("gpt2", n_layer=4, n_head=4, n_embd=128),
    hugging_face("gpt2", *CHECKPOINTING, n_layer=4, n_head=4, n_embd=128),
    hugging_face("gpt_neox"),
    hugging_face("opt", ffn_dim=344, word_embed_proj_dim=128),
    hugging_face("bloom", n_layer=4, n_head=4),
    hugging_face("falcon", *BF16),
    hugging_face("olmo2"),
    built_in(2, 64, 4, 64),
    built_in(4, 128, 4, 128),
    built_in(4, 256, 4, 256),
    built_in(12, 64, 4, 128),
    built_in(2, 512, 8, 64),
    built_in(4, 128, 4, 512),
    built_in(4, 128, 4, 128, *BF16),
    built_in(2, 256, 4, 64, *BF16),
    built_in(4, 128, 4, 128, *CHECKPOINTING),
    built_in(12, 128, 4, 128, *CHECKPOINTING),
    built_in(4, 128, 4, 128, *CHECKPOINTING, *BF16),
)
# Ranks that share the model or exchange its gradients: as many processes on this host.
OVER_RANKS = tuple(
    model._replace(name=f"{model.name}, {RANKS} ranks", ranks=RANKS)
    for model in (
        built_in(4, 256, 4, 128, "--sharding", "fsdp2"),
        built_in(8, 256, 4, 64, "--sharding", "fsdp2", *CHECKPOINTING),
        built_in(2, 256, 4, 64, "--sharding", "fsdp2", *BF16),
        hugging_face("llama", "--sharding", "fsdp2", num_key_value_heads=2),
        built_in(4, 256, 4, 128),
    )
)
FEW = 4


class Pair(NamedTuple):
    model: str
    batch: int
    estimated: int
    measured: int
    kitsune: int | None = None

    @property
    def ratio(self) -> float:
        return self.estimated / self.measured


def main() -> int:
    """Print a row for each model; returns 1 where an estimate is below what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", action="store_true", help=f"only every {FEW}th model")
    parser.add_argument("--ranks", action="store_true", help="FSDP2 and DDP over two ranks")
    parser.add_argument("--kitsune", type=Path, help="directory with torch-kitsune")
    given = parser.parse_args()
    # Forks have them then.
    import transformers  # noqa: F401

    import gaudi3_scale.estimate.estimate
    import gaudi3_scale.trainer.run  # noqa: F401

    batches = BATCHES_OVER_RANKS if given.ranks else BATCHES
    print(f"estimate / measured, batch {', '.join(map(str, batches))}")
    pairs: list[Pair] = []
    for model in OVER_RANKS if given.ranks else MODELS[:: FEW if given.few else 1]:
        found = measured(model, given.kitsune)
        pairs += found
        print(f"{model.name:52} {'  '.join(f'{pair.ratio:.3f}' for pair in found)}", flush=True)
    ratios = [pair.ratio for pair in pairs]
    print(f"{len(pairs)} pairs: {summary(ratios)}")
    others = [pair.kitsune / pair.measured for pair in pairs if pair.kitsune]
    if others:
        print(f"torch-kitsune, {len(others)} pairs: {summary(others)}, below 1 in {sum(one < 1 for one in others)}")
    return int(min(ratios) < 1)


def summary(ratios: list[float]) -> str:
    return f"least {min(ratios):.3f}, median {statistics.median(ratios):.3f}, most {max(ratios):.3f}"


def measured(model: Model, kitsune: Path | None) -> list[Pair]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = [*model.options, *_directory(model, folder / "model")]
        return [
            Pair(
                model.name,
                batch,
                in_own_process(_estimated, options, batch, model.ranks),
                peak_of_ranks(options, batch, folder, model.ranks),
                in_own_process(_other, options, batch, kitsune) if kitsune else None,
            )
            for batch in (BATCHES if model.ranks == 1 else BATCHES_OVER_RANKS)
        ]


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """In a process of its own: a training leaves things behind, and the allocator's total starts with what is there.

    Not forked: a child of a process that has computed waits for ever for OpenMP's threads, which it has not.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _directory(model: Model, folder: Path) -> list[str]:
    if not model.architecture:
        return []
    from transformers import AutoConfig

    sizes = dict(model.sizes)
    AutoConfig.for_model(model.architecture, **sizes, bos_token_id=1, eos_token_id=2).save_pretrained(folder)
    return ["--model", str(folder), "--from-scratch"]


def _estimated(options: list[str], batch: int, ranks: int) -> int:
    from gaudi3_scale.estimate.commands import parse
    from gaudi3_scale.estimate.estimate import estimate_of

    words = [word for word in options if word != "--from-scratch"]
    if "--precision" not in words:
        words += ["--precision", "fp32"]
    return estimate_of(parse([*words, "--batch-size", str(batch), "--cards", str(ranks)])).together


def peak_of_ranks(options: list[str], batch: int, folder: Path, ranks: int) -> int:
    """That of the rank with the most; of several ranks the least of some runs, since gloo's threads let go of what they
    have sent when the host has time for them."""
    if ranks == 1:
        return int(in_own_process(peak_of_trainer, options, batch, folder))
    return min(_peak_together(options, batch, folder, ranks) for _run in range(RUNS_OF_RANKS))


def _peak_together(options: list[str], batch: int, folder: Path, ranks: int) -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    with ProcessPoolExecutor(ranks, get_context("spawn")) as pool:
        running = [
            pool.submit(peak_of_trainer, options, batch, folder, {**where, "RANK": rank, "LOCAL_RANK": rank})
            for rank in range(ranks)
        ]
        return max(one.result() for one in running)


def peak_of_trainer(options: list[str], batch: int, folder: Path, rank: Mapping[str, object] | None = None) -> int:
    """The most that the allocator had handed out, in a run of the trainer with three steps."""
    os.environ.update({name: str(value) for name, value in (rank or {}).items()})
    import torch
    from torch.profiler import ProfilerActivity, profile

    from gaudi3_scale.trainer.options import parse_options
    from gaudi3_scale.trainer.run import run

    # Another rank may read it already.
    written = folder / f"text-{os.getpid()}"
    written.write_text("What is read does not matter. " * 8000, encoding="utf-8")
    written.replace(folder / "text")
    run_options = ["--max-steps", str(STEPS), "--checkpoint-every", "0", "--validation-batches", "0"]
    files = ["--text", str(folder / "text"), "--job-dir", str(folder), "--metrics", str(folder / "metrics")]
    given = parse_options(
        [*options, *run_options, *files, "--loggers", "none", "--batch-size", str(batch), "--device", "cpu"]
    )
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run(given, [_pause()])
    torch.distributed.destroy_process_group()
    return max(_totals(profiler))


def _pause() -> Any:
    """Between two steps gloo's thread lets go of the gradients that it has exchanged.

    On a busy host it may keep the first buckets of DDP over the whole second step, which is not the trainer's doing.
    """
    from lightning.pytorch import Callback

    class Pause(Callback):
        def on_train_batch_start(self, *_given: object) -> None:
            time.sleep(PAUSE_S)

    return Pause()


def _totals(profiler: Any) -> list[int]:
    """What was handed out after each allocation."""
    from torch._C._profiler import _EventType

    found, waiting = [], list(profiler.profiler.kineto_results.experimental_event_tree())
    while waiting:
        event = waiting.pop()
        waiting += event.children
        if event.typed[0] == _EventType.Allocation:
            found.append(event.typed[1].total_allocated)
    return found


def _other(options: list[str], batch: int, kitsune: Path) -> int | None:
    """torch-kitsune's word for the same, through its door for Hugging Face models; of others it is not asked."""
    if "--model" not in options or {"--precision", "--checkpointing", "--sharding"} & {*options}:
        return None
    sys.path.insert(0, str(kitsune))
    from kitsune.predict import predict_hf_memory

    directory, length = (options[options.index(name) + 1] for name in ("--model", "--sequence-length"))
    found = predict_hf_memory(directory, batch_size=batch, seq_len=int(length), optimizer="adamw", training=True)
    return int(found.total_bytes)


if __name__ == "__main__":
    raise SystemExit(main())
