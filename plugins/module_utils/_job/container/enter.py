# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The program between a job's unit and its container, on both sides of the wall.

Outside it looks at the node as it is at this start (variables, cards, which engine there is) and becomes podman.
Inside, as the first program of the container, it writes down its process number, takes the job's variables from a
file, and becomes torchrun. So a variable is in no command line, whatever is in it, and every engine's ranks have the
same ones; podman's ``--env-file`` and Apptainer's read quotes and line ends each in their own way.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..._cards.accel_sysfs import accel_devices
from ..._cards.device_nodes import device_words
from ..._errors import GaudiError
from ..binding.modules import VARIABLE
from ..binding.topology import HPU
from .engine import CONTAINERS_CONF, ENGINES, RUNTIME, Container, engine_argv, missing_program
from .mounts import Mount, parse_mount, same_place, without_covered
from .variables import container_variables, image_variables

INSIDE = "inside"
ROOT, CONFIGURATION = "rootfs", "image.json"
# Where the node library lies in the container: nothing is installed into an image.
LIBRARY = "/run/gaudi3_scale/library"
# Vendor's files of the node's network, for HCCL.
NETWORK_FILES = "/etc/habanalabs"
RECIPES = "PT_HPU_RECIPE_CACHE_CONFIG"
_OURS = "GAUDI3_SCALE_"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PYTHON = "python3"
# podman takes no --runroot of more than 50 characters. Whose state it is is in a file.
_STATE, _PREFIX, _OF = "/tmp", "gaudi3_scale-", "job"


def main(argv: Sequence[str]) -> int:
    """Returns only to refuse."""
    try:
        return _inside(argv[1:]) if argv[:1] == [INSIDE] else _outside(argv)
    except (GaudiError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _outside(argv: Sequence[str]) -> int:
    end = list(argv).index("--")
    options, command = _parser().parse_args(argv[:end]), argv[end + 1 :]
    programs = [program for program in (*ENGINES, RUNTIME) if shutil.which(program, path=_PATH)]
    missing = missing_program(ENGINES, programs)
    if missing:
        raise GaudiError(
            f"{missing} is not installed on {os.uname().nodename}, and a job with an image needs it; install it there "
            "(gaudi_containers_install: podman)."
        )
    engine = next(engine for engine in ENGINES if engine in programs)
    image = json.loads(Path(options.image, CONFIGURATION).read_text(encoding="utf-8"))
    of_image = image_variables((image.get("config") or {}).get("Env") or ())
    variables = container_variables(of_image, os.environ, options.own, options.home, LIBRARY if options.library else "")
    variables.setdefault("PATH", _PATH)
    state = _new_state(options.name)
    _write_private(state / "variables.json", json.dumps(variables))
    _write_private(state / "containers.conf", CONTAINERS_CONF)
    if options.pid_file:
        Path(options.pid_file).unlink(missing_ok=True)
    if variables.get("HABANA_LOGS", "").startswith(options.home):
        Path(variables["HABANA_LOGS"]).mkdir(parents=True, exist_ok=True)
    program = os.path.realpath(sys.argv[0])
    container = Container(
        name=options.name,
        root=f"{options.image}/{ROOT}",
        state=str(state),
        directory=str(Path.cwd()),
        path=of_image.get("PATH") or _PATH,
        library_path=of_image.get("LD_LIBRARY_PATH", ""),
        command=(PYTHON, "-I", "-S", program, INSIDE, str(state), options.pid_file, *command),
        mounts=_mounts(options, program, variables),
        devices=_devices(options, variables),
    )
    words = engine_argv(engine, container)
    os.execve(shutil.which(words[0], path=_PATH) or words[0], words, _of_engine(state, os.environ))
    return 1


def _inside(argv: Sequence[str]) -> int:
    state, pid_file, *command = argv
    given = Path(state, "variables.json")
    variables = json.loads(given.read_text(encoding="utf-8"))
    # Secrets may be among them, and nobody reads them again.
    given.unlink()
    _end_keeper(Path(state))
    if pid_file:
        Path(pid_file).write_text(f"{os.getpid()}\n", encoding="ascii")
    try:
        os.execvpe(command[0], command, variables)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run in the container: {error.strerror}\n")
    return 1


def _end_keeper(state: Path) -> None:
    """End the process by which rootless podman keeps its namespaces for a next command, which there is none of: outside
    of a unit it would be left behind."""
    # Below --tmpdir with podman 4.3.
    for place in ("tmp", "libpod/tmp"):
        with contextlib.suppress(OSError, ValueError):
            number = int((state / place / "pause.pid").read_text(encoding="ascii"))
            if number > 1:
                os.kill(number, signal.SIGKILL)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("image", "name", "home"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("pid-file", "library", "device"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--kernel-root", default="/")
    parser.add_argument("--mount", action="append", type=parse_mount, default=[])
    parser.add_argument("--own", action="append", default=[])
    return parser


def _new_state(name: str) -> Path:
    """A directory of this start alone: what an engine that was killed has left is nothing that the next one reads."""
    for old in Path(_STATE).glob(f"{_PREFIX}*/{_OF}"):
        with contextlib.suppress(OSError):
            if old.read_text(encoding="utf-8") == name:
                shutil.rmtree(old.parent, ignore_errors=True)
    state = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_STATE))
    _write_private(state / _OF, name)
    return state


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)


def _mounts(options: argparse.Namespace, program: str, variables: Mapping[str, str]) -> tuple[Mount, ...]:
    """What every job has, then what this one was given. /tmp and its like are the node's, as its unit has them."""
    recipes = variables.get(RECIPES, "").partition(",")[0]
    temporary = {"/tmp", "/var/tmp", _STATE}
    found = [
        *map(same_place, sorted(temporary)),
        # The one that binds a rank lies beside it.
        same_place(str(Path(program).parent), read_only=True),
        *([same_place(NETWORK_FILES, read_only=True)] if Path(NETWORK_FILES).is_dir() else []),
        *([same_place(options.kernel_root, read_only=True)] if options.kernel_root != "/" else []),
        *([same_place(recipes)] if recipes.startswith("/") and Path(recipes).is_dir() else []),
        *([Mount(options.library, f"{LIBRARY}/{Path(options.library).name}", True)] if options.library else []),
        *options.mount,
    ]
    return without_covered(found)


def _devices(options: argparse.Namespace, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The devices of the job's modules; of all cards where it has all."""
    if options.device != HPU:
        return ()
    named = [word.strip() for word in variables.get(VARIABLE, "").split(",") if word.strip()]
    cards = accel_devices(options.kernel_root)
    return device_words([card for card in cards if not named or str(card.module_id) in named], options.kernel_root)


def _of_engine(state: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The engine's own variables: nothing of the job steers it, and ours say whose process it is."""
    ours = {name: value for name, value in environment.items() if name.startswith(_OURS)}
    conf = str(state / "containers.conf")
    return {**ours, "PATH": _PATH, "HOME": str(state), "XDG_RUNTIME_DIR": str(state), "CONTAINERS_CONF": conf}
