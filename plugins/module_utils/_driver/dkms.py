# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""DKMS: which driver is built and installed for which kernel, the build, and what is left of one that failed."""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from .._errors import GaudiError
from .._node.commands import Run

# Both the PACKAGE_NAME in the vendor's dkms.conf and the directory under /var/lib/dkms.
DRIVER = "habanalabs"
LOG_LINES = 20
# Where the logs of failed builds are kept: taking the version out of DKMS removes its own.
KEPT_LOGS = "var/log/gaudi3_scale"

# dkms 3:  habanalabs/1.24.1-482, 6.8.0-45-generic, x86_64: installed (Original modules exist)
# dkms 2:  habanalabs, 1.24.1-482, 5.15.0-91-generic, x86_64: installed
_STATUS = re.compile(
    r"^(?P<module>[^/,\s]+)(?:/|, )(?P<version>[^,:\s]+)(?:, (?P<kernel>[^,\s]+), (?P<arch>[^:\s]+))?"
    r": (?P<state>[\w-]+)(?P<notes>.*)$"
)
# dkms 3.0: DKMS make.log for habanalabs-1.24.1-482 for kernel 6.8.0-45-generic (x86_64); 3.1 adds its own version.
_LOG_HEAD = re.compile(r"DKMS (?:\(\S+\) )?make\.log for \S+ for kernel (?P<kernel>\S+) ")
_COMPILER_ERROR = re.compile(r"\b(?:fatal )?error: |\*\*\* .*(?:Error|No rule)|^ERROR: ")


@dataclass(frozen=True)
class DkmsEntry:
    """One line of ``dkms status``. ``state`` is added, built, installed, installed-weak or broken."""

    module: str
    version: str
    kernel: str | None
    arch: str | None
    state: str
    notes: str

    @property
    def differs(self) -> bool:
        """Somebody replaced the installed copy after dkms put it there ("Diff" in dkms 3.0, "Differences" in 3.1)."""
        return "Diff" in self.notes


def parse_status(text: str) -> list[DkmsEntry]:
    """The entries of ``dkms status`` of dkms 2 or 3; its warnings and deprecation notes are passed over."""
    return [
        DkmsEntry(**{**match.groupdict(), "notes": match["notes"].strip(" ()")})
        for match in map(_STATUS.match, text.splitlines())
        if match
    ]


def read_status(run: Run) -> list[DkmsEntry]:
    """The driver's entries on this node; empty where dkms is not installed."""
    return parse_status(run(["dkms", "status", "-m", DRIVER]).stdout)


def installed_for(entries: Sequence[DkmsEntry], version: str, kernel: str) -> bool:
    """Whether this version of the driver is the one that ``kernel`` would load from dkms."""
    return any(
        entry.version == version and entry.kernel == kernel and entry.state.startswith("installed") for entry in entries
    )


def has_headers(kernel: str, root: str = "/") -> bool:
    """Whether a module can be built for ``kernel``; a removed headers package leaves a dangling ``build`` link."""
    return Path(root, "lib/modules", kernel, "build").is_dir()


def install(version: str, kernel: str, run: Run, timeout_s: float, root: str = "/") -> None:
    """Build where needed, and install for ``kernel``; the error carries the end of the build log."""
    started = time.time()
    # The form with -m and -v is the one that dkms 2 and 3 share. Without --force dkms puts nothing in the place of a
    # module that is newer or the same (the release before a rollback, an in-tree habanalabs), and ends with 0.
    done = run(["dkms", "install", "--force", "-m", DRIVER, "-v", version, "-k", kernel], timeout=timeout_s)
    if done.rc == 124:
        raise GaudiError(
            f"The build of {DRIVER} {version} for kernel {kernel} did not finish within {timeout_s:.0f} s; "
            "raise build_timeout, or see what the node is busy with."
        )
    if done.rc != 0:
        # Some file systems keep the time of a change to the second only.
        log = newest_log(version, kernel, root, since=int(started))
        raise build_error(version, kernel, log, root) if log else _refused(version, kernel, done.stdout + done.stderr)


def discard(version: str, kernel: str, run: Run) -> None:
    """Take one kernel's build out, so that :func:`install` builds it anew (another signing key, say)."""
    done = run(["dkms", "remove", "-m", DRIVER, "-v", version, "-k", kernel])
    if done.rc != 0:
        raise _refused(version, kernel, done.stdout + done.stderr)


def failed_build(kernel: str, root: str = "/", since: float = 0) -> GaudiError | None:
    """The error of the build that failed last, whoever began it: a package's script builds for more than one kernel.

    A build that came to its end has its log elsewhere. ``kernel`` is named where the log does not say which one it was.
    """
    times = {path: path.stat().st_mtime for path in Path(root, "var/lib/dkms", DRIVER).glob("*/build/make.log")}
    recent = [path for path, changed in times.items() if changed >= since]
    if not recent:
        return None
    log = max(recent, key=lambda path: times[path])
    head = _LOG_HEAD.match(next(iter(_lines(str(log))), ""))
    return build_error(log.parents[1].name, head["kernel"] if head else kernel, str(log), root)


def build_error(version: str, kernel: str, log: str, root: str = "/") -> GaudiError:
    """What an operator needs of a failed build: the first error, where a copy of the log is, and its last lines."""
    lines = _lines(log)
    kept = _keep(log, Path(root, KEPT_LOGS, f"dkms-{version}-{kernel}.log"))
    first = next((line.strip() for line in lines if _COMPILER_ERROR.search(line)), "the log has no compiler error")
    end = lines[-LOG_LINES:]
    sentence = (
        f"DKMS cannot build {DRIVER} {version} for kernel {kernel} ({first}): boot a kernel that this release "
        f"supports, or choose a release that supports this one; its log is {kept}."
    )
    return GaudiError("\n".join([sentence, "The log ends in:", *end]), kernel=kernel, build_log=kept)


def _keep(log: str, copy: Path) -> str:
    """A copy of the log; where there is no room for it the log itself has to do."""
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, copy)
    except OSError:
        return log
    return str(copy)


def _refused(version: str, kernel: str, output: str) -> GaudiError:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith("Error! ")), lines[-1] if lines else "no reason given")
    return GaudiError(
        f"DKMS cannot install {DRIVER} {version} for kernel {kernel}: {said}; see `dkms status` on the node.",
        kernel=kernel,
        dkms=lines[-LOG_LINES:],
    )


def newest_log(version: str, kernel: str, root: str = "/", since: float = 0) -> str | None:
    """The build log changed last: a failed build leaves it in the build directory, a finished one below its kernel."""
    tree = Path(root, "var/lib/dkms", DRIVER, version)
    candidates = [tree / "build/make.log", tree / kernel / os.uname().machine / "log/make.log"]
    times = {path: path.stat().st_mtime for path in candidates if path.is_file()}
    recent = [path for path, changed in times.items() if changed >= since]
    return str(max(recent, key=lambda path: times[path])) if recent else None


def _lines(path: str) -> list[str]:
    with Path(path).open(encoding="utf-8", errors="replace") as stream:
        return [line.rstrip("\n") for line in stream if line.strip()]
