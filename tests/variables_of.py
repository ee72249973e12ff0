# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A file of variables as Ansible reads it, and whether each of its strings is marked as no template."""

from __future__ import annotations

from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Refuses a string that is not marked."""


def _unmarked(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    # The names of the variables themselves, which the collection gives.
    if node.start_mark.column == 0:
        return str(node.value)
    raise AssertionError(f"{node.value!r} is not marked !unsafe")


def _marked(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    return loader.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:str", _unmarked)
_Loader.add_constructor("!unsafe", _marked)


def variables_of(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)
