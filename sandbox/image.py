# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes' image, made from the distribution's packages: no container registry is needed.

Its tag is a hash of what it is made from, so it is made again only when that changes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

from .commands import run, step
from .distribution import Distribution
from .paths import CACHE, IMAGE_FILES, make_directory
from .podman import LABEL_IMAGE, image_exists, images_in_use, limits, podman, stubborn

REPOSITORY = "localhost/gaudi3-sandbox"
# Raised when the same inputs have to give another image.
RECIPE = 2
# The packages' own scripts compile their Python modules, and these say where to: the caller's place is not the node's.
COMPILERS = ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")


def image_packages() -> list[str]:
    """The Debian packages of a node, from image/packages.txt."""
    lines = (IMAGE_FILES / "packages.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def image_name(distribution: Distribution) -> str:
    """Name and tag of the image for the inputs as they are now."""
    digest = hashlib.sha256(f"{RECIPE}\n{distribution}\n{os.environ.get('GAUDI_SANDBOX_BASE_IMAGE')}\n".encode())
    for path in sorted(path for path in IMAGE_FILES.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(IMAGE_FILES)}\n".encode() + path.read_bytes())
    return f"{REPOSITORY}:{distribution.codename}-{digest.hexdigest()[:12]}"


def ensure_image(distribution: Distribution, *, rebuild: bool = False) -> str:
    """Make the image unless it is there; returns its name."""
    name = image_name(distribution)
    if image_exists(name) and not rebuild:
        return name
    base = os.environ.get("GAUDI_SANDBOX_BASE_IMAGE")
    if base:
        with step(f"Node image {name} from {base}"):
            _from_base_image(name, base)
    else:
        with step(f"Node image {name} from the packages of {distribution.codename}"):
            _from_packages(name, distribution)
    return name


def _from_packages(name: str, distribution: Distribution) -> None:
    with tempfile.TemporaryDirectory(dir=make_directory(CACHE), prefix="image-") as scratch:
        sources = Path(scratch, f"apt{distribution.sources_suffix}")
        sources.write_text(distribution.sources, encoding="utf-8")
        archive = Path(scratch, "root.tar")
        run(
            [
                "mmdebstrap",
                "--mode=root",
                "--variant=minbase",
                f"--include={','.join(image_packages())}",
                f'--customize-hook={IMAGE_FILES / "customize.sh"} "$1"',
                distribution.codename,
                archive,
                sources,
            ],
            without=COMPILERS,
            remedy="See whether `apt-get update` works on this host, or name a mirror with GAUDI_SANDBOX_MIRROR.",
        )
        podman("import", "--quiet", "--change", f"LABEL {LABEL_IMAGE}=1", str(archive), name)


def _from_base_image(name: str, base: str) -> None:
    """From a user's own base image of the same distribution, where packages cannot be bootstrapped."""
    container = f"gaudi3-sandbox-image-{os.getpid()}"
    install = f"apt-get update -q && apt-get install -qy --no-install-recommends {' '.join(image_packages())}"
    script = f"{install} && /recipe/customize.sh / && rm -rf /var/lib/apt/lists/*"
    try:
        podman(
            "run", "--name", container, *limits(), "--env", "DEBIAN_FRONTEND=noninteractive",
            "--volume", f"{IMAGE_FILES}:/recipe:ro", base, "sh", "-c", script,
        )  # fmt: skip
        podman("commit", "--quiet", "--change", f"LABEL {LABEL_IMAGE}=1", container, name)
    finally:
        podman("rm", "--force", "--ignore", container)


def days_old(image: str) -> int:
    """How many days ago the image was made."""
    made = float(podman("image", "inspect", "--format", "{{.Created.Unix}}", image))
    return int((time.time() - made) / 86400)


def remove_images() -> list[str]:
    """Remove the images that the sandbox made and no container uses; returns what was removed."""
    used = images_in_use()
    listed = stubborn("images", "--no-trunc", "--quiet", "--filter", f"label={LABEL_IMAGE}=1").split()
    unused = [image for image in dict.fromkeys(listed) if image.removeprefix("sha256:") not in used]
    if unused:
        podman("rmi", *unused)
    return [f"image {image.removeprefix('sha256:')[:12]}" for image in unused]
