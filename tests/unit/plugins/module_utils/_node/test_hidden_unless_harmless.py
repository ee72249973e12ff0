# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The value of a variable, and of an option in a command, is hidden unless its name is known to be harmless."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.catalog import FLAGS
from ansible_collections.gaudi3.scale.plugins.module_utils._job.job_secrets import (
    masked,
    masked_description,
    told_apart,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node import harmless_names
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_texts import HIDDEN_CHANGE, masked_texts
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import (
    HIDDEN,
    is_shown,
    without_credentials,
    without_options,
    without_secrets,
)

SECRET = "pl4ntedXbutXnotXaXnumber"
PAT = "ghp_" + "a1B2" * 9
SLACK = "https://hooks.slack.com/services/T00000000/B00000000/" + "x" * 24
HIDING = [
    *(
        "GITHUB_PAT",
        "SSHPASS",
        "AUTHORIZATION",
        "NEXUS_CREDS",
        "SLACK_WEBHOOK",
        "ALERT_WEBHOOK_URL",
        "SENTRY_DSN",
        "JWT",
    ),
    *(
        "AZURE_STORAGE_CONNECTION_STRING",
        "MYSQL_PW",
        "HF_TOKEN",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "NGC_CLI_API_KEY",
    ),
    *(
        "ARTIFACTORY",
        "MY_OWN",
        "lower_case",
        "X",
        "WANDB_SECRET",
        "SLURM_JWT",
        "TORCH_TOKEN",
        "OMP_PASSWORD",
        "model_key",
    ),
]


@pytest.mark.parametrize("name", HIDING)
def test_no_other_variable_is_shown(name: str) -> None:
    assert masked({name: SECRET}) == {name: HIDDEN}
    before, after = masked_texts(f"export {name.upper()}={SECRET}\n", f'export {name.upper()}="{SECRET}"\n')
    assert SECRET not in before + after
    described = json.dumps({"environment": {name: SECRET, "RANK": "3"}}, indent=2)
    assert SECRET not in "".join(masked_texts("", described))
    assert '"RANK": "3"' in masked_texts("", described)[1]


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", SECRET],
        ["--unknown", SECRET],
        [f"--unknown={SECRET}"],
        ["-u", f"user:{SECRET}"],
        [f"-uuser:{SECRET}"],
        [f"-p{SECRET}"],
        ["-H", f"Authorization: Bearer {SECRET}"],
        [f"+logger.wandb_key={SECRET}"],
        [f"++logger.x.unknown={SECRET}"],
        [f"unknown={SECRET}"],
        [json.dumps({"token": SECRET})],
        [json.dumps({"a": {"b": [{"password": SECRET}]}})],
        ["--config", json.dumps({"secretive": SECRET, "lr": 3})],
        [f"--config={json.dumps({'wandb_key': SECRET})}"],
        ["-c", f"curl --token {SECRET} https://x"],
        ["-c", f"curl -H 'Authorization: token {SECRET}' https://x"],
        ["-c", f"export HF_TOKEN={SECRET}; python x.py"],
        ["-c", f"export MINE='{SECRET}' && python x.py"],
        ["--storage", f"postgresql://study:{SECRET}@db/x"],
        ["--unknown", "-m", "module", "--other", SECRET],
    ],
    ids=range(20),
)
def test_no_other_option_is_shown(words: list[str]) -> None:
    command = ["train.py", *words, "--steps", "3"]
    for shown in (
        without_options(command),
        without_secrets({"command": command}),
        masked_description({"command": command}),
    ):
        assert SECRET not in json.dumps(shown)
        assert "--steps" in json.dumps(shown)
    described = json.dumps({"command": command}, indent=2)
    assert SECRET not in "".join(masked_texts(described, described.replace("train.py", "other.py")))


@pytest.mark.parametrize("line", ["ExecStart={}", "  exec {}", "srun {}"])
def test_what_a_unit_or_a_script_starts_is_shown_without_them(line: str) -> None:
    text = line.format(f"/v/bin/torchrun --nnodes=2 train.py --unknown {SECRET} --lr 3e-4 'a b'") + "\n"
    (_before, after) = masked_texts("", text)
    assert SECRET not in after
    assert "--nnodes=2 train.py --unknown '(not shown)' --lr 3e-4" in after
    plain = line.format("/v/bin/torchrun --nnodes=2 train.py --lr 3e-4 'a b'") + "\n"
    assert masked_texts("", plain)[1] == plain


@pytest.mark.parametrize(
    "text", [PAT, f"see {SLACK} there", f'{{"x": "{PAT}"}}', f"hf_{'a' * 30}", "eyJhbGciOi.eyJzdWIiOi.c2ln"]
)
def test_what_has_the_form_of_a_token_is_hidden_anywhere(text: str) -> None:
    shown = json.dumps(
        [without_credentials(text), without_secrets({"reason": text, "words": [text]}), masked_texts("", text)]
    )
    assert HIDDEN in shown
    assert not any(one in shown for one in (PAT, "T00000000", "a" * 30, "c2ln"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("PYTHONPATH", "/srv/code"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("HCCL_OVER_OFI", "1"),
        ("PT_HPU_RECIPE_CACHE_CONFIG", "/x,false,1024"),
        ("DATA_DIR", "/mnt/data"),
        ("SITE_SWITCH", "true"),
        ("SITE_NUMBER", "3e-4"),
        ("SITE_CARDS", "0,1,2,3"),
        ("SITE_PROGRAM", "run/train_it.py"),
        ("SITE_VERSION", "1.24.1"),
        ("EMPTY", ""),
    ],
)
def test_what_is_harmless_is_shown(name: str, value: str) -> None:
    assert masked({name: value}) == {name: value}
    line = f"export {name}={value}\n"
    assert masked_texts("", line) == ("", line)


def test_a_training_s_own_command_is_shown_as_it_is() -> None:
    command = [
        *(
            "-m",
            "train",
            "--model_name_or_path",
            "meta-llama/Llama-3.1-8B",
            "--bf16",
            "True",
            "--learning-rate",
            "3e-4",
        ),
        *(
            "--trainer.max_steps=500",
            "optimizer=adamw",
            "--dataset",
            "tatsu-lab/alpaca",
            "--output_dir",
            "/srv/out",
            "--resume",
        ),
    ]
    assert without_options(command) == command


def test_each_flag_of_the_table_is_shown() -> None:
    """Nearly all are numbers and switches; the families of those that are words are known."""
    assert [name for name in FLAGS if not is_shown(name, "1")] == []
    assert {
        name for name in FLAGS if name.startswith(("PT_", "HCCL_", "HABANA_", "HCL_")) and not is_shown(name, "a word")
    } == set()


def test_a_site_names_more_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "names").write_text("# ours\nSITE_QUEUE\nlab_*  # all\n!run_name\n!OMP_STRANGE\n")
    monkeypatch.setattr(harmless_names, "SITE", str(tmp_path / "names"))
    harmless_names.site_names.cache_clear()
    try:
        given: dict[str, Any] = {
            "SITE_QUEUE": "fast",
            "LAB_ROOM": "x",
            "RUN_NAME": "x",
            "OMP_STRANGE": "7",
            "site": "x",
        }
        assert masked(given) == {**given, "RUN_NAME": HIDDEN, "OMP_STRANGE": HIDDEN, "site": HIDDEN}
        assert without_options(["--site-queue=fast", "--run-name", "x"]) == ["--site-queue=fast", "--run-name", HIDDEN]
    finally:
        harmless_names.site_names.cache_clear()


def test_another_value_is_told_as_another_one() -> None:
    one, two = ({"MINE": value, "HF_TOKEN": value, "RANK": "1"} for value in ("a", "b"))
    assert told_apart(one)["MINE"] != told_apart(two)["MINE"]
    assert told_apart(one)["HF_TOKEN"] == told_apart(two)["HF_TOKEN"] == HIDDEN
    assert masked_texts("export MINE=a1b\n", "export MINE=a2b\n")[1] == f"export MINE={HIDDEN_CHANGE}\n"


def test_other_words_of_results_stay() -> None:
    for value in (
        {"steps": ["file /etc/x", "a=b"], "names": ["--x", "y"]},
        {"nodes": {"n1": "10.0.0.1:9100"}},
        "a sentence",
    ):
        assert without_secrets(value) == value
