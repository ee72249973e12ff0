# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own loop under the profiler: what of it is found, and that nothing is left hanging."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from forked_ranks import ends_of, said_in, start_script
from gaudi3_scale import profiler as package
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._profile.directory import read_records, read_traces
from gaudi3_scale.core._profile.trace_summary import summarize
from gaudi3_scale.core._profile.verdict import judge
from gaudi3_scale.profiler import GaudiProfiler

CPU = torch.device("cpu")


class Slow(torch.utils.data.Dataset):
    def __getitem__(self, number: int) -> torch.Tensor:
        time.sleep(0.004)
        return torch.ones(32)

    def __len__(self) -> int:
        return 10_000


def loop(profiler: GaudiProfiler, steps: int = 60, data: object = None, after=lambda: None) -> None:
    model = torch.nn.Linear(32, 32)
    optimizer = torch.optim.SGD(model.parameters())
    with profiler:
        for number, batch in enumerate(DataLoader(data or torch.ones(1000, 32), batch_size=2)):
            model(batch).sum().backward()
            optimizer.step()
            after()
            profiler.step()
            if number + 1 == steps:
                break


def hung() -> list[object]:
    """What the profiler replaces while its window is open."""
    places = (_BaseDataLoaderIter.__next__, torch.autograd.backward, torch.distributed.Work.wait)
    return [*places, len(_global_optimizer_pre_hooks), len(_global_optimizer_post_hooks)]


def test_the_example_of_guides(tmp_path, capsys):
    profiler = GaudiProfiler(
        activities=["hpu", "cpu", "memory"], schedule_wait=1, schedule_warmup=1, schedule_active=3, device=CPU
    )
    loop(profiler, 6)
    profiler.export_chrome_trace(tmp_path / "gaudi_trace.json")
    profiler.print_summary()
    assert summarize(str(tmp_path / "gaudi_trace.json")).steps == 3
    said = capsys.readouterr().out
    assert "rank 0 on" in said
    assert "Not enough seen: 0 steps without a trace" in said


def test_a_loader_that_sleeps_is_named():
    profiler = GaudiProfiler(schedule_clocked=10, device=CPU)
    loop(profiler, 15, Slow())
    causes = profiler.verdict().causes
    assert [cause.word for cause in causes] == ["data"]
    assert causes[0].share > 0.5


def test_python_that_sleeps_between_operations_is_named_by_the_trace():
    profiler = GaudiProfiler(schedule_clocked=10, device=CPU)
    loop(profiler, 15, after=lambda: time.sleep(0.02))
    assert [cause.word for cause in profiler.verdict().causes] == ["host"]


def test_nothing_hangs_outside_of_the_window():
    seen = []
    before = hung()
    profiler = GaudiProfiler(schedule_wait=2, schedule_clocked=2, device=CPU)
    loop(profiler, 12, after=lambda: seen.append(hung() == before))
    assert seen == [True, True, *[False] * 6, True, True, True, True]
    assert hung() == before


def test_nothing_is_left_of_a_loop_that_failed(tmp_path):
    before = hung()

    def fail() -> None:
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        loop(GaudiProfiler(schedule_wait=0, schedule_clocked=9, directory=tmp_path, device=CPU), after=fail)
    assert hung() == before
    assert read_records(str(tmp_path))[0].steps == ()


def test_a_compilation_in_the_window_is_counted():
    def slow_backend(graph, inputs):
        time.sleep(0.02)
        return graph.forward

    compiled = torch.compile(lambda tensor: tensor * 2, backend=slow_backend, dynamic=False)
    compiled(torch.ones(1))
    sizes = iter(range(2, 100))
    profiler = GaudiProfiler((), schedule_clocked=6, device=CPU)
    loop(profiler, 7, after=lambda: compiled(torch.ones(next(sizes))))
    torch._dynamo.reset()
    assert "compile" in {cause.word for cause in profiler.verdict().causes}


SCRIPT = """
import os, sys, time, torch
from torch.nn.parallel import DistributedDataParallel
from gaudi3_scale.profiler import GaudiProfiler

class Sleeps(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor):
        return tensor * 1

    @staticmethod
    def backward(context, gradient):
        time.sleep(0.03 if os.environ["RANK"] == "1" else 0.0)
        return gradient

torch.distributed.init_process_group("gloo")
inner = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Linear(256, 64))
model = DistributedDataParallel(inner)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
cpu = torch.device("cpu")
profiler = GaudiProfiler(schedule_wait=3, schedule_clocked=12, directory=sys.argv[1], links=True, device=cpu)
with profiler:
    while not profiler.done:
        Sleeps.apply(model(torch.ones(8, 64))).sum().backward()
        optimizer.step()
        profiler.step()
torch.distributed.destroy_process_group()
"""


def test_a_rank_that_is_slow_in_backward_is_named(tmp_path):
    (tmp_path / "slow.py").write_text(SCRIPT)
    processes = start_script(tmp_path / "ranks", tmp_path / "slow.py", tmp_path / "profile")
    assert ends_of(processes) == [0, 0], said_in(tmp_path)
    records = read_records(str(tmp_path / "profile"))
    traces, wrong = read_traces(str(tmp_path / "profile"), records)
    verdict = judge(records, traces)
    assert (sorted(traces), wrong, verdict.steps) == ([0, 1], [], 11)
    assert [(cause.word, cause.ranks, cause.part) for cause in verdict.causes] == [("slow rank", (1,), "backward")]
    assert verdict.causes[0].share == pytest.approx(0.03 / verdict.seconds, abs=0.1)
    assert [link.peer for record in records for link in record.links] == [1, 0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GaudiProfiler(["tpu"], device=CPU), "activities: 'tpu' is none; choose from cpu, hpu, cuda, memory."),
        (lambda: GaudiProfiler(device=CPU).step(), "put the loop into its with block"),
        (lambda: GaudiProfiler(device=CPU).print_summary(), "put the loop into its with block"),
    ],
)
def test_bad_input_is_one_sentence(make, said):
    with pytest.raises(GaudiError, match=said):
        make()


def test_a_trace_that_was_never_begun_or_has_no_place(tmp_path):
    profiler = GaudiProfiler(device=CPU)
    loop(profiler, 1)
    with pytest.raises(GaudiError, match="GaudiProfiler has traced no step"):
        profiler.export_chrome_trace(tmp_path / "t.json")
    traced = GaudiProfiler(device=CPU)
    loop(traced, 6)
    (tmp_path / "file").write_text("")
    with pytest.raises(GaudiError, match=r"file/t.json: .*; name a file that this user can write"):
        traced.export_chrome_trace(tmp_path / "file" / "t.json")


def test_a_card_that_is_switched_off_in_traces_is_refused(monkeypatch):
    monkeypatch.setenv("HABANA_PROFILE", "0")
    with pytest.raises(GaudiError, match="HABANA_PROFILE=0 leaves the cards out of every trace; unset it"):
        GaudiProfiler(["hpu", "cpu"], device=CPU)
    GaudiProfiler(["cpu"], device=CPU)


def test_an_earlier_profile_of_more_ranks_is_not_mixed_in(tmp_path):
    for name in ("profile-rank-7.json", "trace-rank-7.json", "kept.json"):
        (tmp_path / name).write_text("{}")
    loop(GaudiProfiler((), schedule_clocked=2, directory=tmp_path, device=CPU), 8)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.json", "profile-rank-0.json"]


def test_a_full_disk_costs_the_profile_and_not_the_training(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    loop(GaudiProfiler(device=CPU, directory=tmp_path / "file"), 6)
    assert "the profile cannot be written" in capsys.readouterr().err


def test_a_name_of_guides_says_what_does_it():
    with pytest.raises(ImportError, match=r"gaudi3_scale has no BatchOptimizer: .*AdaptiveBatchFinder"):
        exec("from gaudi3_scale.profiler import BatchOptimizer")
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        package.Nonsense  # noqa: B018


def test_the_command_reads_what_was_written(tmp_path, capsys):
    from gaudi3_scale.__main__ import parse_command

    loop(GaudiProfiler(schedule_clocked=10, directory=tmp_path / "profile", device=CPU), 15, Slow())
    for words in ([tmp_path], [tmp_path, "--json"], ["--trace", tmp_path / "profile" / "trace-rank-0.json"]):
        options = parse_command(["profile", *map(str, words)])
        assert options.run(options) == 0
    lines, data, trace = capsys.readouterr().out.split("\n{")[0], None, None
    assert "data-bound: ranks wait for batches" in lines
    options = parse_command(["profile", "--json", str(tmp_path)])
    options.run(options)
    data = json.loads(capsys.readouterr().out)
    assert [cause["word"] for cause in data["causes"]] == ["data"]
    assert trace is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Give either a directory with profiles, or --trace with a trace's file."),
        ([".", "--trace", "t"], "Give either a directory with profiles, or --trace"),
        (["nowhere"], "nowhere cannot be read: No such file or directory"),
        (["."], "has no profile-rank-N.json; start the training with --profile"),
        (["--trace", "cut.json"], "cut.json is cut off after 1 events"),
    ],
)
def test_the_commands_bad_input_is_one_sentence(words, said, tmp_path, monkeypatch):
    from gaudi3_scale.__main__ import parse_command

    monkeypatch.chdir(tmp_path)
    Path("cut.json").write_text('{"traceEvents": [{}, {"ph": "X"')
    options = parse_command(["profile", *words])
    with pytest.raises(GaudiError) as raised:
        options.run(options)
    assert said in str(raised.value)
