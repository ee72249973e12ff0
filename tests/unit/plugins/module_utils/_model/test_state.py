# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._model.registry import open_store
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process

from .conftest import FILES

FACTS = {
    "job": "llama",
    "license": "llama3.1",
    "flags": {"PT_HPU_LAZY_MODE": "0"},
    "driver": "1.24.1",
    "curve": [[1, 2.5]],
}


def publish(options, exported, **others):
    return converge(options(path=str(exported), facts=FACTS, **others), run_process, False)


def test_a_model_is_published_once_and_found_by_alias_version_and_first_digits(options, exported, store):
    first = publish(options, exported, alias="candidate")
    assert (first["changed"], first["new"], first["moved"], first["alias_before"]) == (True, True, True, "")
    assert {one["path"]: one["bytes"] for one in first["files"]} == {name: len(FILES[name]) for name in FILES}
    assert first["facts"] == FACTS
    again = publish(options, exported, alias="candidate")
    assert (again["changed"], again["version"], again["alias_before"]) == (False, first["version"], first["version"])
    for wanted in ("candidate", first["version"], first["version"][:12]):
        found = converge(options(version=wanted, fingerprint=first["fingerprint"]), run_process, False)
        assert (found["version"], found["changed"], found["path"]) == (first["version"], False, first["path"])


def test_check_mode_says_what_would_be_and_writes_nothing(options, exported, store, tmp_path):
    told = converge(options(path=str(exported), alias="candidate"), run_process, True)
    assert (told["changed"], told["new"], told["moved"], told["fingerprint"]) == (True, True, True, "")
    assert store.names("models") == []
    assert not (tmp_path / "keys").exists()
    assert converge(options(path=str(exported)), run_process, False)["version"] == told["version"]


def test_the_key_is_made_once_and_is_its_owner_s_alone(options, exported, tmp_path):
    first = publish(options, exported)
    key = tmp_path / "keys" / "key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    (exported / "config.json").write_text("{}")
    second = publish(options, exported)
    assert second["fingerprint"] == first["fingerprint"]
    assert second["version"] != first["version"]
    assert key.read_bytes() == before


def test_a_copy_is_whole_and_verified_and_made_once(options, exported, tmp_path):
    version = publish(options, exported)["version"]
    wanted = options(version=version, destination=str(tmp_path / "served" / "llama"))
    assert converge(wanted, run_process, False)["changed"]
    there = {name: (tmp_path / "served" / "llama" / name).read_bytes() for name in FILES}
    assert there == FILES
    assert not converge(wanted, run_process, False)["changed"]
    assert [path.name for path in (tmp_path / "served").iterdir()] == ["llama"]
    (tmp_path / "served" / "llama" / "config.json").write_text("{}")
    with pytest.raises(GaudiError, match=r"^destination .*: .*; remove what is there, or name another\.$"):
        converge(wanted, run_process, False)


def test_what_others_signed_already_is_not_taken_for_one_s_own(options, exported, tmp_path):
    foreign = publish(options, exported, signing_key=str(tmp_path / "foreign.pem"))
    publish(options, exported, name="mine")
    with pytest.raises(GaudiError, match=rf"is refused: it is signed by the key {foreign['fingerprint']} \("):
        publish(options, exported)
    assert not publish(options, exported, fingerprint=foreign["fingerprint"])["changed"]


def test_an_empty_directory_is_room_for_a_copy(options, exported, tmp_path):
    version = publish(options, exported)["version"]
    (tmp_path / "served").mkdir()
    assert converge(options(version=version, destination=str(tmp_path / "served")), run_process, False)["changed"]


def test_other_facts_are_another_version(options, exported):
    first = publish(options, exported)["version"]
    told = converge(options(path=str(exported), facts={**FACTS, "license": "apache-2.0"}), run_process, False)
    assert told["version"] != first


def test_a_cut_publication_is_no_version_and_goes_on(options, exported, store):
    version = publish(options, exported)["version"]
    folder = f"models/llama/versions/{version}"
    store.remove(f"{folder}/model.sig")
    store.remove(f"{folder}/config.json")
    with pytest.raises(GaudiError, match=r"has no model\.sig, so nobody says what it is; publish it again"):
        converge(options(version=version), run_process, False)
    assert publish(options, exported)["new"]
    assert not publish(options, exported)["changed"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"name": "../llama", "path": "/x"}, r"^name: '\.\./llama' is not a valid name; use 1 to 63 "),
        ({"name": "Llama", "path": "/x"}, r"^name: 'Llama' is not a valid name"),
        ({"name": "a..b", "path": "/x"}, r"^name: 'a\.\.b' is not a valid name"),
        ({"name": "0123456789abcdef", "path": "/x"}, r"^name: '0123456789abcdef' is not a valid name"),
        ({"name": "none", "path": "/x"}, r"^name: 'none' is not a valid name"),
        ({"alias": "pro/duction", "path": "/x"}, r"^alias: 'pro/duction' is not a valid name"),
        ({}, r"^Set either path, to publish a model, or version, for one that is published\.$"),
        ({"path": "/x", "version": "y"}, r"^Set either path"),
        ({"path": "/x", "expected": "none"}, r"^expected is 'none', and no alias is to be moved; "),
        ({"path": "/x", "fingerprint": "90C6"}, r"^fingerprint '90C6' is not the fingerprint of a key; "),
        ({"path": "/x", "registry": "models"}, r"^registry 'models' is not a place for models; name a directory"),
        ({"path": "/x", "registry": "http://x/y"}, r"^registry 'http://x/y' is not a place for models"),
        ({"path": "/not/there"}, r"^path: there is no directory /not/there; correct the path\.$"),
        ({"version": "candidate"}, r"^There is no model llama in .*; publish it, or correct the name\.$"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(options, given, sentence, store):
    with pytest.raises(GaudiError, match=sentence):
        converge(options(**given), run_process, False)
    assert store.names("models") == []


def test_an_unknown_alias_or_version_is_refused_with_those_that_there_are(options, exported):
    version = publish(options, exported, alias="candidate")["version"]
    with pytest.raises(GaudiError, match=r"^llama has no alias production; it has candidate\.$"):
        converge(options(version="production"), run_process, False)
    with pytest.raises(GaudiError, match=rf"^llama has no version 0{{12}}; it has {version[:12]}\.$"):
        converge(options(version="0" * 12), run_process, False)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"drivers": "1"}, r"^facts: 'drivers' is not a fact of a record; give of commit, curve, "),
        ({"step": "100"}, r"^facts: step has to be a whole number, not '100'\.$"),
        ({"data": "corpus"}, r"^facts: data has to be a mapping, not 'corpus'\.$"),
        ({"data": {"x": "y" * (1 << 20)}}, r"^facts: it has \d+ bytes, and a record takes 1048576; give a digest"),
        ({"curve": [[1, float("nan")]]}, r"^facts: it has a value that JSON cannot hold"),
    ],
)
def test_a_fact_that_is_none_is_refused(options, exported, facts, sentence):
    with pytest.raises(GaudiError, match=sentence):
        converge(options(path=str(exported), facts=facts), run_process, False)


def link(exported):
    (exported / "evil.json").symlink_to("/etc/passwd")


def folder_link(exported):
    (exported / "more").symlink_to("/etc")


def pipe(exported):
    os.mkfifo(exported / "pipe")


def odd_name(exported):
    (exported / "a\nb").write_text("x")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (link, r"evil\.json is a link, which may lead out of it; put the file itself there \(cp -L\)\.$"),
        (folder_link, r"more is a link, which may lead out of it; "),
        (pipe, r"pipe is not a plain file; remove it\.$"),
        (odd_name, r"'a\\nb': no file of a model can be called so; rename it\.$"),
    ],
)
def test_an_export_that_leads_out_or_is_no_files_is_refused(options, exported, store, damage, sentence):
    damage(exported)
    with pytest.raises(GaudiError, match=sentence):
        converge(options(path=str(exported)), run_process, False)
    assert store.names("models") == []


def test_a_key_of_another_name_or_kind_is_refused(options, exported, tmp_path):
    with pytest.raises(GaudiError, match=r"has the fingerprint [0-9a-f]{64}, and fingerprint is a{64}; name the file"):
        publish(options, exported, fingerprint="a" * 64)
    rsa = tmp_path / "rsa.pem"
    assert run_process(["openssl", "genpkey", "-algorithm", "RSA", "-out", str(rsa)]).rc == 0
    with pytest.raises(GaudiError, match=r"^signing_key .*/rsa\.pem is not a key on the curve P-256; make one with "):
        publish(options, exported, signing_key=str(rsa))
    rsa.write_text("no key")
    with pytest.raises(GaudiError, match=r"rsa\.pem is not a private key that can be read without a passphrase; "):
        publish(options, exported, signing_key=str(rsa))


def flipped(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << (bit % 8)
    return bytes(changed)


def test_each_flipped_bit_is_refused(exported, tmp_path):
    """In weights, tokenizer and configuration; each of 100, and as many in record and signature."""
    from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import ModelOptions

    place = tmp_path / "registry"
    wanted = ModelOptions(str(place), "llama", path=str(exported), signing_key=str(tmp_path / "key.pem"), facts=FACTS)
    told = converge(wanted, run_process, False)
    by_version = replace(wanted, path="", version=told["version"], fingerprint=told["fingerprint"])
    refused = tried = 0
    for name in [*FILES, "gaudi3_scale_model.json", "model.sig"]:
        file = Path(told["path"], name)
        content = file.read_bytes()
        bits = len(content) * 8
        for number in range(25 if name in FILES else 50):
            file.write_bytes(flipped(content, (number * 7919 * 13 + number) % bits))
            tried += 1
            try:
                converge(by_version, run_process, False)
            except GaudiError as error:
                assert re.match(r"The model llama [0-9a-f]{12} is refused: .*\.$", str(error)), error
                refused += 1
        file.write_bytes(content)
    assert (refused, tried) == (200, 200)
    converge(by_version, run_process, False)


def extra(folder, _keys):
    (folder / "more.py").write_text("print(1)")


def missing(folder, _keys):
    (folder / "config.json").unlink()


def shorter(folder, _keys):
    (folder / "config.json").write_text("{}")


def other_link(folder, _keys):
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("/etc/hostname")


def key_gone(_folder, keys):
    for one in keys.iterdir():
        one.unlink()


def other_key(_folder, keys):
    for one in keys.iterdir():
        made = run_process(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]).stdout
        (keys / "private").write_text(made)
        one.write_text(run_process(["openssl", "pkey", "-in", str(keys / "private"), "-pubout"]).stdout)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (extra, r"is refused: 'more\.py' is not in its record \("),
        (missing, r"is refused: config\.json is missing \("),
        (shorter, r"is refused: config\.json has 2 bytes instead of 39 \("),
        (other_link, r"config\.json"),
        (key_gone, r"is refused: the key [0-9a-f]{64} is not in the registry \("),
        (other_key, r"is refused: the key [0-9a-f]{64} is not in the registry \("),
    ],
)
@pytest.mark.parametrize("place", ["directory"], indirect=True)
def test_what_does_not_fit_its_record_is_refused(options, exported, tmp_path, damage, sentence):
    told = publish(options, exported)
    damage(Path(told["path"]), tmp_path / "registry" / "keys")
    with pytest.raises(GaudiError, match=sentence):
        converge(options(version=told["version"], fingerprint=told["fingerprint"]), run_process, False)


@pytest.mark.parametrize("place", ["directory"], indirect=True)
def test_a_model_in_another_s_place_or_signed_by_another_key_is_refused(options, exported, tmp_path):
    told = publish(options, exported)
    other = tmp_path / "registry" / "models" / "other" / "versions"
    other.mkdir(parents=True)
    Path(told["path"]).rename(other / told["version"])
    with pytest.raises(GaudiError, match=r"^The model other [0-9a-f]{12} is refused: it is signed as llama \("):
        converge(options(name="other", version=told["version"]), run_process, False)
    foreign = publish(options, exported, name="mine", signing_key=str(tmp_path / "foreign.pem"))
    with pytest.raises(GaudiError, match=rf"is refused: it is signed by the key {foreign['fingerprint']} \("):
        converge(options(name="mine", version=foreign["version"], fingerprint=told["fingerprint"]), run_process, False)


@pytest.mark.parametrize("place", ["directory"], indirect=True)
def test_a_link_in_the_registry_is_not_followed(options, exported, tmp_path):
    (tmp_path / "registry" / "models").mkdir(parents=True)
    (tmp_path / "registry" / "models" / "llama").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(GaudiError, match=r"models/llama is a link, which may lead out of the registry; remove it\.$"):
        publish(options, exported)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_record_holds_no_time_and_reads_as_json(options, exported, store):
    told = publish(options, exported)
    record = json.loads(store.read(f"models/llama/versions/{told['version']}/gaudi3_scale_model.json", 1 << 20))
    assert record["name"] == "llama"
    assert record["facts"] == FACTS
    assert set(record) == {"format", "name", "files", "facts"}


def test_a_bucket_that_is_not_there_and_one_that_is_down_are_one_sentence(s3, exported, tmp_path, options):
    with pytest.raises(GaudiError, match=r"^registry: s3://nothing/.*: there is no such bucket; make it, or correct"):
        publish(options, exported, registry="s3://nothing")
    with s3.refusing(), pytest.raises(GaudiError, match=r"the storage refuses it \(SlowDown\)|\(503\)"):
        publish(options, exported, registry="s3://models/site")
    assert open_store("s3://models/site").names("models") == []
