# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is trained on two ranks is what one rank trains: DDP, FSDP2, a global batch, compressed gradients."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.distributed.fsdp._fully_shard import _fsdp_param_group

from forked_ranks import ends_of, said_in, start_ranks
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.token_windows import StreamSampler, TrainingWindows
from gaudi3_scale.data.training_data import open_data
from gaudi3_scale.models.language_model import LanguageModel, ModelShape, next_token_loss
from job_runs import SMALL_MODEL, losses, read_lines

STEPS = 14
PLAN = ["--max-steps", STEPS, "--learning-rate", 0.01, "--schedule", "constant", "--global-batch-size", 16]
# Every gradient is longer than this: a wrong length would show in the next loss.
CLIP = 0.1


@pytest.fixture(scope="module")
def on_two_ranks(tmp_path_factory):
    """``on_two_ranks(*options)`` is the losses of the plan's steps."""
    text = Path(__file__).parents[3] / "LICENSE"

    def run(*options: object) -> dict[int, float]:
        folder = tmp_path_factory.mktemp("job")
        words = ["--text", text, "--device", "cpu", *SMALL_MODEL, "--batch-size", 4, *PLAN, "--metrics-every", 1]
        ends = ends_of(start_ranks([folder], [*words, "--clip", CLIP, *options], 2))
        assert ends == [0, 0], said_in(folder)
        return losses(read_lines(folder / "metrics.jsonl"))

    return run


@pytest.fixture(scope="module")
def ddp(on_two_ranks):
    return on_two_ranks()


def by_hand(text: Path, gradient=lambda gradient: gradient) -> dict[int, float]:
    """The plan without Lightning, ranks or passes: 16 windows a step in one go."""
    torch.manual_seed(0)
    model = LanguageModel(ModelShape(1, 32, 2, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.95))
    windows = TrainingWindows(open_data([text], None, 32).windows)
    found = {}
    for step, numbers in zip(range(1, STEPS + 1), StreamSampler(len(windows), 16, seed=0)):
        loss = next_token_loss(model, windows[numbers])
        loss.backward()
        for parameter in model.parameters():
            parameter.grad = gradient(parameter.grad)
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        found[step] = loss.item()
    return found


def test_the_global_batch_is_the_same_for_two_ranks_for_one_and_by_hand(ddp, train_here, text):
    one = losses(train_here(*PLAN, "--clip", CLIP))
    assert ddp == pytest.approx(by_hand(text), rel=1e-5)
    assert one == pytest.approx(by_hand(text), rel=1e-5)


def test_shared_out_weights_learn_the_same(on_two_ranks, ddp):
    assert on_two_ranks("--sharding", "fsdp2") == pytest.approx(ddp, rel=1e-5)


@pytest.mark.in_turn
def test_a_model_with_a_shared_weight_is_shared_out_from_the_first_rank(on_two_ranks, tmp_path):
    """Only that rank ever has its weights whole, and draws or reads them."""
    transformers = pytest.importorskip("transformers")
    sizes = {"n_layer": 2, "n_embd": 32, "n_head": 2, "n_positions": 32, "vocab_size": 256}
    transformers.GPT2Config(**sizes, tie_word_embeddings=True).save_pretrained(tmp_path)
    model = ["--model", tmp_path, "--from-scratch"]
    assert on_two_ranks(*model, "--sharding", "fsdp2") == pytest.approx(on_two_ranks(*model), rel=1e-5)


@pytest.mark.parametrize(("name", "dtype"), [("fp16", torch.float16), ("bf16", torch.bfloat16)])
def test_compressed_gradients_are_rounded(train_here, text, name, dtype):
    one_pass = ["--batch-size", 16, "--gradient-compression", name, "--clip", CLIP]
    found = losses(train_here(*PLAN, *one_pass))

    def distance(expected: dict[int, float]) -> float:
        return max(abs(found[step] - expected[step]) for step in expected)

    rounded = distance(by_hand(text, lambda gradient: gradient.to(dtype).float()))
    assert rounded < 0.1 * distance(by_hand(text))


def test_powersgd_begins_after_plain_steps_and_still_learns(on_two_ranks, ddp):
    found = on_two_ranks("--gradient-compression", "powersgd")
    plain = range(1, 12)
    assert [found[step] for step in plain] == pytest.approx([ddp[step] for step in plain], rel=1e-5)
    assert abs(found[12] - ddp[12]) > 1e-5 * ddp[12], "the eleventh step sends the first small matrices"
    assert found[STEPS] < found[1] - 0.5


@pytest.mark.parametrize("sharding", ["ddp", "fsdp2"])
def test_a_job_goes_on_under_either_sharding(train_here, sharding):
    plan = [*PLAN, "--sharding", sharding]
    whole = losses(train_here(*plan, job="whole"))
    first = losses(train_here(*plan, "--stop-after-steps", 5, job="parts"))
    assert {**first, **losses(train_here(*plan, job="parts"))} == pytest.approx(whole, rel=1e-6)


def test_fsdp2_exchanges_gradients_once_a_step(train_here, monkeypatch):
    """Lightning's own strategy exchanges them after each pass."""
    exchanged = []
    reduce = _fsdp_param_group.foreach_reduce

    def count(*arguments, **options):
        exchanged.append(1)
        return reduce(*arguments, **options)

    monkeypatch.setattr(_fsdp_param_group, "foreach_reduce", count)
    counts = []
    for passes in (1, 3):
        exchanged.clear()
        train_here("--max-steps", 2, "--sharding", "fsdp2", "--accumulate", passes, job=f"passes-{passes}")
        counts.append(len(exchanged))
    assert counts[0] == counts[1] > 0


def test_fsdp2_takes_no_compression(train_here):
    with pytest.raises(GaudiError, match=r"^--gradient-compression bf16: FSDP2 exchanges gradients by itself; "):
        train_here("--max-steps", 1, "--sharding", "fsdp2", "--gradient-compression", "bf16")
