# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where the modules look for the kernel."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import VARIABLE, kernel_tree


@pytest.mark.parametrize(("value", "root"), [(None, "/"), ("", "/"), ("/", "/"), ("/var/lib/k", "/var/lib/k")])
def test_it_is_the_nodes_own_unless_the_environment_names_another(monkeypatch, value, root):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert kernel_tree() == root


def test_a_place_that_depends_on_the_process_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "kernel")
    with pytest.raises(GaudiError, match=f"{VARIABLE}='kernel' is not an absolute path; unset it"):
        kernel_tree()
