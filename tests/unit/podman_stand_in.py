# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulation: a program `podman` that keeps images as directories, for tests of who calls it.

It builds what containerfile.py renders: the base's files, the code, and for each requirement an entry of Python's
database; `rude` puts another torch there, and `greedy` fails as pip does. A container is the image's Python packages
before those of this machine. The real podman and buildah are in molecule/build_image.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

STORE = Path(os.environ.get("PODMAN_STAND_IN", ""))
SITE = "usr/local/lib/python3.11/dist-packages"
CONFLICT = """STEP 7/12: RUN pip
ERROR: Cannot install greedy==1.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    greedy 1.0 depends on torch==9.9.0
    The user requested (constraint) torch==2.11.0a0+gitdeadbee
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io
"""


def place(name: str) -> Path:
    """Where an image is, by its name or id."""
    names = json.loads((STORE / "names.json").read_text()) if (STORE / "names.json").exists() else {}
    return STORE / "images" / names.get(name, name)


def keep(root: Path, name: str, labels: dict[str, str], layers: list[str]) -> str:
    total = hashlib.sha256(json.dumps(labels, sort_keys=True).encode())
    for path in sorted(root.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        total.update(f"{path.relative_to(root)} {path.stat().st_mode:o}\0".encode() + content)
    identity = total.hexdigest()
    target = STORE / "images" / identity
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.move(str(root), target / "root")
    image = {
        "Id": identity,
        "Digest": f"sha256:{identity}",
        "Created": "2026-01-02T03:04:05.123456789Z",
        "Labels": labels,
    }
    image |= {"Architecture": "amd64" if os.uname().machine == "x86_64" else os.uname().machine}
    (target / "image.json").write_text(json.dumps([{**image, "RootFS": {"Layers": layers}}]))
    names = json.loads((STORE / "names.json").read_text()) if (STORE / "names.json").exists() else {}
    (STORE / "names.json").write_text(json.dumps({**names, name: identity}))
    return identity


def value(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def build(words: list[str]) -> int:
    file, context = Path(value(words, "--file")), Path(words[-1])
    text, log = file.read_text(), Path(value(words, "--logfile"))
    base = place(re.findall(r"^FROM (\S+)$", text, re.MULTILINE)[0])
    required = (context / "requirements.txt").read_text().split()
    if "greedy==1.0" in required:
        log.write_text(CONFLICT)
        return 1
    root = STORE / "scratch"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(base / "root", root)
    shutil.copytree(context / "code", root / "workspace")
    for name, version in (line.split("==") for line in required):
        info = root / SITE / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        if name == "rude":
            (root / SITE / "torch-9.9.0.dist-info").mkdir()
            (root / SITE / "torch-9.9.0.dist-info/METADATA").write_text("Name: torch\nVersion: 9.9.0\n")
    labels = dict(re.findall(r'([\w.]+)="([^"]*)"', text.partition("LABEL ")[2]))
    keep(root, value(words, "--tag"), labels, ["base", "python", "code"])
    log.write_text("STEP 1/4: FROM\nSTEP 2/4: RUN pip\n--> Using cache 12ab\nSTEP 3/4: COPY\nSTEP 4/4: LABEL\nCOMMIT\n")
    return 0


def push(words: list[str]) -> int:
    if "refused.example.org" in words[-1]:
        print("Error: http: server gave HTTP response to HTTPS client", file=sys.stderr)
        return 125
    identity = json.loads((place(words[-2]) / "image.json").read_text())[0]["Id"]
    Path(value(words, "--digestfile")).write_text(f"sha256:{hashlib.sha256(identity.encode()).hexdigest()}")
    return 0


def start(words: list[str]) -> int:
    image = next(word for word in words if (place(word) / "root").is_dir())
    environment = {**os.environ, "PYTHONPATH": str(place(image) / "root" / SITE)}
    command = [value(words, "--entrypoint"), *words[words.index(image) + 1 :]]
    return subprocess.run(command, env=environment, check=False).returncode


def main(words: list[str]) -> int:
    """Do what podman does of these words."""
    with (STORE / "calls").open("a") as calls:
        calls.write(" ".join(words)[:200].replace("\n", " ") + "\n")
    verb = words[0] if words[0] != "image" else f"image {words[1]}"
    if verb == "--version":
        print("podman version 4.3.1")
    elif verb == "image inspect":
        if not (place(words[2]) / "image.json").exists():
            return 125
        print((place(words[2]) / "image.json").read_text())
    elif verb == "image mount":
        print(place(words[2]) / "root")
    elif verb == "build":
        return build(words)
    elif verb == "rmi":
        shutil.rmtree(place(words[-1]), ignore_errors=True)
    elif verb == "push":
        return push(words)
    elif verb == "run":
        return start(words)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
