# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a profile as data: what a shell would export is found, and nothing that only a shell can know."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.shell_profile import LARGEST, parse, read_file


def exported(text: str) -> dict[str, str | None]:
    return {name: one.value for name, one in parse(text).exported.items()}


READ = [
    ("export A=/a/b.so", {"A": "/a/b.so"}),
    ("  export\tA=/a  # why", {"A": "/a"}),
    ("A=/a; export A", {"A": "/a"}),
    ("A=/a\nexport A", {"A": "/a"}),
    ("export A\nA=/a", {"A": "/a"}),
    ("export A=1 B=2", {"A": "1", "B": "2"}),
    ("export A=", {"A": ""}),
    ("export A=/1\nexport A=/2 B=$A", {"A": "/2", "B": "/1"}),
    ("A=/1\nA=/2 B=$A; export A B", {"A": "/2", "B": "/2"}),
    ("export A=1;", {"A": "1"}),
    ("export A=1\nexport A=2", {"A": "2"}),
    ("export A='$B `c` \"d\"'", {"A": '$B `c` "d"'}),
    ("export A=\"/a b\"/c'd'", {"A": "/a b/cd"}),
    ('export A="\\"\\$\\`\\\\"', {"A": '"$`\\'}),
    ('R=/r\nexport A=$R/x B=${R}/y C="$R:${R}"', {"A": "/r/x", "B": "/r/y", "C": "/r:/r"}),
    ("export A=${A:-/a}", {"A": "/a"}),
    ("export A=/1\nexport A=${A:-/2}", {"A": "/1"}),
    ("E=\nexport A=${E:-1} B=${E-2} C=${E:+3} D=${E+4}", {"A": "1", "B": "", "C": "", "D": "4"}),
    ("export A=/a${A:+:$A}", {"A": "/a"}),
    ("export A=/a\nexport A=/b${A:+:$A}", {"A": "/b:/a"}),
    ("ulimit -l unlimited\numask 022\nexport A=1", {"A": "1"}),
    ("# export A=1\n\n", {}),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_assignments_are_read(text: str, expected: dict[str, str]) -> None:
    assert (exported(text), parse(text).unread) == (expected, None)


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_shell_says_the_same(text: str, expected: dict[str, str]) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{text}\nexec /usr/bin/env -0"], env={}, capture_output=True, text=True, check=True
    )
    found = dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)
    assert {name: value for name, value in found.items() if name not in ("PWD", "SHLVL", "_", "OLDPWD")} == expected


@pytest.mark.parametrize(
    "text",
    [
        "export A=/a:$PATH",
        "export A=${PATH}:/a",
        'export A="$(hostname)"',
        "export A=$(uname -r)/x",
        "export A=${B:-$(uname -r)}",
        "export A=`uname -r`",
        "R=$PATH\nexport A=$R/x",
    ],
)
def test_what_depends_on_the_shell_is_no_value(text: str) -> None:
    assert (exported(text), parse(text).unread) == ({"A": None}, None)


@pytest.mark.parametrize(
    "line",
    [
        "export A=1\r",
        "export A=1\x00",
        "export A='\x1b[31m'",
        "export A=~/x",
        "export A=a\\",
        "export A=\\$B",
        "export A='open",
        'export A="open',
        "export A=$(cat $(which x))",
        "export A=$((1 + 1))",
        "export A=${B%%/*}",
        "export A=${B:=1}",
        "export A=$1",
        "export A=*",
        "export A=1 && touch /tmp/x",
        "export A=1; rm -rf /",
        "export A=1 | cat",
        "export A=1 &",
        "export A=1;;",
        "export A+=1",
        "export -n A",
        "export",
        "A=1 command",
        "declare -x A=1",
        "unset A",
        "eval A=1",
        ". /opt/x/setvars.sh",
        "source /opt/x/setvars.sh",
        "if [ -d /opt ]; then export A=1; fi",
        "[ -d /opt ] && export A=1",
        "return",
        "f() { export A=1; }",
        "cat <<END",
        "$A=1",
        "ulimit -l unlimited; export A=1",
    ],
)
def test_reading_ends_at_what_is_more_than_an_assignment(line: str) -> None:
    text = f"export Z=/z\n{line}\nexport Y=/y\n"
    assert parse(text).unread == (2, line)
    assert exported(text) == {"Z": "/z"}


@pytest.mark.parametrize("rest", ["export Z=/other", "unset Z", "for Z in 1 2", "read Z", ": ${Z:=1}"])
def test_what_follows_may_change_what_was_read(rest: str) -> None:
    assert exported(f"export Z=/z Y=/y\nif true; then\n{rest}\nfi") == {"Y": "/y", "Z": None}


def test_what_follows_may_look_at_what_was_read() -> None:
    assert exported("export Z=/z\n[ -d $Z ] && [ -d ${Z}/x ]\n# Z=1") == {"Z": "/z"}


def test_a_file_goes_on_from_the_one_before_it() -> None:
    before = parse("export R=/r\nexport A")
    assert parse("export B=${R}/b\nA=/a", before).exported.keys() == {"A", "B"}
    doubtful = parse("export R=/r\nif true; then R=/s; fi")
    assert parse("export B=${R}/b", doubtful).exported["B"].value is None
    assert parse("export B=${R:-/b}", doubtful).exported["B"].value is None
    assert doubtful.exported["R"].value is None


def test_values_know_their_line() -> None:
    assert parse("# one\nexport A=1\n\nA=2\n").exported["A"].line == 4


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("export A=é\n")
    link = tmp_path / "link.sh"
    link.symlink_to(path)
    assert read_file(str(link)) == ("export A=é\n", "")


def test_what_is_no_profile_is_said_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.sh")
    (tmp_path / "folder.sh").mkdir()
    (tmp_path / "gone.sh").symlink_to(tmp_path / "nothing")
    (tmp_path / "large.sh").write_bytes(b"#" * (10 << 20))
    (tmp_path / "latin.sh").write_bytes(b"export A=\xe9\n")
    (tmp_path / "open.sh").write_text("export A=1\n")
    (tmp_path / "open.sh").chmod(0o666)
    said = {path.name: read_file(str(path)) for path in sorted(tmp_path.iterdir())}
    assert said == {
        "fifo.sh": ("", "is not a regular file"),
        "folder.sh": ("", "is not a regular file"),
        "gone.sh": ("", "cannot be read: No such file or directory"),
        "large.sh": ("", f"has more than {LARGEST // 1024} KiB"),
        "latin.sh": ("", "is not UTF-8"),
        "open.sh": ("", "can be written by users other than root"),
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_file_of_another_account_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("export A=1\n")
    os.chown(path, 65534, 65534)
    assert read_file(str(path)) == ("", "can be written by users other than root")
