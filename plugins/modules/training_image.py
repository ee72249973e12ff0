#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: training_image
short_description: Build a container image of a project on the PyTorch of a Gaudi release
version_added: "1.0.0"
description:
  - Builds an image from the vendor's image of a release, the project's requirements file and its code, with podman or
    buildah. System packages come first, then Python packages, the code last, so that a change of the code rebuilds one
    layer.
  - Constraints keep the vendor's PyTorch and the packages that belong to it. A build that changed them fails with both
    versions, and its image is removed.
  - The same inputs give the same image, so the image is built once. A label has the digest of the inputs, and a second
    run with the same inputs builds nothing.
  - The image runs as a number that is not root's, and its code belongs to root.
  - Before anything is pushed, two ranks in a container of the image run an all-reduce.
  - A bill of materials (SPDX 2.3) lists the packages of the image, and a signature in the form of
    C(containers-signature(5)) lets podman, skopeo and CRI-O verify it.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  name:
    description: Name of the image, in lower case.
    type: str
    required: true
  code:
    description: Directory with the project's code, on this host.
    type: path
    required: true
  requirements:
    description:
      - "The project's requirements file, in O(code). Empty: no Python packages."
      - Packages that bring a PyTorch of their own or code for other cards are refused, such as C(torch) and
        C(flash-attn).
    type: str
    default: requirements.txt
  excluded:
    description: Names and patterns of what in O(code) is not copied.
    type: list
    elements: str
    default: [.git, .venv, .env, __pycache__, "*.pyc"]
  os_packages:
    description: Packages of the base image's distribution to install.
    type: list
    elements: str
    default: []
  release:
    description:
      - Release of the Gaudi software on the nodes, with or without its build, for example V(1.24.1) or V(1.24.1-482).
      - A base image of another release is refused.
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  registry:
    description: Registry and path of the vendor's images, or of a mirror with the same names.
    type: str
    default: vault.habana.ai/gaudi-docker
  system:
    description: Operating system in the name of the vendor's image.
    type: str
    default: ubuntu22.04
  base_image:
    description:
      - Another base image, as V(registry.example.org/team/image@sha256:...), or an archive on this host, as
        V(oci-archive:/path) or V(docker-archive:/path). A name without a path is one of the bundle. It must
        have been made from the vendor's image of O(release).
      - "Empty: the vendor's image of O(release) and O(system) in O(registry)."
    type: str
    default: ""
  base_digest:
    description:
      - Digest of the base image, as V(sha256:...), where O(base_image) does not have it. For an archive, the checksum
        of the file, which is optional.
    type: str
    default: ""
  environment:
    description: Environment variables of the image. Secrets are refused.
    type: dict
    default: {}
  build_arguments:
    description: Environment variables of pip during the build. Secrets are refused.
    type: dict
    default: {}
  command:
    description: Default command of the image, one word per item.
    type: list
    elements: str
    default: []
  container_user:
    description: User and group of the image's processes, as numbers that are not root's.
    type: str
    default: "1000:1000"
  index_url:
    description: "Package index for pip. It stays out of the image. Empty: the bundle's, or pip's default."
    type: str
    default: ""
  packages_url:
    description: URL of a bundle (M(gaudi3.scale.package_bundle)). Used only with O(bundle_fingerprint).
    type: str
    default: ""
  bundle_fingerprint:
    description:
      - Fingerprint of the key that signs the bundle. Python packages come from it unless O(index_url) is set, and
        O(os_packages) always.
      - "Empty: no bundle is used."
    type: str
    default: ""
  push:
    description:
      - "Repository to push the image to, without a tag, such as V(registry.example.org/team/llm). Empty: it stays on
        this host."
    type: str
    default: ""
  authfile:
    description: "Credentials for registries, as C(podman login) writes them. Empty: those of root."
    type: path
    default: ""
  plain_http_hosts:
    description: Hosts that may be contacted without TLS. A registry or index without TLS on any other host is refused.
    type: list
    elements: str
    default: []
  signing_key:
    description: "Secret key on this host that signs the image. Created if missing. Empty: it is not signed."
    type: path
    default: /var/lib/gaudi3_scale/image-signing-key.asc
  device:
    description: Device of the all-reduce. V(hpu) needs cards on this host.
    type: str
    choices: [cpu, hpu]
    default: hpu
  rebuild:
    description:
      - Whether to build from the base image, without layers of earlier builds, even if the inputs are unchanged. It
        picks up newer versions of packages that are not pinned.
    type: bool
    default: false
  directory:
    description: Directory for records, bills of materials and signatures.
    type: path
    default: /var/lib/gaudi3_scale/images
  timeout:
    description: Seconds that a build may take.
    type: int
    default: 7200
attributes:
  check_mode:
    support: full
    description: Reports what would be built, tested, pushed and signed.
  diff_mode:
    support: none
    description: No diff. The label C(scale.gaudi3.inputs) changes with the inputs.
seealso:
  - module: gaudi3.scale.package_bundle
  - module: gaudi3.scale.training_venv
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Build an image of the project and push it
  gaudi3.scale.training_image:
    name: llm
    code: /srv/checkout/llm
    release: 1.24.1
    base_digest: sha256:4a1c4b21597c1b4415bdbecb28a3296c6b5e23ca4f9feeb599860a1dac6a0108
    push: registry.example.org/team/llm
"""

RETURN = r"""
msg:
  description: What was done.
  type: str
  returned: success
steps:
  description: What was done, or would be in check mode - C(build), C(test), C(push), C(sign).
  type: list
  elements: str
  returned: success
image:
  description: Name of the image on this host. The tag is the start of the digest of the inputs.
  type: str
  returned: success
image_id:
  description: ID of the image. Equal inputs give the same one.
  type: str
  returned: success
digest:
  description: Digest of the image in the registry, or on this host if it was not pushed.
  type: str
  returned: success
pushed:
  description: What jobs start, as REPOSITORY@DIGEST. Empty if O(push) is not set.
  type: str
  returned: success
inputs:
  description: Digest of all that the image is made from, as in the label C(scale.gaudi3.inputs).
  type: str
  returned: success
base:
  description: The base image.
  type: str
  returned: success
release:
  description: Release of the image, as in the label C(scale.gaudi3.release).
  type: str
  returned: success
torch:
  description: Version of PyTorch in the image, as in the label C(scale.gaudi3.torch).
  type: str
  returned: success
layers:
  description: Number of layers.
  type: int
  returned: success
own_layers:
  description: Number of layers on top of the base image.
  type: int
  returned: success
instructions:
  description: Number of instructions of the build. 0 if nothing was built.
  type: int
  returned: success
cached_instructions:
  description: Number of them whose result an earlier build had.
  type: int
  returned: success
packages:
  description: Number of packages in the bill of materials.
  type: int
  returned: success
proof:
  description: The all-reduce that the image passed. Empty in check mode before the first build.
  type: dict
  returned: success
  contains:
    device:
      description: Device of the ranks.
      type: str
    ranks:
      description: Number of ranks.
      type: int
    torch:
      description: Version of PyTorch that they loaded.
      type: str
sbom:
  description: File with the bill of materials.
  type: str
  returned: success
signed:
  description: What was signed, as NAME@DIGEST. Empty without O(signing_key).
  type: str
  returned: success
signature:
  description: File with the signature. Empty without O(signing_key).
  type: str
  returned: success
fingerprint:
  description: Fingerprint of the signing key. Empty without O(signing_key).
  type: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.image_release import VENDORS_REGISTRY
from ansible_collections.gaudi3.scale.plugins.module_utils._image import state
from ansible_collections.gaudi3.scale.plugins.module_utils._image.options import DEVICES, ImageOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    text = {"type": "str", "default": ""}
    strings = {"type": "list", "elements": "str", "default": []}
    run_module(
        AnsibleModule,
        answer,
        empty=("requirements", "signing_key"),
        argument_spec={
            "name": {"type": "str", "required": True},
            "code": {"type": "path", "required": True},
            "requirements": {"type": "str", "default": "requirements.txt"},
            "excluded": {**strings, "default": [".git", ".venv", ".env", "__pycache__", "*.pyc"]},
            "os_packages": strings,
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "registry": {"type": "str", "default": VENDORS_REGISTRY},
            "system": {"type": "str", "default": "ubuntu22.04"},
            "base_image": text,
            "base_digest": text,
            "environment": {"type": "dict", "default": {}},
            "build_arguments": {"type": "dict", "default": {}},
            "command": strings,
            "container_user": {"type": "str", "default": "1000:1000"},
            "index_url": text,
            "packages_url": text,
            "bundle_fingerprint": text,
            "push": text,
            "authfile": {"type": "path", "default": ""},
            "plain_http_hosts": strings,
            "signing_key": {"type": "path", "default": "/var/lib/gaudi3_scale/image-signing-key.asc", "no_log": False},
            "device": {"type": "str", "choices": list(DEVICES), "default": "hpu"},
            "rebuild": {"type": "bool", "default": False},
            "directory": {"type": "path", "default": "/var/lib/gaudi3_scale/images"},
            "timeout": {"type": "int", "default": 7200},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    return state.converge(ImageOptions(**given), run_process, module.check_mode)


if __name__ == "__main__":
    main()
