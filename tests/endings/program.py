# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training program that ends badly, in the way that its argument names; ``record.py`` has torchrun run it.

Each function here ends one rank, by the libraries that a training uses; what the others do meanwhile is in ``wait``.
"""

# ruff: noqa: B904, F821, N818, PTH103, PTH108, PTH123
from __future__ import annotations

import asyncio
import atexit
import ctypes
import datetime
import json
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings

RANK = int(os.environ.get("RANK", "0"))
MANY = 5_000_000


def join(seconds=120.0):
    """All ranks meet, as those of a training do."""
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=seconds))
    dist.barrier()
    return dist


def wait(joined=None):
    """A rank that does its work: it waits for the others in a collective, or reads its data."""
    if joined is None:
        time.sleep(120)
    joined.barrier()


def culprit(rank=1):
    return rank == RANK


def nan():
    raise ValueError("loss is nan at step 3")


def raised():
    joined = join()
    if not culprit():
        wait(joined)
    nan()


def raised_before_they_met():
    if not culprit():
        wait()
    {"steps": 3}["lr"]


def left_by_exit():
    """Three ranks; the last one has no data and leaves."""
    joined = join()
    if culprit(2):
        sys.exit(0)
    time.sleep(1)
    wait(joined)


def left_by_os_exit():
    joined = join()
    if culprit():
        print("nothing to do", flush=True)
        os._exit(0)
    time.sleep(1)
    wait(joined)


def left_by_return():
    """Rank 0, which has the others' first connection."""
    joined = join()
    if culprit(0):
        joined.destroy_process_group()
        return
    time.sleep(1)
    wait(joined)


def left_while_others_end_well():
    """One leaves, one loses it, and one ends well when its agent says so."""
    joined = join()
    if culprit(2):
        sys.exit(0)
    if culprit(1):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        time.sleep(120)
    time.sleep(2)
    joined.recv(__import__("torch").zeros(1), src=2)


def finished_before_the_cause():
    """Rank 0 writes the result when the others are done, and fails: nobody left too early."""
    joined = join()
    joined.destroy_process_group()
    if RANK:
        return
    time.sleep(2)
    raise ValueError("no metric named 'f1'")


def peers_end_well():
    join()
    if not culprit():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        time.sleep(120)
    nan()


def own_retries():
    """A rank's own retries of a connection stand above its exception."""
    joined = join()
    if not culprit():
        wait(joined)
    for attempt in range(20):
        logging.warning("retry %d: ConnectionResetError: [Errno 104] Connection reset by peer", attempt)
    raise ValueError("shard 17 has 0 records")


def own_retries_in_message():
    joined = join()
    if not culprit():
        wait(joined)
    try:
        raise ConnectionResetError(104, "Connection reset by peer")
    except OSError as error:
        raise ValueError("shard 17 cannot be read") from error


def own_server():
    """A real server that resets the connection."""
    joined = join()
    if not culprit():
        wait(joined)
    server = socket.create_server(("127.0.0.1", 0))

    def reset():
        peer, _address = server.accept()
        peer.recv(1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    threading.Thread(target=reset, daemon=True).start()
    import requests

    requests.get(f"http://127.0.0.1:{server.getsockname()[1]}/x", timeout=5)


def own_refused():
    import urllib.request

    joined = join()
    if not culprit():
        wait(joined)
    urllib.request.urlopen("http://127.0.0.1:9/data")


def chained():
    joined = join()
    if not culprit():
        wait(joined)
    try:
        raise ValueError("record 12 has no field 'text'")
    except ValueError as error:
        raise RuntimeError("step 7 failed") from error


def while_handling():
    joined = join()
    if not culprit():
        wait(joined)
    try:
        {"a": 1}["tokenizer"]
    except KeyError:
        raise FileNotFoundError("no tokenizer in /data/model")


def wrapped_echo():
    """The one that is killed is the cause, whatever the others make of its loss."""
    joined = join()
    if culprit():
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        wait(joined)
    except RuntimeError as error:
        raise ValueError("the step failed") from error


def cleanup_echo():
    """An exception of its own, whose handler then loses a peer."""
    joined = join()
    if culprit(0):
        time.sleep(3)
        os._exit(0)
    try:
        raise ValueError("loss is nan at step 3")
    finally:
        wait(joined)


def group():
    joined = join()
    if not culprit():
        wait(joined)
    raise ExceptionGroup("2 shards are broken", [ValueError("shard 3"), KeyError("shard 9")])


def group_in_chain():
    joined = join()
    if not culprit():
        wait(joined)
    try:
        raise ExceptionGroup("inner", [ExceptionGroup("deeper", [OSError(5, "Input/output error")])])
    except ExceptionGroup as error:
        raise RuntimeError("the data cannot be read") from error


def task_group():
    if not culprit():
        wait()

    async def fetch():
        raise TimeoutError("no answer from the bucket")

    async def main():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fetch())

    asyncio.run(main())


def notes():
    if not culprit():
        wait()
    error = ValueError("bad shape (3, 4)")
    error.add_note("in file /data/a.bin")
    error.add_note("at record 12")
    raise error


def syntax_error():
    if not culprit():
        wait()
    with open("/tmp/gaudi3_scale_broken.py", "w") as file:
        file.write("def f(:\n    pass\n")
    import runpy

    runpy.run_path("/tmp/gaudi3_scale_broken.py")


def _other_state():
    import torch

    wide = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _layer in range(40)))
    narrow = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _layer in range(30)))
    wide.load_state_dict(narrow.state_dict())


def state_dict():
    if not culprit():
        wait()
    _other_state()


def state_dict_after_they_met():
    joined = join()
    if not culprit():
        wait(joined)
    _other_state()


def _wandb():
    os.environ.update(WANDB_MODE="offline", WANDB_DIR="/tmp/gaudi3_scale_wandb")
    os.makedirs("/tmp/gaudi3_scale_wandb", exist_ok=True)
    import wandb

    run = wandb.init(project="demo")
    for step in range(5):
        run.log({"loss": 1.0 / (step + 1), "lr": 0.1})


def wandb_farewell():
    if not culprit():
        wait()
    _wandb()
    nan()


def wandb_farewell_after_they_met():
    joined = join()
    if not culprit():
        wait(joined)
    _wandb()
    nan()


def resource_tracker():
    from multiprocessing import shared_memory

    if not culprit():
        wait()
    globals()["kept"] = shared_memory.SharedMemory(create=True, size=100)
    atexit.register(lambda: os.kill(os.getpid(), 0))
    nan()


def pydantic_settings():
    import pydantic

    class Settings(pydantic.BaseModel):
        lr: float
        steps: int

    if not culprit():
        wait()
    Settings(lr="fast", steps="many")


def farewell():
    if not culprit():
        wait()
    atexit.register(lambda: [print(f"closing writer {number}", file=sys.stderr) for number in range(40)])
    nan()


def fails_at_exit():
    if not culprit():
        wait()
    atexit.register(lambda: 1 / 0)
    nan()


class _Unwilling:
    def __del__(self):
        raise OSError("the writer is closed already")


def fails_in_del():
    joined = join()
    if not culprit():
        wait(joined)
    globals()["unwilling"] = _Unwilling()
    nan()


def thread_failed_before():
    if not culprit():
        wait()
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    nan()


def thread_alone():
    """The thread's exception is all that is known of why the program stops."""
    if not culprit():
        wait()
    thread = threading.Thread(target=lambda: {}["batch"])
    thread.start()
    thread.join()
    sys.exit(1)


def child_failed():
    if not culprit():
        wait()
    import multiprocessing

    child = multiprocessing.get_context("fork").Process(target=nan)
    child.start()
    child.join()
    raise RuntimeError(f"the loader ended with {child.exitcode}")


def big_message():
    joined = join()
    if not culprit():
        wait(joined)
    raise ValueError("k" * MANY)


def big_message_and_farewell():
    if not culprit():
        wait()
    atexit.register(lambda: [print(f"closing writer {number}", file=sys.stderr) for number in range(40)])
    raise ValueError("bad batch " + "k" * MANY)


def big_message_of_many_lines():
    if not culprit():
        wait()
    raise ValueError(
        "bad batch:\n" + json.dumps([{"id": number, "text": "k" * 60} for number in range(2000)], indent=1)
    )


def chained_big_message():
    joined = join()
    if not culprit():
        wait(joined)
    try:
        raise ValueError("bad batch " + "k" * MANY)
    except ValueError as error:
        raise RuntimeError("step 7 failed") from error


def _native(source):
    """A C++ function of this text, built by the compiler."""
    place = f"/tmp/gaudi3_scale_native_{os.getpid()}"
    with open(f"{place}.cc", "w") as file:
        file.write(source)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", f"{place}.so", f"{place}.cc"], check=True)
    library = ctypes.CDLL(f"{place}.so")
    for end in ("cc", "so"):
        os.unlink(f"{place}.{end}")
    return library


_THROWS = """
#include <stdexcept>
#include <thread>
extern "C" void work() { std::thread([] { throw std::runtime_error("%s"); }).join(); }
"""


def terminate():
    if not culprit():
        wait()
    _native(_THROWS % "device 3 does not answer").work()


def terminate_with_faulthandler():
    import faulthandler

    joined = join()
    if not culprit():
        wait(joined)
    faulthandler.enable()
    _native(_THROWS % "device 3 does not answer").work()


def terminate_as_echo():
    """A backend's thread that loses the peer which was killed."""
    joined = join()
    if culprit():
        time.sleep(3)
        os.kill(os.getpid(), signal.SIGKILL)
    library = _native(_THROWS % "[Rank 0]: remote process exited or there was a network error")
    try:
        wait(joined)
    except RuntimeError:
        library.work()


def bad_free():
    if not culprit():
        wait()
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free(ctypes.c_void_p(libc.malloc(100) + 8))


def assertion():
    if not culprit():
        wait()
    ctypes.CDLL(None).__assert_fail(b"device < count", b"driver.c", 12, b"open_device")


def segmentation_fault():
    if not culprit():
        wait()
    ctypes.string_at(0)


def segmentation_fault_with_faulthandler():
    import faulthandler

    joined = join()
    if not culprit():
        wait(joined)
    faulthandler.enable()
    ctypes.string_at(0)


def killed():
    joined = join()
    if not culprit():
        wait(joined)
    logging.warning("retry: Connection reset by peer")
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted():
    if not culprit():
        wait()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


def no_memory_for_a_tensor():
    import torch

    joined = join()
    if not culprit():
        wait(joined)
    torch.empty(10**15)


def no_memory():
    if not culprit():
        wait()
    bytearray(10**18)


def card_without_memory():
    """As the vendor's bridge says it (optimum-habana, pull request 2214)."""
    joined = join()
    if not culprit():
        wait(joined)
    raise RuntimeError("[Rank:1] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::2123366400 (2025)MB")


def full_disk():
    if not culprit():
        wait()
    with open("/dev/full", "w") as file:
        file.write("x")


def full_disk_of_a_checkpoint():
    import torch

    joined = join()
    if not culprit():
        wait(joined)
    torch.save({"w": torch.zeros(1000)}, "/dev/full")


def nothing_can_be_written():
    """As where the logs' own disk is full."""
    if not culprit():
        wait()
    os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
    nan()


def _dataset(end):
    import torch

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, number):
            end()

    return torch.utils.data.DataLoader(Data(), num_workers=1)


def data_loader():
    joined = join()
    if not culprit():
        wait(joined)
    next(iter(_dataset(nan)))


def data_loader_killed():
    joined = join()
    if not culprit():
        wait(joined)
    next(iter(_dataset(lambda: os.kill(os.getpid(), signal.SIGKILL))))


def spawned():
    import torch.multiprocessing

    if not culprit():
        wait()
    torch.multiprocessing.spawn(_in_child, nprocs=1)


def _in_child(_number):
    nan()


def pool():
    from concurrent.futures import ProcessPoolExecutor

    if not culprit():
        wait()
    with ProcessPoolExecutor(1) as executor:
        executor.submit(nan).result()


def called_process():
    if not culprit():
        wait()
    subprocess.run([sys.executable, "-c", "import json; json.loads('{')"], check=True)


def transformers_model():
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers

    if not culprit():
        wait()
    transformers.AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")


def transformers_trainer():
    import torch
    import transformers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x, labels=None):
            if culprit():
                raise IndexError("index 50257 is out of range in self")
            return {"loss": self.layer(x).sum()}

    data = [{"x": torch.ones(1), "labels": torch.ones(1)}] * 64
    arguments = transformers.TrainingArguments("/tmp/gaudi3_scale_trainer", use_cpu=True, max_steps=4, report_to=[])
    transformers.Trainer(Model(), arguments, train_dataset=data).train()


def lightning_module():
    import lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            if culprit() and number == 2:
                raise AssertionError("Every training step must have a target")
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    warnings.simplefilter("ignore")
    loader = torch.utils.data.DataLoader(torch.ones(64, 1))
    kinds = {"accelerator": "cpu", "devices": 2, "strategy": "ddp", "logger": False, "enable_checkpointing": False}
    lightning.Trainer(max_epochs=1, **kinds).fit(Module(), loader)


def accelerated():
    import accelerate
    import torch

    accelerator = accelerate.Accelerator(cpu=True)
    model = accelerator.prepare(torch.nn.Linear(2, 2))
    if culprit():
        model(torch.ones(3, 3))
    accelerator.wait_for_everyone()


def usage():
    import argparse

    if not culprit():
        wait()
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    parser.parse_args(["--stepps", "3"])


def exit_with_text():
    if not culprit():
        wait()
    sys.exit("no text in /data/text")


def caught_long_before():
    """An error that was caught, a long training, and another end."""
    if not culprit():
        wait()
    try:
        nan()
    except ValueError:
        logging.exception("the first batch is left out")
    for step in range(2000):
        logging.warning("step %d", step)
    print("no more data", file=sys.stderr)
    os._exit(3)


def recorded():
    from torch.distributed.elastic.multiprocessing.errors import record

    joined = join()
    if not culprit():
        wait(joined)
    record(nan)()


def recorded_chain():
    from torch.distributed.elastic.multiprocessing.errors import record

    if not culprit():
        wait()

    @record
    def main():
        try:
            raise ValueError("record 12 has no field 'text'")
        except ValueError as error:
            raise RuntimeError("step 7 failed\nin shard 4") from error

    main()


def boxed():
    import rich.traceback

    rich.traceback.install()
    if not culprit():
        wait()
    nan()


def boxed_after_they_met():
    import rich.traceback

    rich.traceback.install()
    joined = join()
    if not culprit():
        wait(joined)
    nan()


def progress_bar():
    import tqdm

    joined = join()
    if not culprit():
        wait(joined)
    for step in tqdm.tqdm(range(100)):
        if step == 7:
            nan()
        time.sleep(0.02)


def patience():
    """The others wait no longer for one that stands still."""
    joined = join(5)
    if culprit():
        time.sleep(120)
    wait(joined)


def recursion():
    if not culprit():
        wait()

    def again(depth):
        return again(depth + 1)

    again(0)


def bare_assertion():
    joined = join()
    if not culprit():
        wait(joined)
    loss = float("nan")
    assert loss < 10


def lower_case_type():
    if not culprit():
        wait()
    struct.unpack("<I", b"ab")


class OutOfData(Exception):
    pass


def own_type():
    joined = join()
    if not culprit():
        wait(joined)
    raise OutOfData


def shell_status():
    if not culprit():
        wait()
    sys.exit(subprocess.run(["sh", "-c", "kill -9 $$; exit 0"], check=False).returncode % 256 - 247 + 137)


def missing_module():
    joined = None
    if not culprit():
        wait(joined)
    import flash_attn_hpu  # noqa: F401


def fatal_error_of_the_interpreter():
    if not culprit():
        wait()
    os.execve(sys.executable, [sys.executable, "-c", "pass"], {"PYTHONHOME": "/nowhere"})


# Recorded with W&B 0.17, which says farewell on the same stream as the interpreter; and with a package that it cannot
# work with, so that it fails itself.
wandb_older_farewell = wandb_cannot_begin = wandb_farewell
wandb_older_farewell_after_they_met = wandb_cannot_begin_after_they_met = wandb_farewell_after_they_met


if __name__ == "__main__":
    globals()[sys.argv[1]]()
