# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.program import (
    Stack,
    digest_of,
    files_of,
    frozen_of,
    lines_of,
    pins_beside,
    specifiers,
)

STACK = Stack("/opt/venv", "/usr/bin/python3.11", ("/opt/venv/lib/python3.11/site-packages",), {"torch": "2.6.0+hpu"})


def test_what_a_file_says():
    text = (
        "# all of it\neinops==0.8.1  # why\n\ndatasets[vision] >= 2 ; python_version > '3.8'\n--prefer-binary\n"
        "safe==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nmine @ https://x.invalid/mine.whl#sha256=cc\n"
    )
    lines = lines_of(text)
    assert specifiers(lines) == [
        "einops==0.8.1",
        "datasets[vision] >= 2 ; python_version > '3.8'",
        "safe==1.0",
        "mine @ https://x.invalid/mine.whl#sha256=cc",
    ]
    assert "--prefer-binary" in lines
    assert [line for line in lines if "--hash=sha256:aa" in line and "--hash=sha256:bb" in line]
    assert lines_of("# nothing\n\n") == []


@pytest.mark.parametrize("line", ["-i https://x", "--find-links /x", "-c pins.txt", "--trusted-host=x", "-r more.txt"])
def test_where_packages_are_from_is_not_the_files_to_say(line):
    with pytest.raises(GaudiError, match="the site sets where packages come from"):
        lines_of(f"einops\n{line}\n")


def test_what_is_kept_of_a_stack_with_a_bundle_and_of_a_venv_of_somebodys_own():
    installed = {"torch": "2.6.0+hpu", "habana-torch-plugin": "1.20", "numpy": "2.1", "pillow-simd": "9.5"}
    bundle = {"torch": "2.6.0+hpu", "pillow-simd": "9.5"}
    assert frozen_of(installed, bundle) == {"habana-torch-plugin": "1.20", "pillow-simd": "9.5", "torch": "2.6.0+hpu"}
    assert frozen_of({"torch": "2.13.0", "torchvision": "0.28", "numpy": "2.1"}, {}) == {
        "torch": "2.13.0",
        "torchvision": "0.28",
    }


def test_a_version_in_the_file_takes_the_stacks_pin_away():
    pins = "# pins\nnumpy==2.1\nTokenizers==0.21\nfilelock==3.1 ; python_version < '3.12'\n"
    assert pins_beside(pins, ["numpy<2", "tokenizers"]) == "Tokenizers==0.21\nfilelock==3.1 ; python_version < '3.12'\n"


def test_the_environment_is_another_one_with_another_stack():
    first = digest_of(["einops"], STACK)
    others = [
        digest_of(["einops==0.8"], STACK),
        digest_of(["einops"], Stack(STACK.path, "/usr/bin/python3.12", STACK.sites, STACK.frozen)),
        digest_of(["einops"], Stack(STACK.path, STACK.interpreter, STACK.sites, {"torch": "2.7.0"})),
        digest_of(["einops"], Stack(STACK.path, STACK.interpreter, STACK.sites, STACK.frozen, "[global]\n")),
        digest_of(["einops"], Stack(STACK.path, STACK.interpreter, STACK.sites, STACK.frozen, "", "numpy==2.1\n")),
    ]
    assert len({first, *others}) == 6
    assert first == digest_of(["einops"], STACK)
    files = files_of("/e", ["einops"], STACK)
    assert files["lib/python3.11/site-packages/gaudi3_scale_stack.pth"] == (
        "import site; site.addsitedir('/opt/venv/lib/python3.11/site-packages')\n"
    )
    assert files["kept.txt"] == "torch==2.6.0+hpu\n"
    assert files["bin/torchrun"].startswith("#!/e/bin/python\n")
