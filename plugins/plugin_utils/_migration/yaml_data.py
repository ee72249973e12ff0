# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""YAML of somebody else as plain data: nothing is filled in, decrypted or made an object."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

LARGEST = 1 << 20
DEEPEST = 32
# What ansible-vault writes at the start of a file that is encrypted as a whole.
VAULT = "$ANSIBLE_VAULT;"


class Encrypted:
    """A value that a vault has encrypted; nobody reads it here."""


class _Loader(yaml.SafeLoader):
    """Knows no tag but Ansible's two, refuses a key that is there twice, and what refers to another place."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            # A few of them within each other are more values than a machine has memory for.
            raise ValueError("it has an alias (*name), which is not read here; write the value in its place")
        depth: int = getattr(self, "depth", 0) + 1
        if depth > DEEPEST:
            raise ValueError(f"it nests deeper than {DEEPEST} levels")
        self.depth = depth
        node = super().compose_node(parent, index)
        self.depth = depth - 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _value in node.value]
        if not all(isinstance(key, (str, int, float, bool)) for key in keys):
            raise ValueError("a key of it is not text")
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise ValueError(f"{twice[0]!r:.60} is there twice; keep one")
        return {str(key): value for key, value in super().construct_mapping(node, deep=deep).items()}


def _text(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError("!unsafe stands at what is not text")
    return loader.construct_scalar(node)


_Loader.add_constructor("!vault", lambda _loader, _node: Encrypted())
_Loader.add_constructor("!unsafe", _text)


def read_yaml(text: str) -> Any:
    """The one document of a text; raises ValueError with a clause that says what is wrong."""
    try:
        # Nothing but safe data comes of this loader.
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is not YAML that can be read{where}") from None
    except RecursionError:
        raise ValueError("it nests too deep") from None
