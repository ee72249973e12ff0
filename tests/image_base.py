# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulation: what of the vendor's image `build_image.yml` looks at, for a base image that is made without a registry.

`torch` here is a stand-in: it says a version of the vendor's, and adds numbers up over a socket as `gloo` does.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

TORCH = "2.11.0a0+gitdeadbee"
RELEASE = "1.24.1-482"

_TORCH = f'''"""A stand-in for PyTorch, made for tests of images."""
__version__ = {TORCH!r}


class Vector:
    def __init__(self, values):
        self.values = values

    def sum(self):
        return sum(self.values)


def full(shape, value, device="cpu"):
    return Vector([value] * shape[0])
'''
_DISTRIBUTED = '''"""Two ranks that add up over a socket of the loopback."""
import os
import socket
import struct
import time

_peers = []


def init_process_group(backend, rank, world_size):
    place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 0:
        with socket.create_server(place) as server:
            _peers.extend(server.accept()[0] for _other in range(world_size - 1))
        return
    for _turn in range(600):
        try:
            _peers.append(socket.create_connection(place))
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise TimeoutError("rank 0 is not there")


def _read(peer, length):
    data = b""
    while len(data) < length:
        data += peer.recv(length - len(data))
    return data


def all_reduce(vector):
    form = f"{len(vector.values)}d"
    for peer in _peers:
        peer.sendall(struct.pack(form, *vector.values))
    others = [struct.unpack(form, _read(peer, struct.calcsize(form))) for peer in _peers]
    vector.values = [sum(column) for column in zip(vector.values, *others)]


def destroy_process_group():
    for peer in _peers:
        peer.close()
'''


def vendors_packages(torch: str = TORCH, release: str = RELEASE) -> dict[str, str]:
    """Path below a directory of Python's to text."""
    plugin = release.replace("-", ".")
    return {
        "torch/__init__.py": _TORCH.replace(repr(TORCH), repr(torch)),
        "torch/distributed.py": _DISTRIBUTED,
        f"torch-{torch}.dist-info/METADATA": metadata("torch", torch),
        f"habana_torch_plugin-{plugin}.dist-info/METADATA": metadata("habana-torch-plugin", plugin),
    }


def metadata(name: str, version: str, *requires: str) -> str:
    """What pip reads of a package."""
    return "".join(
        [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", *(f"Requires-Dist: {one}\n" for one in requires)]
    )


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write them below ``root``."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def write_wheel(directory: Path, name: str, version: str, files: Mapping[str, str], *requires: str) -> Path:
    """A pure wheel with these files."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": metadata(name, version, *requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    target = directory / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in content.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    return target


def rude_wheel(directory: Path) -> Path:
    """It asks for nothing, and puts another PyTorch where the vendor's is."""
    other = {
        "rude-1.0.data/purelib/torch-9.9.0.dist-info/METADATA": metadata("torch", "9.9.0"),
        "rude-1.0.data/purelib/torch/version.py": "__version__ = '9.9.0'\n",
    }
    return write_wheel(directory, "rude", "1.0", {"rude.py": "", **other})


def greedy_wheel(directory: Path) -> Path:
    """It asks for another PyTorch."""
    return write_wheel(directory, "greedy", "1.0", {"greedy.py": ""}, "torch==9.9.0")
