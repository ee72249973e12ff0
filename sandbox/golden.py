# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A golden image: the disk of a node with all that was installed there, from which another sandbox's nodes begin.

It saves minutes a node where the question is not whether things can be installed. Like the image of virgin nodes it
stays when its sandbox goes, until it is captured anew, or removed with that one.
"""

from __future__ import annotations

import json
import os

from .commands import step
from .image import REPOSITORY
from .paths import CHECKOUT
from .plan import NodePlan
from .podman import LABEL_CHECKOUT, LABEL_NAME, image_exists, images_in_use, limits, podman, sandboxes_here, stubborn

# What a node makes for itself at its first boot: host keys, the machine's id, the cards' serial numbers. And logs of
# jobs: a directory that an image brings cannot be renamed (EXDEV of overlayfs), by which a next run puts them away.
# That of the vendor's logs stays, and a second run finds it.
FORGET = (
    "rm -rf /etc/ssh/ssh_host_* /var/lib/gaudi_simulator/node.json /var/log/gaudi3_scale/habana/*"
    " && find /var/log/gaudi3_scale -mindepth 1 -maxdepth 1 ! -name habana -exec rm -rf {} +"
    " && : > /etc/machine-id"
)


def golden_image(sandbox: str) -> str:
    """The name of the golden image of a sandbox's node, whether it is there or not."""
    return f"{REPOSITORY}:golden-{sandbox}"


def capture(sandbox: str, node: NodePlan) -> str:
    """Keep the node's disk as it is now, less what makes the node this one; returns the image's name."""
    name = golden_image(sandbox)
    marks = [f"--change=LABEL {LABEL_NAME}={sandbox}", f"--change=LABEL {LABEL_CHECKOUT}={CHECKOUT}"]
    cleaning = f"{node.container}-golden-{os.getpid()}"
    with step(f"Golden image {name} of {node.name}"):
        disk = podman("commit", "--quiet", *marks, node.container).strip()
        try:
            podman("run", "--name", cleaning, *limits(), disk, "sh", "-c", FORGET)
            podman("commit", "--quiet", *marks, cleaning, name)
        finally:
            podman("rm", "--force", "--ignore", cleaning)
    return name


def captured(sandbox: str) -> str | None:
    """The golden image of that sandbox, if one was captured."""
    name = golden_image(sandbox)
    return name if image_exists(name) else None


def remove_unneeded(*, named: bool) -> list[str]:
    """Remove what no node runs from: predecessors of this checkout's golden images; returns their names.

    With ``named`` those images too whose sandbox is gone.
    """
    ours = stubborn("images", "--filter", f"label={LABEL_CHECKOUT}={CHECKOUT}", "--format", "json")
    living = set(sandboxes_here())
    used = images_in_use()
    # One that was captured anew left its predecessor without a name.
    gone = {
        image["Id"]: (image.get("Names") or [f"image {image['Id'][:12]}"])[0]
        for image in json.loads(ours or "[]")
        if image["Id"] not in used and (not image.get("Names") or (named and image["Labels"][LABEL_NAME] not in living))
    }
    if gone:
        podman("rmi", *gone)
    return list(gone.values())
