# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A file of variables for a job, a probe or a comparison, read with the rights of who may change it."""

from __future__ import annotations

import contextlib
import os
import pwd

from .._errors import GaudiError
from .._node.account_directory import acting_as, may_change
from .._node.regular_file import open_regular

# More than any environment has room for (execve(2): 2 MiB of arguments and environment).
LARGEST = 1 << 20


def variable_text(path: str, owner: pwd.struct_passwd) -> str | None:
    """The file's text, read as root only where ``owner`` cannot put another one there; None where there is none."""
    rights = acting_as(owner) if may_change(path, owner) else contextlib.nullcontext()
    try:
        with rights, open_regular(os.path.realpath(path)) as stream:
            data = stream.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GaudiError(
            f"environment_files: {path} cannot be read as {owner.pw_name}: {error.strerror}; let that account read it."
        ) from error
    if len(data) > LARGEST:
        raise GaudiError(f"environment_files: {path} has more than {LARGEST} bytes; name a file of variables.")
    return data.decode("utf-8", "surrogateescape")
