# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long an image takes after a change of its code: by `build_image.yml` against a file that copies everything first.

    .venv/bin/python -m benchmarks.image_rebuild

Needs root, and podman or buildah. Both build on the same machine from the same base, requirements and code, by turns,
with the layers of the turn before; the naive file is `COPY . /workspace`, then `pip install`. The base is this
machine's own Python (python3-pip) with a stand-in for PyTorch, or ``--base``. Prints the seconds of the builds, our
whole run with test, bill of materials and signature, and how many instructions and layers were there already; returns 1
where it misses the goal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from plugins.module_utils._image import build_log
from plugins.module_utils._image.engine import Engine, find_engine
from plugins.module_utils._image.options import ImageOptions
from plugins.module_utils._image.state import converge
from plugins.module_utils._node.commands import CommandResult, run_process
from sandbox.podman import limits
from tests.base_image_on_node import make_root
from tests.image_base import RELEASE, vendors_packages, write_files

GOAL = 20
NAME = "bench-image-rebuild"
NAIVE = f"localhost/gaudi3_scale/{NAME}-naive:latest"
REQUIREMENTS = ("transformers==4.55.4", "datasets==4.0.0", "tensorboard==2.20.0")
PLAIN_PIP = "python3 -m pip install --break-system-packages"


@dataclass
class TimedRun:
    """Runs programs, and keeps the seconds of the last build among them."""

    build_s: float = 0.0
    log: str = field(default="", repr=False)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        started = time.perf_counter()
        done = run_process(argv, timeout=timeout, env=env)
        if argv[1:2] == ["build"]:
            self.build_s = time.perf_counter() - started
        return done


@dataclass(frozen=True)
class Turn:
    """One build: its seconds, those of the whole run, instructions and those from the cache, layers and new ones."""

    build_s: float
    whole_s: float
    instructions: int
    cached: int
    layers: int
    new_layers: int


def main() -> int:
    """Build both once, then by turns after a change of the code each; print and judge."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--turns", type=int, default=3, metavar="N", help="changes of the code; the median counts")
    options.add_argument("--base", help="image of this host with python3, pip and the packages of a release")
    options.add_argument("--requirements", type=Path, help=f"requirements file (default: {', '.join(REQUIREMENTS)})")
    options.add_argument("--index-url", default=own_index(), help="package index (default: that of this machine's pip)")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        keep_limits(Path(scratch))
        engine = find_engine(run_process)
        try:
            archive = base_archive(engine, arguments.base, Path(scratch))
            ours, naive = measure(arguments, engine, archive, Path(scratch))
        finally:
            for name in (NAIVE, f"localhost/{NAME}-base:1"):
                engine.remove(name)
    return show(ours, naive, arguments.json)


def keep_limits(directory: Path) -> None:
    """Have podman ask for no limit that a root which is not this machine's may not raise (sandbox/podman.py)."""
    asked = json.dumps([option.removeprefix("--ulimit=") for option in limits()])
    settings = directory / "containers.conf"
    settings.write_text(f"[containers]\ndefault_ulimits = {asked}\n")
    os.environ["CONTAINERS_CONF"] = str(settings)


def own_index() -> str:
    """The index that pip on this machine asks."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def base_archive(engine: Engine, base: str | None, scratch: Path) -> Path:
    """The base image as an archive, as an air-gapped site has it."""
    archive = scratch / "base.tar"
    name = base or f"localhost/{NAME}-base:1"
    if base is None:
        if shutil.which("pip3") is None and not Path("/usr/lib/python3/dist-packages/pip").is_dir():
            raise SystemExit("This machine has no pip of its system; install the package python3-pip, or give --base.")
        root, files = scratch / "root", scratch / "files"
        root.mkdir()
        write_files(files, vendors_packages())
        make_root(root, files)
        file = scratch / "Containerfile"
        file.write_text("FROM scratch\nCOPY root/ /\n")
        done = engine.build(["--tag", name, "--file", str(file), str(scratch)], 1800)
        if done.rc:
            raise SystemExit(done.stderr)
        shutil.rmtree(root)
    subprocess.run([engine.program, "push", "--quiet", name, f"oci-archive:{archive}"], check=True)
    return archive


def measure(
    arguments: argparse.Namespace, engine: Engine, archive: Path, scratch: Path
) -> tuple[list[Turn], list[Turn]]:
    """The turns of both after the first build of each."""
    code = scratch / "code"
    code.mkdir()
    text = arguments.requirements.read_text() if arguments.requirements else "\n".join(REQUIREMENTS) + "\n"
    (code / "requirements.txt").write_text(text)
    host = urllib.parse.urlsplit(arguments.index_url).hostname or ""
    options = ImageOptions(
        name=NAME,
        code=str(code),
        release=RELEASE,
        base_image=f"oci-archive:{archive}",
        index_url=arguments.index_url,
        plain_http_hosts=[host],
        device="cpu",
        signing_key=str(scratch / "key.asc"),
        directory=str(scratch / "images"),
    )
    layers: dict[str, list[str]] = {"ours": [], "naive": []}
    ours, naive, made = [], [], []
    base = ""
    for turn in range(arguments.turns + 1):
        (code / "train.py").write_text(f"print('step', {turn})\n" * 100)
        mine, name = our_turn(engine, options, layers["ours"])
        made.append(name)
        base = base or from_of(scratch / f"images/{NAME}.work/Containerfile")
        theirs = naive_turn(engine, base, code, arguments.index_url, layers["naive"], scratch)
        if turn:
            ours.append(mine)
            naive.append(theirs)
        print(f"turn {turn}: ours {mine.build_s:.2f} s ({mine.whole_s:.2f} s with all), naive {theirs.build_s:.2f} s")
    for name in made:
        engine.remove(name)
    engine.remove(base)
    return ours, naive


def our_turn(engine: Engine, options: ImageOptions, layers: list[str]) -> tuple[Turn, str]:
    """One run as the module does it; ``layers`` are those of the turn before, and this one's afterwards."""
    timed, started = TimedRun(), time.perf_counter()
    result = converge(options, timed, False)
    whole = time.perf_counter() - started
    counts = build_log.Steps(int(str(result["instructions"])), int(str(result["cached_instructions"])))
    name = str(result["image"])
    return turn_of(engine, name, timed.build_s, whole, counts, layers), name


def naive_turn(engine: Engine, base: str, code: Path, index: str, layers: list[str], scratch: Path) -> Turn:
    """One build by the file that everybody writes first."""
    file, log = scratch / "Containerfile.naive", scratch / "naive.log"
    log.unlink(missing_ok=True)
    host = urllib.parse.urlsplit(index).hostname
    index_words = f" --index-url {index} --trusted-host {host}" if index else ""
    file.write_text(
        f"FROM {base}\nUSER 0:0\nCOPY . /workspace\n"
        f"RUN {PLAIN_PIP}{index_words} --constraint /dev/null -r /workspace/requirements.txt\n"
    )
    words = ["--layers", "--network", "host", "--logfile", str(log), "--tag", NAIVE, "--file", str(file), str(code)]
    started = time.perf_counter()
    done = engine.build(words, 7200)
    seconds = time.perf_counter() - started
    if done.rc:
        raise SystemExit(f"{log.read_text() if log.exists() else ''}\n{done.stderr}")
    return turn_of(engine, NAIVE, seconds, seconds, build_log.steps(log.read_text()), layers)


def turn_of(
    engine: Engine, name: str, build_s: float, whole_s: float, counts: build_log.Steps, before: list[str]
) -> Turn:
    now = diff_ids(engine, name)
    shared = sum(1 for one, other in zip(before, now, strict=False) if one == other)
    before[:] = now
    return Turn(build_s, whole_s, counts.total, counts.cached, len(now), len(now) - shared)


def diff_ids(engine: Engine, name: str) -> list[str]:
    """The image's layers, by the digests of their contents."""
    kind = ["image", "inspect"] if engine.program == "podman" else ["inspect", "--type", "image"]
    found = json.loads(run_process([engine.program, *kind, name]).stdout)
    if engine.program == "podman":
        return list(found[0]["RootFS"]["Layers"])
    return list(found["OCIv1"]["rootfs"]["diff_ids"])


def from_of(file: Path) -> str:
    """The base that our file names: both begin with the very same image."""
    return next(line for line in file.read_text().splitlines() if line.startswith("FROM ")).split()[1]


def show(ours: Sequence[Turn], naive: Sequence[Turn], file: Path | None) -> int:
    """Print the medians; returns 1 where the goal is missed."""
    print(f"{'':6} {'build (s)':>10} {'whole (s)':>10} {'cached instructions':>20} {'new layers':>11}")
    for name, turns in (("ours", ours), ("naive", naive)):
        last = turns[-1]
        cached, layers = f"{last.cached} of {last.instructions}", f"{last.new_layers} of {last.layers}"
        whole = median(turn.whole_s for turn in turns)
        print(f"{name:6} {median(turn.build_s for turn in turns):10.2f} {whole:10.2f} {cached:>20} {layers:>11}")
    ratio = median(turn.build_s for turn in naive) / median(turn.build_s for turn in ours)
    whole = median(turn.build_s for turn in naive) / median(turn.whole_s for turn in ours)
    print(
        f"rebuild {ratio:.1f} times as fast (goal {GOAL}); with test, bill of materials and signature {whole:.1f} times"
    )
    if file:
        figures = {"ours": [vars(turn) for turn in ours], "naive": [vars(turn) for turn in naive], "ratio": ratio}
        file.write_text(json.dumps(figures, indent=2) + "\n")
    return int(ratio < GOAL)


if __name__ == "__main__":
    sys.exit(main())
