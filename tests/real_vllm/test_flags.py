# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The real program knows each option that a unit of ours gives it, and those of the simulated one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from plugins.module_utils._serving.command import engine_argv
from plugins.module_utils._serving.engines import Engine
from plugins.module_utils._serving.flags import FORKS_FLAGS
from plugins.module_utils._serving.instance import parse_instance
from plugins.module_utils._serving.sizing import Size
from sandbox.engine.vllm.flags import SHORT, SINCE, SWITCHES, VALUES
from tests.vllm_server import vllm_environment, vllm_program

PARSE = """
import json, sys
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

parser = make_arg_parser(FlexibleArgumentParser())
names = [name for action in parser._actions for name in action.option_strings]
refused = []
for words in json.load(sys.stdin):
    try:
        unknown = parser.parse_known_args(words)[1]
    except SystemExit:
        unknown = words
    refused.append(unknown)
json.dump({"names": names, "refused": refused}, sys.stdout)
"""
INSTANCES = (
    {"name": "chat", "model": "/models/books", "cards": 4, "port": 8000},
    {
        "name": "draft",
        "model": "/models/books",
        "modules": [3],
        "port": 8001,
        "flags": {"dtype": "bfloat16", "enable_prefix_caching": False, "async-scheduling": True, "max-logprobs": 50},
    },
)


def asked(commands: list[list[str]], scratch: Path) -> tuple[set[str], list[list[str]]]:
    """(all options of the real program, what it does not know of each command)."""
    python = vllm_program().with_name("python")
    done = subprocess.run(
        [str(python), "-c", PARSE],
        input=json.dumps(commands),
        env=vllm_environment(scratch),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return set(told["names"]), told["refused"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], list[list[str]]]:
    commands = [
        list(
            engine_argv(
                parse_instance(given),
                Engine("0.26.0"),
                Size(4352, 128, 0.9, ("", "")),
                "/models/books",
                program="vllm",
                drain=120,
                tls="/run/credentials",
            )[2:]
        )
        for given in INSTANCES
    ]
    return asked(commands, tmp_path_factory.mktemp("parse"))


def test_what_a_unit_gives_is_known(answers: tuple[set[str], list[list[str]]]) -> None:
    assert answers[1] == [[], []]


def test_the_simulated_engine_knows_nothing_that_the_real_one_does_not(
    answers: tuple[set[str], list[list[str]]],
) -> None:
    assert {*VALUES, *SWITCHES, *SINCE, *SHORT.values(), "--api-key"} <= answers[0]


def test_flags_of_the_fork_are_unknown(answers: tuple[set[str], list[list[str]]]) -> None:
    assert not {f"--{name}" for name in FORKS_FLAGS} & answers[0]
