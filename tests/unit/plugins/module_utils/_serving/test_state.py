# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Instances of a node: what is written, what is started, what is refused before anything is touched."""

from __future__ import annotations

import json
import os
import pwd
import socket
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import ModelOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import converge as publish
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._serving import apply, runtime, source
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import ServingPaths, known_instances
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import parse_instances
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.node_plan import Node
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.options import ServingOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.runtime import Runtime
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.state import converge
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

from .conftest import CONFIG, write_record
from .serving_node import Systemd

ME = pwd.getpwuid(os.geteuid()).pw_name
CHAT, DRAFT = "gaudi3-scale-serving-chat.service", "gaudi3-scale-serving-draft.service"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    kernel = write_kernel(tmp_path / "kernel")
    for name in ("etc", "units", "state"):
        (tmp_path / name).mkdir()
    # No account and no environment of a node is here; what installs the engine has tests of its own.
    for module in (apply, runtime):
        monkeypatch.setattr(module, "ACCOUNT", ME)
    monkeypatch.setattr(runtime, "_runtime", lambda *_more, **_named: (Runtime(venv="/opt/env"), False))
    monkeypatch.setattr(runtime, "Path", lambda *_parts: tmp_path)
    paths = ServingPaths("", str(tmp_path / "etc"), str(tmp_path / "state/serving"), str(tmp_path / "units"))
    return Node(str(kernel), "/proc", paths, str(tmp_path / "state"))


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    found = Systemd(tmp_path / "units")
    yield found
    found.close()


@pytest.fixture
def options(exported: Path):
    ports = {"chat": free_port(), "draft": free_port()}

    def made(*names: str, of: dict[str, object] | None = None, **others: object) -> ServingOptions:
        instances = [
            {"name": name, "model": str(exported), "cards": 1, "port": ports[name], "max_model_len": 4096, **(of or {})}
            for name in names or ("chat",)
        ]
        return ServingOptions(parse_instances(instances), release="1.24.1", wait=5, **others)

    return made


def written(tmp_path: Path) -> list[str]:
    return sorted(str(path.relative_to(tmp_path)) for name in ("etc", "units") for path in (tmp_path / name).iterdir())


def test_an_instance_is_set_up_started_and_answers_and_a_second_run_changes_nothing(node, systemd, options, tmp_path):
    first = converge(options(), systemd, False, node)
    assert first["changed"]
    assert (first["instances"][0]["state"], first["instances"][0]["modules"]) == ("answering", [0])
    assert first["instances"][0]["memory"][0].startswith("128.00 GiB of a card")
    assert systemd.calls == ["daemon-reload", f"enable {CHAT}", f"reset-failed {CHAT}", f"restart {CHAT}"]
    systemd.calls.clear()
    second = converge(options(), systemd, False, node)
    assert (second["changed"], second["steps"], second["diff"], systemd.calls) == (False, [], [], [])


def test_its_files_are_root_s_and_no_secret_is_where_others_read(node, systemd, options, tmp_path):
    key = tmp_path / "key"
    key.write_text("a-long-secret\n", encoding="ascii")
    key.chmod(0o600)
    converge(options(key_file=str(key), of={"environment": {"HF_TOKEN_PATH": "/x"}}), systemd, False, node)
    control = json.loads((tmp_path / "etc/chat.json").read_text(encoding="utf-8"))
    assert (control["key_file"], control["modules"], control["engine"]) == (str(key), [0], "0.26.0")
    assert stat.S_IMODE((tmp_path / "etc/chat.environment").stat().st_mode) == 0o600
    private = {"chat.key"}
    for path in [*(tmp_path / "etc").iterdir(), *(tmp_path / "units").iterdir()]:
        assert ("a-long-secret" in path.read_text(encoding="utf-8")) == (path.name in private)
    assert stat.S_IMODE((tmp_path / "etc/chat.key").stat().st_mode) == 0o600
    unit = (tmp_path / "units" / CHAT).read_text(encoding="utf-8")
    assert f"EnvironmentFile={tmp_path}/etc/chat.key" in unit
    assert "--api-key" not in unit
    # Nor is it on a screen.
    key.write_text("another-long-secret\n", encoding="ascii")
    found = converge(options(key_file=str(key)), systemd, True, node)
    assert "long-secret" not in str(found)


def test_check_mode_says_what_would_be_and_writes_nothing(node, systemd, options, tmp_path):
    found = converge(options(), systemd, True, node)
    assert found["changed"]
    assert [one["after_header"].rpartition("/")[2] for one in found["diff"]] == [
        "chat.environment (mode 0600)",
        f"{CHAT} (mode 0644)",
        "chat.json (mode 0644)",
    ]
    assert "VLLM_BUCKETING_STRATEGY=pad" in found["diff"][0]["after"]
    assert (written(tmp_path), systemd.calls) == ([], [])


def test_what_the_list_does_not_have_is_removed_and_absent_removes_all(node, systemd, options, tmp_path):
    converge(options("chat", "draft"), systemd, False, node)
    found = converge(options("chat"), systemd, False, node)
    assert (found["removed"], [one.name for one in known_instances(node.paths.control_directory)]) == (
        ["draft"],
        ["chat"],
    )
    assert DRAFT not in systemd.active
    found = converge(options(state="absent"), systemd, False, node)
    assert (found["removed"], written(tmp_path), systemd.active, systemd.enabled) == (["chat"], [], set(), set())
    assert not converge(options(state="absent"), systemd, False, node)["changed"]


def test_stopped_keeps_the_files_and_does_not_start_at_boot(node, systemd, options, tmp_path):
    converge(options(), systemd, False, node)
    before = written(tmp_path)
    found = converge(options(state="stopped"), systemd, False, node)
    assert (found["changed"], found["instances"][0]["state"]) == (True, "stopped")
    assert (written(tmp_path), systemd.active, systemd.enabled) == (before, set(), set())
    assert not converge(options(state="stopped"), systemd, False, node)["changed"]


def test_only_the_named_ones_change(node, systemd, options):
    converge(options("chat", "draft"), systemd, False, node)
    systemd.calls.clear()
    changed = options("chat", "draft", of={"max_num_seqs": 8}, only=("draft",))
    found = converge(changed, systemd, False, node)
    assert [one["name"] for one in found["instances"]] == ["draft"]
    assert systemd.calls == ["daemon-reload", f"reset-failed {DRAFT}", f"restart {DRAFT}"]
    with pytest.raises(GaudiError, match="only has 'x'"):
        converge(options("chat", only=("x",)), systemd, False, node)


def test_each_has_cards_of_its_own_and_keeps_them(node, systemd, options):
    first = converge(options("chat", "draft", of={"cards": 2}), systemd, False, node)
    modules = [one["modules"] for one in first["instances"]]
    assert modules == [[0, 1], [2, 3]]
    # The other way around they keep what they had.
    second = converge(options("draft", "chat", of={"cards": 2}), systemd, False, node)
    assert [one["modules"] for one in second["instances"]] == [[2, 3], [0, 1]]
    assert not second["changed"]


def test_a_program_that_ends_is_told_by_its_own_words(node, systemd, options):
    systemd.dies.add(CHAT)
    systemd.log = "vllm: error: unrecognized arguments: --foo\n"
    with pytest.raises(GaudiError, match="instance chat did not start: vllm: error: unrecognized arguments: --foo; "):
        converge(options(of={"flags": {"foo": True}}), systemd, False, node)
    systemd.dies.clear()
    systemd.refused.add(CHAT)
    systemd.log = "gaudi3_scale: model /x is refused: a is changed or damaged; serve another version.\n"
    with pytest.raises(GaudiError, match="did not start: gaudi3_scale: model /x is refused: a is changed or damaged"):
        converge(options(), systemd, False, node)
    # It is not tried again and again.
    assert systemd.calls[-1] == f"stop {CHAT}"


def test_a_warm_up_that_goes_on_is_told_and_waited_for_by_the_next_call(node, systemd, options):
    systemd.silent.add(CHAT)
    systemd.log = "INFO [Warmup][Prompt][3/24] batch_size:4 seq_len:1024\n"
    waits = options()
    found = converge(ServingOptions(**{**vars(waits), "wait": 0}), systemd, False, node)
    row = found["instances"][0]
    assert (row["state"], row["warm_up"], row["done"], row["of"]) == ("starting", "warm-up Prompt 3/24", 3, 24)


def test_a_model_of_the_registry_is_copied_verified_and_named_by_its_version(node, systemd, exported, tmp_path):
    registry = str(tmp_path / "registry")
    key = str(tmp_path / "signing/key.pem")
    asked = ModelOptions(registry, "llama", path=str(exported), alias="production", signing_key=key)
    published = publish(asked, run_process, False)
    chat = {"name": "chat", "model": "llama@production", "cards": 1, "port": free_port(), "max_model_len": 4096}
    told = ServingOptions(parse_instances([chat]), registry=registry, release="1.24.1", wait=5)

    def both(argv, **named):
        return run_process(argv, **named) if argv[0] == "openssl" else systemd(argv, **named)

    found = converge(told, both, False, node)["instances"][0]
    assert (found["version"], found["served_name"]) == (published["version"], "llama")
    assert found["model"] == f"{node.paths.models}/{published['version']}"
    assert Path(found["model"], "gaudi3_scale_model.json").is_file()
    # A copy that was changed is refused before its instance is touched.
    Path(found["model"], "tokenizer.json").write_bytes(b"{}")
    systemd.calls.clear()
    with pytest.raises(GaudiError, match=r"tokenizer\.json is changed or damaged"):
        converge(ServingOptions(**{**vars(told), "drain_timeout": 5}), both, False, node)
    assert systemd.calls == []
    with pytest.raises(GaudiError, match="llama has no alias candidate; it has production"):
        moved = parse_instances([{**chat, "model": "llama@candidate"}])
        converge(ServingOptions(**{**vars(told), "instances": moved}), both, False, node)


def test_two_new_instances_of_one_model_have_one_copy(node, systemd, exported, tmp_path):
    registry, key = str(tmp_path / "registry"), str(tmp_path / "signing/key.pem")
    publish(
        ModelOptions(registry, "llama", path=str(exported), alias="production", signing_key=key), run_process, False
    )
    one = {"name": "chat", "model": "llama@production", "cards": 1, "max_model_len": 4096}
    both = [{**one, "port": free_port()}, {**one, "name": "draft", "port": free_port()}]
    told = ServingOptions(parse_instances(both), registry=registry, release="1.24.1", wait=5)

    def run(argv, **named):
        return run_process(argv, **named) if argv[0] == "openssl" else systemd(argv, **named)

    found = converge(told, run, False, node)["instances"]
    assert found[0]["model"] == found[1]["model"] and systemd.active == {CHAT, DRAFT}


def refused(node, systemd, options, tmp_path) -> str:
    with pytest.raises(GaudiError) as found:
        converge(options, systemd, False, node)
    assert (written(tmp_path), systemd.calls) == ([], [])
    return str(found.value)


def test_a_port_that_somebody_has_is_refused_with_who_has_it(node, systemd, options, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refused(node, systemd, options(of={"port": port}), tmp_path)
    assert f"instances: chat: port {port} is held by " in said
    assert f"process {os.getpid()}" in said


def test_cards_of_a_job_and_more_than_the_node_has_are_refused(node, systemd, options, tmp_path):
    started = tmp_path / "state/control/train/started.json"
    started.parent.mkdir(parents=True)
    started.write_text(json.dumps({"modules": [0, 1, 2, 3, 4, 5, 6], "port": 29500}), encoding="utf-8")
    systemd.active.add("gaudi3-scale-job-train.service")
    said = refused(node, systemd, options(of={"cards": 2}), tmp_path)
    assert "cards is 2, and 1 of 8 cards is free" in said
    assert "held by job train" in said
    said = refused(node, systemd, options(of={"cards": 0, "modules": [3]}), tmp_path)
    assert "modules names 3, and module 3 is held by job train" in said
    said = refused(node, systemd, options(of={"port": 29500}), tmp_path)
    assert "port 29500 is held by job train" in said
    assert "the plug-in for Gaudi serves on one node alone" in refused(
        node, systemd, options(of={"cards": 16}), tmp_path
    )


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        ({"cards": 3}, "instances: chat: 3 cards do not divide the 32 attention heads"),
        ({"max_num_seqs": 4096}, "the KV cache goes beyond the memory of the cards"),
        ({"max_model_len": 1 << 20}, "the model knows 131072 positions"),
        ({"address": "192.0.2.1"}, "give key_file, certificate and certificate_key, or 127.0.0.1 as address"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_touched(node, systemd, options, tmp_path, of, sentence):
    assert sentence in refused(node, systemd, options(of=of), tmp_path)


def test_a_model_without_a_record_and_one_that_vllm_does_not_know_are_refused(
    node, systemd, options, tmp_path, exported
):
    (exported / "config.json").write_text(json.dumps({**CONFIG, "architectures": ["Ours"]}), encoding="utf-8")
    write_record(exported)
    assert "vLLM has no architecture Ours" in refused(node, systemd, options(), tmp_path)
    (exported / "config.json").unlink()
    write_record(exported)
    assert "a checkpoint is no model" in refused(node, systemd, options(), tmp_path)
    (exported / "gaudi3_scale_export.json").unlink()
    assert "so nobody says what it is" in refused(node, systemd, options(), tmp_path)


def test_a_hole_and_an_engine_that_has_ended_are_refused(node, systemd, options, tmp_path):
    old = options(engine_version="0.11.2")
    assert "vLLM 0.11.2 has CVE-2026-22807" in refused(node, systemd, old, tmp_path)
    assert "HabanaAI/vllm-fork" in refused(node, systemd, options(engine_version="0.9.0"), tmp_path)


def test_keys_that_others_can_read_are_refused(node, systemd, options, tmp_path):
    key = tmp_path / "key"
    assert "cannot be read on this node" in refused(node, systemd, options(key_file=str(key)), tmp_path)
    key.write_text("secret", encoding="ascii")
    key.chmod(0o644)
    assert "can be read by others than its owner (mode 0644)" in refused(
        node, systemd, options(key_file=str(key)), tmp_path
    )
    key.chmod(0o600)
    key.write_text("two words", encoding="ascii")
    assert "has no key; write the key in one line" in refused(node, systemd, options(key_file=str(key)), tmp_path)
    said = refused(node, systemd, options(certificate=str(key)), tmp_path)
    assert "certificate and certificate_key belong together" in said


def test_a_state_directory_on_another_machine_s_disk_is_refused(node, systemd, options, tmp_path):
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "mounts").write_text(f"/dev/sda1 / ext4 rw 0 0\nnas:/x {tmp_path} nfs4 rw 0 0\n", encoding="utf-8")
    said = refused(replace(node, proc=str(proc)), systemd, options(), tmp_path)
    assert f"lies on {tmp_path}, which is nfs4: compiled recipes need a local disk" in said


def test_copies_that_nobody_names_go_after_a_month(tmp_path):
    models = tmp_path / "models"
    for name, days in (("a" * 64, 40), ("b" * 64, 1), ("c" * 64, 40), ("mine", 40)):
        (models / name).mkdir(parents=True)
        past = 1_700_000_000 if days == 40 else tmp_path.stat().st_mtime
        os.utime(models / name, (past, past))
    source._remove_unused(str(models), {str(models / ("c" * 64))})
    assert sorted(path.name for path in models.iterdir()) == ["b" * 64, "c" * 64, "mine"]
