# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A file of variables for a job, a probe or a comparison, read with the rights of who may change it."""

from __future__ import annotations

import contextlib
import os
import pwd

from .._errors import GaudiError
from .._node.account_directory import acting_as
from .._node.path_writers import is_roots
from .._node.regular_file import open_regular

# More than any environment has room for (execve(2): 2 MiB of arguments and environment).
LARGEST = 1 << 20


def is_of_others(path: str, owner: pwd.struct_passwd) -> bool:
    """Whether an account may change the file, so that root reads it with no more rights than ``owner`` has.

    Also where that is a third account: it could put a link there to what root alone may read.
    """
    return owner.pw_uid not in (0, os.geteuid()) and not is_roots(path)


def variable_text(path: str, owner: pwd.struct_passwd) -> str | None:
    """The file's text, read as root only where nobody else can put another one there; None where there is none."""
    rights = acting_as(owner) if is_of_others(path, owner) else contextlib.nullcontext()
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
