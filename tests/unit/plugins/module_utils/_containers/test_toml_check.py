# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Python's own reader of TOML refuses is not merged into, and what it takes is; the oracle is tomllib."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.toml_merge import Setting, with_settings
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

tomllib = pytest.importorskip("tomllib")
WANTED = [Setting(("zz", "y"), "k", '"v"')]


@pytest.mark.parametrize(
    "text",
    [
        'a = 1\n[b]\nc = "x" # y\n',
        "a = [1, 2, # c\n 3,\n]\n",
        "a = {b = 1, c.d = [2]}\n",
        "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 1\n",
        "a.b = 1\na.c = 2\n",
        "d = 1979-05-27 07:32:00Z\nt = 07:32:00.5\n",
        "x = 0xFF_00\ny = -1_000.5e-3\nz = +inf\n",
        'a = """x "y" \\\n  z"""\n',
        'a = """"x""""\n',
        "a = '''\nx\n'''\n",
        "[a.b]\nc = 1\n[a]\nd = 2\n",
        '"a b".c = "\\u00e9"\n',
        "\n# c\n",
        'a = "# no comment"\n',
        '[plugins."io.containerd.grpc.v1.cri"]\n  [plugins."io.containerd.grpc.v1.cri".containerd]\n    x = true\n',
        'a = 1\r\n[b]\r\nc = """\r\nx"""\r\n',
        "d = 2026-02-28\n",
        "a = []\nb = {}\n",
        "[a]\nb.c = 1\n[a.b.d]\ne = 1\n",
    ],
    ids=range(19),
)
def test_what_a_reader_takes_is_merged_into(text):
    merged = with_settings(text, "/etc/x.toml", WANTED)
    assert merged.startswith(text.rstrip("\n"))
    assert tomllib.loads(merged) == {**tomllib.loads(text), "zz": {"y": {"k": "v"}}}


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\na = 2\n",
        "[t]\na=1\n[t]\nb=2\n",
        "a = yes\n",
        "a = 01\n",
        "a = 1 2\n",
        'a = "x" b\n',
        'a = "\\q"\n',
        'a = "\x01"\n',
        "a = 'x\x07'\n",
        "a = 1_\n",
        "a = 1__0\n",
        "a = +0x1\n",
        "a = .5\n",
        "a = 5.\n",
        "a = 2026-13-40\n",
        "a = 25:00:00\n",
        'a = "x\ny"\n',
        "a.b = 1\na = 2\n",
        "a = 1\na.b = 2\n",
        "a = {b = 1}\n[a]\nc=1\n",
        "a = {b = 1}\na.c = 2\n",
        "a = [1,,2]\n",
        "a = [1 2]\n",
        "a = {b=1,}\n",
        "a = {b=1\n}\n",
        "[a]\n[[a]]\n",
        "[[a]]\n[a]\n",
        "a = []\n[[a]]\n",
        "[a.b]\n[a]\nb=1\n",
        "[a\n",
        "[]\n",
        "[a]]\n",
        "a =\n",
        "= 1\n",
        "a\n",
        '"a = 1\n',
        "a = truE\n",
        "a = inf1\n",
        "a = 0xZZ\n",
        "a = 1e\n",
        'a = "\\ud800"\n',
        'a = "\\uZZZZ"\n',
        "# \x01\n",
        "a = 1 # \x00\n",
        "a = 1\rb = 2\n",
        "\ufeffa = 1\n",
        'a."b = 1\n',
        'a = """x\n',
        "a = '''x\n",
        "[a.]\n",
        "[.a]\n",
        "a..b = 1\n",
        "a = {b=1, b=2}\n",
        "a = {b.c=1, b=2}\n",
        "[a]\nb.c=1\n[a.b]\nd=1\n",
        'a = "x"\x85\n',
        "a = [\n1\n",
        "a = -\n",
        "a = 1.2.3\n",
        "a = 1979-05-27 07\n",
        "a = ---1\n",
        '[runtime]\nx = "y\n',
        "a = 0b12\n",
        "a = tru\n",
        "ä = 1\n",
        'a = "\udcff"\n',
        "a = [{b=1]\n",
        "a = [}\n",
        "a = )\n",
        "version = 2\nversion = 3\n",
        '[plugins."x"]\n[plugins."x"]\n',
        '[plugins."x"]\n[plugins.x]\n',
        "[plugins.'x']\n[plugins.\"x\"]\n",
        "a = 1 b = 2\n",
        "[x] y = 1\n",
        "[x] # ok\n",
    ],
    ids=range(76),
)
def test_what_a_reader_refuses_is_left_alone(text):
    try:
        tomllib.loads(text)
        text.encode()
    except ValueError:
        with pytest.raises(GaudiError, match=r"^/etc/x\.toml cannot be merged into .*nothing was changed\.$"):
            with_settings(text, "/etc/x.toml", WANTED)
    else:
        assert tomllib.loads(with_settings(text, "/etc/x.toml", WANTED))["zz"]


def test_nesting_has_an_end():
    with pytest.raises(GaudiError, match="cannot be merged into"):
        with_settings("a = " + "[" * 5000 + "]" * 5000 + "\n", "/etc/x.toml", WANTED)
