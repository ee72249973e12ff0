# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One file, two readers: real shells, and systemd by its documented rules and, where there is one, its library."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import (
    Setting,
    assignment,
    parse,
    render,
)

SHELLS = [shell for shell in ("sh", "dash", "bash") if shutil.which(shell)]
LIBRARIES = sorted(Path("/usr/lib").glob("**/libsystemd-shared-*.so"))

AWKWARD = {
    "PLAIN": "0",
    "EMPTY": "",
    "CACHE": "/var/lib/gaudi3_scale/recipe_cache/1.24.1-482/96adf9ff,false,8192",
    "REGEX": r"^(lo|docker0|tunl0|virbr\d)$",
    "BLANKS": "  two  words  ",
    "HASH": "a #b",
    "TILDE": "~/logs:~root",
    "DOLLAR": "$HOME ${PATH} $(id) `id`",
    "QUOTES": """it's "quoted" ''""",
    "BACKSLASHES": "\\ \\\\ \\n end\\",
    "PERCENT": "%i %%",
    "SHELL_WORDS": "a;b&c|d<e>f(g)*?[h]{i,j}!",
    "EQUALS": "a=b=c",
    "LETTERS": "Grüße 你好 🙂",
}


def random_values(count: int) -> dict[str, str]:
    letters = "ab1 \"'\\$`~#;&|<>()*?[]{}!%=,:/.-_^@+é"
    source = random.Random(20)
    return {f"V{n}": "".join(source.choices(letters, k=source.randrange(12))) for n in range(count)}


VALUES = {**AWKWARD, **random_values(400)}
TEXT = render([Setting(name, value, f"source of {name}\\") for name, value in VALUES.items()], "a heading \\")


def read_by_systemds_rules(text: str) -> dict[str, str]:
    """systemd.exec(5), EnvironmentFile=: what a file without line continuations sets."""
    values = {}
    for line in text.split("\n"):
        if not line.strip() or line.lstrip()[0] in "#;":
            continue
        name, _equals, rest = line.partition("=")
        value, quote, letters = "", "", iter(rest.strip())
        for letter in letters:
            if quote == "'" and letter != "'":
                value += letter
            elif letter == "\\":
                following = next(letters, "")
                value += following if not quote or following in '"\\`$' else letter + following
            elif letter in ("'", '"') and quote in ("", letter):
                quote = "" if quote else letter
            else:
                value += letter
        values[name] = value
    return values


def read_by_shell(shell: str, text: str, path: Path) -> dict[str, str]:
    path.write_text(text, encoding="utf-8")
    script = 'set -a; . "$1"; exec env -0'
    done = subprocess.run(
        [shell, "-c", script, shell, str(path)],
        env={"PATH": "/usr/bin:/bin", "HOME": "/home/somebody"},
        check=True,
        capture_output=True,
    )
    pairs = (entry.partition("=") for entry in done.stdout.decode().split("\0") if entry)
    return {name: value for name, _equals, value in pairs}


def read_by_systemds_library(path: Path) -> dict[str, str]:
    library = ctypes.CDLL(str(LIBRARIES[-1]))
    pairs = ctypes.POINTER(ctypes.c_char_p)()
    assert library.load_env_file_pairs(None, str(path).encode(), ctypes.byref(pairs)) == 0
    texts = []
    while pairs[len(texts)] is not None:
        texts.append(pairs[len(texts)].decode())
    return dict(zip(texts[::2], texts[1::2]))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_every_value_unchanged(shell: str, tmp_path: Path) -> None:
    found = read_by_shell(shell, TEXT, tmp_path / "environment")
    assert {name: found.get(name) for name in VALUES} == VALUES


def test_systemd_reads_every_value_unchanged() -> None:
    assert read_by_systemds_rules(TEXT) == VALUES


@pytest.mark.skipif(not LIBRARIES, reason="no libsystemd-shared on this machine")
def test_systemds_own_parser_reads_every_value_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "environment"
    path.write_text(TEXT, encoding="utf-8")
    assert read_by_systemds_library(path) == VALUES


def test_what_is_written_is_read_back() -> None:
    assert parse(TEXT, "environment") == VALUES


def test_every_value_stands_below_its_source() -> None:
    text = render([Setting("A", "1", "the vendor's page"), Setting("B", "x y", "the operator")], "Written by us.")
    assert text == '# Written by us.\n\n# the vendor\'s page\nA=1\n\n# the operator\nB="x y"\n'


def test_a_source_of_several_lines_stays_one_comment() -> None:
    assert render([Setting("A", "1", "one\nB=2")], "h") == "# h\n\n# one B=2\nA=1\n"


@pytest.mark.parametrize("value", ["a\nb", "a\tb", "\0", "\x7f", "\x1b[0m", "\udce9", "\ufffe", "\ufdd0"])
def test_a_value_that_a_file_cannot_hold_is_refused(value: str) -> None:
    with pytest.raises(GaudiError, match=r"^NAME holds .* cannot: remove line breaks.*\.$"):
        assignment("NAME", value)


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "Ä", "A=B", "A\n"])
def test_a_name_that_a_shell_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(GaudiError, match="is not the name of an environment variable"):
        assignment(name, "1")


@pytest.mark.parametrize(
    "line",
    [
        "A=two words",
        "A = 1",
        "export A=1",
        " A=1",
        "A=~/x",
        "A=$HOME",
        "A=x\\ y",
        'A="x\\y"',
        'A="a" # comment',
        "A='it'",
        'A="open',
        "; comment",
        "A=1\r",
        "A=`id`",
        "nothing",
    ],
)
def test_a_line_that_the_two_read_differently_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(
        GaudiError, match=r"^/etc/flags, line 2, is read differently by systemd and a shell: write .*\.$"
    ):
        parse(f"# first\n{line}\n", "/etc/flags")


def test_the_last_of_two_equal_names_counts() -> None:
    assert parse('A=1\nA="2"\n', "f") == {"A": "2"}
