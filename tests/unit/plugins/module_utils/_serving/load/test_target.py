# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whom the load is for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._serving.load.target import instance_target, only_instance, url_target


def write(directory: Path, **more: object) -> None:
    (directory / "config.json").write_text('{"vocab_size": 512}')
    told = {"address": "0.0.0.0", "port": 8000, "served_name": "books", "model": str(directory), **more}
    (directory / "books.json").write_text(json.dumps({"name": "books", "limits": {"max_model_len": 4096}, **told}))


def test_an_instance_is_met_as_it_was_written_down(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("abc\n")
    write(tmp_path, key_file=str(tmp_path / "key"))
    found = instance_target("books", str(tmp_path))
    assert (found.host, found.port, found.model, found.key) == ("127.0.0.1", 8000, "books", "abc")
    assert (found.max_tokens, found.vocabulary, found.has_tls, found.context()) == (4096, 512, False, None)


def test_an_instance_with_a_certificate_is_held_against_it(tmp_path: Path) -> None:
    write(tmp_path, address="::", certificate=str(tmp_path / "none.pem"))
    found = instance_target("books", str(tmp_path))
    assert (found.host, found.authority, found.is_pinned) == ("::1", "[::1]:8000", True)
    with pytest.raises(GaudiError, match=r"certificate: .*none\.pem cannot be read as a certificate"):
        found.context()


def test_an_instance_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="name: books is no instance; this node has none"):
        instance_target("books", str(tmp_path))
    write(tmp_path)
    with pytest.raises(GaudiError, match="name: bokks is no instance; those of this node: books, config"):
        instance_target("bokks", str(tmp_path))


def test_the_only_instance_needs_no_name(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="name is empty, and this node has no instance"):
        only_instance(str(tmp_path))
    place = tmp_path / "instances"
    place.mkdir()
    for name in ("books", "chat"):
        (place / f"{name}.json").write_text("{}")
    with pytest.raises(GaudiError, match="this node has books, chat; name one"):
        only_instance(str(place))
    (place / "chat.json").unlink()
    assert only_instance(str(place)) == "books"


@pytest.mark.parametrize(
    ("url", "host", "port", "has_tls"),
    [
        ("https://serving.example.org", "serving.example.org", 443, True),
        ("http://[fd00::1]:8000/", "fd00::1", 8000, False),
    ],
)
def test_a_server_by_its_address(url: str, host: str, port: int, has_tls: bool) -> None:
    found = url_target(url, "", "", "")
    assert (found.host, found.port, found.has_tls) == (host, port, has_tls)
    assert (found.context() is not None) is has_tls


@pytest.mark.parametrize(
    "url", ["serving:8000", "ftp://serving", "http://", "http://a:b@serving", "http://serving/v1", "http://serving:0x1"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(GaudiError, match="give scheme, host and port alone"):
        url_target(url, "", "", "")


def test_a_key_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"gone cannot be read on this node \(No such file"):
        url_target("http://serving:8000", "", str(tmp_path / "gone"), "")
