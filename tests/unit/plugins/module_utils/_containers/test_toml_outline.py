# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The outline of a TOML text against Python's own reader, and the keys that can be set in it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.toml_outline import TomlError, outline, set_key

CRI = 'plugins."io.containerd.grpc.v1.cri"'
TEXT = f'''\
# The site's own settings.
version = 2
root = "/data # not a comment"
disabled_plugins = [
  "a", # with a comment ] in it
  'b',
]
limits = {{ a = 1, b = [ {{ c = "}}" }} ] }}
text = """
[not.a.table]
key = "no"
"""
when = 1979-05-27 07:32:00Z

[{CRI}]
  sandbox_image = "registry.k8s.io/pause:3.9"

  [{CRI}.containerd] # runtimes
    snapshotter = 'overlayfs'
    [ plugins . 'io.containerd.grpc.v1.cri' . containerd.runtimes.runc ]
      runtime_type = "io.containerd.runc.v2"
      "quoted key" = -1.5e3

[[stream]]
id = "x"
[[stream]]
id = "y"
'''
RUNTIMES = ("plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes")
needs_reader = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python reads TOML since 3.11")


def parse(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


@needs_reader
def test_the_outline_has_the_keys_that_python_reads() -> None:
    found = outline(TEXT)
    document = parse(TEXT)
    plain = [key for key in found.keys if key.table != ("stream",)]
    assert len(plain) == 10
    for key in plain:
        value: Any = document
        for name in key.path:
            value = value[name]
        written = TEXT[key.value_start : key.value_end]
        assert parse(f"x = {written}") == {"x": value}


def test_values() -> None:
    found = outline(TEXT)
    assert found.raw(("version",)) == "2"
    assert found.strings(("root",)) == ("/data # not a comment",)
    assert found.strings(("disabled_plugins",))[0] == "a"
    assert found.raw((*RUNTIMES, "runc", "quoted key")) == "-1.5e3"
    assert found.raw(("nothing",)) is None
    assert found.strings(("nothing",)) == ()


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ((), "version", "3"),
        (("plugins", "io.containerd.grpc.v1.cri", "containerd"), "default_runtime_name", '"habana"'),
        (("plugins", "io.containerd.grpc.v1.cri", "containerd"), "snapshotter", '"zfs"'),
        ((*RUNTIMES, "habana"), "runtime_type", '"x"'),
        ((*RUNTIMES, "runc"), "extra", "true"),
        (("debug",), "level", '"info"'),
    ],
)
@needs_reader
def test_a_key_is_set_and_the_rest_stays(table: tuple[str, ...], name: str, value: str) -> None:
    after = set_key(TEXT, table, name, value)
    expected = parse(TEXT)
    place: Any = expected
    for part in table:
        place = place.setdefault(part, {})
    place[name] = parse(f"x = {value}")["x"]
    assert parse(after) == expected
    kept = set(TEXT.splitlines()) - set(after.splitlines())
    assert len(kept) <= 1
    assert set_key(after, table, name, value) == after


def test_a_new_key_stands_below_its_siblings_with_their_indentation() -> None:
    after = set_key("[a]\n    x = 1 # one\n\n[b]\ny = 2", ("a",), "z", "3")
    assert after == "[a]\n    x = 1 # one\n    z = 3\n\n[b]\ny = 2"
    assert set_key("[a]\n[b]\n", ("a",), "z", "3") == "[a]\n  z = 3\n[b]\n"
    assert set_key("[a]", ("a",), "z", "3") == "[a]\n  z = 3\n"
    assert set_key("x = 1", ("a", "b.c"), "z", "3") == 'x = 1\n\n[a."b.c"]\n  z = 3\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("version = 2\n<xml/>\n", 2),
        ("version\n", 1),
        ("a = \n", 1),
        ("a = [1, 2\nb = 3\n", 1),
        ("[a\nb = 1\n", 1),
        ("[a]\nx = 1\n[a]\n", 3),
        ('a = "open\n', 1),
        ("a = 1 b = 2\n", 1),
        ("= 1\n", 1),
        ("a = 1\nb = 2\na = 3\n", 3),
        ("[t]\na.b = 1\na.b = 2\n", 3),
        ("[[t]]\na = 1\na = 2\n", 3),
    ],
)
def test_a_text_that_cannot_be_followed_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(TomlError) as caught:
        outline(text)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"line {line}: ")


@pytest.mark.parametrize(
    "text",
    [
        "[a]\nb = { c = 1 }\n",
        "[a]\nb.c.d = 1\n",
        "a.b.c.d = 1\n",
        "[[a.b]]\nx = 1\n",
        "[a]\nb = 1\n",
    ],
)
def test_a_table_that_a_header_may_not_extend_is_refused(text: str) -> None:
    with pytest.raises(TomlError):
        set_key(text, ("a", "b", "c"), "z", "3")


def test_each_table_of_an_array_has_its_own_keys() -> None:
    text = "[[t]]\na = 1\n[t.u]\nb = 1\n[[t]]\na = 2\n"
    assert [key.path for key in outline(text).keys] == [("t", "a"), ("t", "u", "b"), ("t", "a")]
