# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a manifest may say, whoever wrote it."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest

from gaudi3_scale.checkpoints.manifest import FileRecord, Manifest, manifest_text, read_manifest
from gaudi3_scale.checkpoints.signature import ForeignError, opened, signed

SHA = hashlib.sha256(b"weights").hexdigest()
WHOLE = {"format": 1, "step": 4, "run": 7, "files": {"__0_0.distcp": {"bytes": 7, "sha256": SHA}}}
KEY = bytes(range(32))


def with_file(name: str, **about: Any) -> dict[str, Any]:
    return {**WHOLE, "files": {name: {"bytes": 7, "sha256": SHA, **about}}}


def test_what_is_written_is_read():
    manifest = Manifest(4, 7, {"__0_0.distcp": FileRecord(7, SHA), ".metadata": FileRecord(0, SHA)})
    assert read_manifest(manifest_text(manifest)) == manifest
    assert read_manifest(json.dumps(WHOLE)) == Manifest(4, 7, {"__0_0.distcp": FileRecord(7, SHA)})


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "/etc/x", "a/b", "a\\b", "a\nb", "a\0b", "a\x7fb", "a" * 256, "é", "manifest.json", "..\n"],
)
def test_only_plain_names_are_names(name):
    with pytest.raises(ValueError, match="which is not the name of a checkpoint file"):
        read_manifest(json.dumps(with_file(name)))


@pytest.mark.parametrize("size", [-1, 1.5, 1e30, True, "7", None, (1 << 50) + 1, [7]])
def test_a_size_is_a_number_that_a_file_can_have(size):
    with pytest.raises(ValueError, match=r"the size of a.distcp is not a whole number from 0 to 1125899906842624"):
        read_manifest(json.dumps(with_file("a.distcp", bytes=size)))


@pytest.mark.parametrize("change", [{"step": -1}, {"step": "4"}, {"run": 1 << 40}, {"run": 1.0}, {"step": 10**13}])
def test_step_and_run_are_numbers_within_bounds(change):
    with pytest.raises(ValueError, match=r"^its (step|run) is not a whole number from 0 to \d+$"):
        read_manifest(json.dumps({**WHOLE, **change}))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 200_000,
        "9" * 5_000,
        "NaN",
        "[]",
        "7",
        '"x"',
        "",
        b"\xff\xfe\x00",
        json.dumps({**WHOLE, "files": 7}),
        json.dumps({**WHOLE, "files": [["a"]]}),
        json.dumps({name: value for name, value in WHOLE.items() if name != "run"}),
    ],
)
def test_other_text_is_no_manifest(text):
    for read in (
        read_manifest,
        lambda reported: opened(reported.encode() if isinstance(reported, str) else reported, KEY, True),
    ):
        with pytest.raises(ValueError, match=r"^it is not a manifest$"):
            read(text)


@pytest.mark.parametrize("about", [{"sha256": "x"}, {"sha256": SHA.upper()}, {"sha256": 7}, {"mode": 0o4755}])
def test_a_file_is_its_size_and_its_checksum(about):
    with pytest.raises(ValueError, match=r"a\.distcp"):
        read_manifest(json.dumps(with_file("a.distcp", **about)))


def test_a_name_is_listed_once():
    record = json.dumps({"bytes": 7, "sha256": SHA})
    text = f'{{"format": 1, "step": 4, "run": 7, "files": {{"a.distcp": {record}, "a.distcp": {record}}}}}'
    with pytest.raises(ValueError, match=r"^it lists 'a.distcp' twice$"):
        read_manifest(text)


def test_a_signature_is_an_hmac_of_the_text():
    """As any other program can work it out."""
    manifest = read_manifest(json.dumps(WHOLE))
    envelope = json.loads(signed(manifest, KEY))
    text = b"gaudi3.scale checkpoint manifest 1\n" + envelope["manifest"].encode()
    assert envelope["hmac_sha256"] == hmac.new(KEY, text, hashlib.sha256).hexdigest()
    assert opened(json.dumps(envelope).encode(), KEY) == manifest


@pytest.mark.parametrize("at", range(0, 64, 9))
def test_every_digit_of_a_signature_counts(at):
    envelope = json.loads(signed(read_manifest(json.dumps(WHOLE)), KEY))
    digits = list(envelope["hmac_sha256"])
    digits[at] = "0" if digits[at] != "0" else "1"
    with pytest.raises(ForeignError, match="it is not signed with this job's key"):
        opened(json.dumps({**envelope, "hmac_sha256": "".join(digits)}).encode(), KEY)


@pytest.mark.parametrize("signature", [None, 7, [], "é"])
def test_a_signature_that_is_none(signature):
    envelope = {"manifest": json.dumps(WHOLE), "hmac_sha256": signature}
    with pytest.raises(ValueError, match="it is not a manifest"):
        opened(json.dumps(envelope).encode(), KEY)
