# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A site's registry on the first node, without TLS, and images that say of themselves what an image may.

They are made of the node's own Python: its interpreter and libraries are in the image, and PyTorch comes from the
training venv, which a job mounts; so an image is made in seconds. No image of the vendor's was ever seen here.
"""

from __future__ import annotations

from tests.node_registry import SERVE
from tests.sandbox_jobs import shell

REGISTRY = "node1:5000"
TEAM = f"{REGISTRY}/team"
VENV = "/opt/gaudi3_scale/venv"
ARCHIVE = "/shared/train.tar"
# Where a node has what it fetched: of all accounts, and of the one that runs jobs.
IMAGES_OF_NODE = "/var/lib/gaudi3_scale/images"
STORE = f"{IMAGES_OF_NODE}/gaudi"
# In the image, and on no node.
MARK = "/etc/of-the-image"
PACKAGES = "docker-registry skopeo podman crun"
INSTALL = f"""set -e
export DEBIAN_FRONTEND=noninteractive
missing=$(for p in {PACKAGES}; do dpkg-query -Wf '${{db:Status-Status}}' $p 2>&1 | grep -qx installed || echo $p; done)
[ -z "$missing" ] || {{ apt-get update -q && apt-get install -qy --no-install-recommends $missing; }} > /dev/null
"""
ROOT = """set -e
root=/var/tmp/image-root
rm -rf $root
mkdir -p $root/usr/bin $root/usr/lib $root/etc $root/opt $root/tmp $root/var/tmp $root/var/lib $root/root
for d in bin sbin lib lib64; do [ ! -L /$d ] || ln -s usr/$d $root/$d; done
mkdir -p $root/usr/sbin $root/usr/lib64
cp -a /usr/bin/python3* /usr/bin/dash /usr/bin/sh /usr/bin/env $root/usr/bin/
cp -a /usr/lib/python3* /usr/lib/$(uname -m)-linux-gnu $root/usr/lib/
cp -a /usr/lib64/. $root/usr/lib64/
cp -a /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/python3* $root/etc/ 2>/dev/null || true
printf 'root:x:0:0::/root:/bin/sh\\n' > $root/etc/passwd
printf 'root:x:0:\\n' > $root/etc/group
touch $root/etc/of-the-image
# What an image must not be able to hand to anybody on the node.
cp $root/usr/bin/dash $root/usr/bin/rootly && chmod 4755 $root/usr/bin/rootly
tar -C $root -cf /var/tmp/image.tar .
mkdir -p /var/tmp/image-empty/etc && tar -C /var/tmp/image-empty -cf /var/tmp/empty.tar .
"""
PATH = f"PATH={VENV}/bin:/usr/bin:/bin"
# Name and tag -> the archive that it is made of, and what of podman's import says what it is.
IMAGES = {
    "train:1.24.1-482": ("image", f"--change 'ENV {PATH}' --change 'LABEL scale.gaudi3.release=1.24.1-482'"),
    "train:1.16.0-526": ("image", f"--change 'ENV {PATH}' --change 'LABEL scale.gaudi3.release=1.16.0-526'"),
    "arm:1.24.1-482": ("image", f"--arch arm64 --change 'ENV {PATH}'"),
    "empty:1.24.1-482": ("empty", f"--change 'ENV {PATH}'"),
}


def make_images() -> None:
    """All of them in the registry, and the first one in an archive that both nodes see."""
    for node in ("node1", "node2"):
        shell(node, INSTALL)
        shell(node, f"rm -rf {IMAGES_OF_NODE}")
    shell("node1", SERVE)
    shell("node1", ROOT)
    for name, (archive, options) in IMAGES.items():
        push = f"podman push --quiet --tls-verify=false localhost/{name} docker://{TEAM}/{name}"
        shell("node1", f"podman import --quiet {options} /var/tmp/{archive}.tar localhost/{name} && {push}")
    shell("node1", f"rm -f {ARCHIVE}; podman save --quiet --format oci-archive -o {ARCHIVE} localhost/train:1.24.1-482")
    shell("node1", f"chmod 644 {ARCHIVE}; podman rmi --all --force > /dev/null; rm -rf /var/tmp/image*")


def digest_of(name: str) -> str:
    """What the registry itself says."""
    return shell(
        "node1", f"skopeo inspect --tls-verify=false --no-tags --format '{{{{.Digest}}}}' docker://{name}"
    ).strip()
