# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What stands before a node's torchrun where its ranks run in a container; see ``enter.py``."""

from __future__ import annotations

from dataclasses import dataclass

from ..binding.launcher import ISOLATED
from .enter import PYTHON
from .mounts import Mount

# torchrun of whichever Python the image has first on its path: its script need not be there.
TORCHRUN = (PYTHON, "-m", "torch.distributed.run")


@dataclass(frozen=True)
class Entry:
    """``program`` is the file that ``_launch.node_programs`` brings to each node; the venv's ``python`` runs it.

    ``image`` is the directory of the image on the node, ``own`` the names of the variables that the operator set for
    the job, and ``library`` the node library's directory; "": there is none.
    """

    python: str
    program: str
    image: str
    name: str
    home: str
    device: str
    kernel_root: str = "/"
    mounts: tuple[Mount, ...] = ()
    own: tuple[str, ...] = ()
    library: str = ""

    def argv(self, pid_file: str = "") -> tuple[str, ...]:
        """The words before the command; ``pid_file`` gets the process number of its first program."""
        given = {"--pid-file": pid_file, "--library": self.library, "--kernel-root": self.kernel_root}
        return (
            *(self.python, *ISOLATED, self.program),
            *("--image", self.image, "--name", self.name, "--home", self.home, "--device", self.device),
            *(word for option, value in given.items() if value for word in (option, value)),
            *(word for mount in self.mounts for word in ("--mount", mount.word)),
            *(word for name in self.own for word in ("--own", name)),
            "--",
        )
