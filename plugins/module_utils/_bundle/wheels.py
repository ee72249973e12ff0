# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The Python parts of a bundle: the vendor's PyTorch archive, and the wheels that pip takes beside it.

pip itself works out which, with the Python, the archive and the constraint that ``training_venv`` has on a node.
It only names the files (``--dry-run --report``): fetching, resuming and checking them is done here.
"""

from __future__ import annotations

import json
import shutil
import urllib.parse
from pathlib import Path
from typing import Iterable, Mapping

from .._errors import GaudiError
from .._node.commands import Run
from .._node.root_program import root_python
from .._releases.lookup import version_key
from .._venv import pip_install
from .._venv import plan as venv_plan
from .._venv.pin_table import PINS
from .._venv.pins import chosen, left_to, needed, render
from .._venv.plan import VenvOptions
from .._venv.private_files import write_private
from .._venv.wheel_bundle import choose, demands, unpack, versions
from .fetch import fetch_all
from .layout import WHEELS
from .manifest import Entry
from .plan import BundleOptions, RemoteFile, installer_path, pytorch_path, safe_path

# The first pip with --dry-run and --report.
_REPORTING_PIP = "22.2"


def pytorch(options: BundleOptions, known: dict[str, Entry]) -> list[Entry]:
    """The PyTorch archive of the release for one system."""
    path = pytorch_path(options, options.rows()[0])
    algorithm, _colon, digits = options.pytorch_checksum.partition(":")
    if options.pytorch_checksum and algorithm != "sha256":
        raise GaudiError(f"pytorch_checksum must be sha256:<hex digits>, not '{options.pytorch_checksum}'.")
    if not digits:
        digits = options.rows()[0].pytorch_sha256.get(options.os_directory, "")
    vouched = "the operator's checksum" if digits else RemoteFile.vouched
    return fetch_all(options, [RemoteFile(f"{options.repository}/{path}", path, 0, digits.lower(), vouched)], known)


def installer(options: BundleOptions, known: dict[str, Entry]) -> list[Entry]:
    """The vendor's installer script, for those who want it at hand; this collection does not use it."""
    path = installer_path(options.rows()[0])
    return fetch_all(options, [RemoteFile(f"{options.repository}/{path}", path)], known)


def wheels(options: BundleOptions, run: Run, known: dict[str, Entry]) -> list[Entry]:
    """Every wheel that ``requirements``, the node library and its extras need on a node beside the PyTorch archive."""
    if not options.requirements and not options.extras:
        return []
    report = _resolve(options, run)
    return fetch_all(options, remote_files(report, f"{options.work}/"), known)


def remote_files(report: Mapping[str, object], ours: str) -> list[RemoteFile]:
    """pip's installation report as files to fetch, without those below ``ours``: of the archive, or the operator's."""
    files = {}
    items = report.get("install")
    for item in items if isinstance(items, list) else []:
        about = item["download_info"]
        url = about["url"].partition("#")[0]
        if url.startswith("file:") and urllib.parse.unquote(urllib.parse.urlsplit(url).path).startswith(ours):
            continue
        sha256 = (about.get("archive_info", {}).get("hashes") or {}).get("sha256", "")
        name = urllib.parse.unquote(url.rpartition("/")[2])
        vouched = "the pip index" if sha256 else RemoteFile.vouched
        files[name] = RemoteFile(url, f"{WHEELS}/{safe_path(name, 'The pip index')}", 0, sha256, vouched)
    return list(files.values())


def _resolve(options: BundleOptions, run: Run) -> dict[str, object]:
    """What pip would install into an empty environment, as its report."""
    venv = VenvOptions(
        path=f"{options.work}/venv-{options.os_directory}",
        python=options.python,
        packages_url=options.repository,
        release=options.release,
        requirements=options.requirements,
        index_url=options.index_url,
        constraints=f"{options.work}/constraints-{options.os_directory}.txt",
        timeout=options.timeout,
    )
    python = pip_install.python_version(venv, run)
    if not Path(venv.path, "bin/pip").exists():
        shutil.rmtree(venv.path, ignore_errors=True)
        pip_install.make(venv, run)
    # As in training_venv: the environment's own pip.conf names the index and the constraint.
    archive = Path(options.work, f"pytorch-{options.os_directory}")
    files, bundled = _archive_wheels(options, archive, python)
    Path(venv.constraints).write_text(venv_plan.render_constraints(bundled, options.rows()[0]), encoding="utf-8")
    write_private(Path(venv.path, "pip.conf"), venv_plan.render_pip_conf(venv).splitlines())
    pins = chosen(PINS, options.pins, options.requirements)
    vendors = left_to(demands(files), pins)
    Path(venv.path, venv_plan.PINS_FILE).write_text(render(pin for pin in pins if pin.name not in vendors), "utf-8")
    try:
        _require_reports(venv, run)
        ours = [pin.line for pin in needed(pins, options.extras) if pin.name not in vendors]
        return _report(options, venv, [*(Path(file).as_uri() for file in files), *options.requirements, *ours], run)
    finally:
        shutil.rmtree(archive, ignore_errors=True)


def _archive_wheels(
    options: BundleOptions, directory: Path, python: tuple[int, int]
) -> tuple[list[str], dict[str, str]]:
    """The PyTorch archive's wheels for this Python: files, and name to version. Empty where there is no archive."""
    path = Path(options.path, pytorch_path(options, options.rows()[0]))
    if not path.is_file():
        return [], {}
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    chosen = choose(unpack(str(path), str(directory), str(path)), ["*.whl"], python, str(path))
    return [str(directory / wheel.file) for wheel in chosen.values()], versions(chosen)


def _require_reports(venv: VenvOptions, run: Run) -> None:
    """Have a pip that can report; the one that older distributions bring cannot."""
    pip = [root_python(venv.path, "work"), "-I", "-m", "pip", "--disable-pip-version-check"]
    words = run([*pip, "--version"], timeout=60).stdout.split()
    if version_key(words[1] if len(words) > 1 else "0") >= version_key(_REPORTING_PIP):
        return
    done = run([*pip, "install", "--quiet", "--no-input", "--upgrade", "pip"], timeout=venv.timeout)
    if done.rc != 0:
        raise pip_install.failure("pip", venv, done)


def _report(options: BundleOptions, venv: VenvOptions, what: Iterable[str], run: Run) -> dict[str, object]:
    file = f"{options.work}/report-{options.os_directory}.json"
    pip = [root_python(venv.path, "work"), "-I", "-m", "pip", "install", "--quiet", "--no-input"]
    settings = [
        "--disable-pip-version-check",
        "--dry-run",
        "--ignore-installed",
        "--report",
        file,
        "--only-binary",
        ":all:",
        "-c",
        venv.constraints,
    ]
    settings += ["-c", f"{venv.path}/{venv_plan.PINS_FILE}"]
    asked = Path(options.work, f"requirements-{options.os_directory}.txt")
    write_private(asked, list(what))
    settings += ["-r", str(asked)]
    if Path(options.own_wheels).is_dir():
        settings += ["--find-links", options.own_wheels]
    directories = {"TMPDIR": options.work, "PIP_CACHE_DIR": f"{options.work}/pip-cache"}
    done = run([*pip, *settings], timeout=options.timeout, env=directories)
    if done.rc != 0:
        raise pip_install.failure("pip", venv, done)
    report: dict[str, object] = json.loads(Path(file).read_text(encoding="utf-8"))
    return report
