# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A program's own requirements on a node: installed once as the job's account, and found again by their digest.

What pip builds it also runs. So that account runs it, in a directory that root's directory has and that is the
account's; root reads nothing in there, runs nothing of it, and keeps a record beside it.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.account_directory import acting_as, give, remove
from .._node.commands import Run, last_line
from .._node.instances import runtimes
from .._node.job_user import account, run_as_user
from .._node.json_file import read_json
from .._node.lock import exclusive
from .._node.rendered_files import WantedFile, pending, read_text, write
from .._node.secret_words import without_credentials
from .._node.umask import readable_by_all
from .._node.venv_sites import ENVIRONMENTS, SITE
from .pip_install import LAST_LINES, first_error
from .plan import PINS_FILE, STAMP, installed_distributions, parse_stamp
from .program import (
    TORCHRUN,
    Stack,
    digest_of,
    files_of,
    frozen_of,
    lines_of,
    path_of,
    refuse_replaced,
    refuse_unknown_vendors,
    specifiers,
)

STATE_DIRECTORY = "/var/lib/gaudi3_scale"
# An environment that no job names and that nobody has asked for so long is gone with the next installation.
KEPT_S = 30 * 86400
ASKED = "GAUDI3_SCALE_ASKED"
CHECK = f"""
import json, os
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name
asked, frozen = json.loads(os.environ["{ASKED}"])
wrong = []
for line in asked:
    one = Requirement(line)
    have = frozen.get(canonicalize_name(one.name))
    if have is None or (one.marker and not one.marker.evaluate()):
        continue
    if one.url or not one.specifier.contains(have, prereleases=True):
        wrong.append([line, one.name, have])
print(json.dumps(wrong))
"""
CHECK_SECONDS = 60.0
CONFLICT = re.compile(r"ResolutionImpossible|conflicting")


@dataclass(frozen=True)
class ProgramOptions:
    """``venv`` is the stack's; ``text`` the requirements; ``timeout`` the seconds for each program that is started."""

    venv: str
    text: str
    user: str
    timeout: int = 3600
    directory: str = ENVIRONMENTS
    state_directory: str = STATE_DIRECTORY


def converge(options: ProgramOptions, run: Run, check_mode: bool) -> dict[str, object]:
    """Bring the environment to be there; raises GaudiError for what cannot be meant, before anything is touched."""
    lines = lines_of(options.text)
    owner = account(options.user)
    stack = _stack(options.venv)
    refuse_unknown_vendors(lines, stack)
    path = path_of(options.directory, options.user, digest_of(lines, stack))
    is_there = _is_there(path)
    if not is_there:
        _refuse(lines, options, stack, run)
    if not check_mode:
        with exclusive(
            "program packages", options.timeout, directory=options.state_directory, remedy="wait for it to finish"
        ):
            is_there = _is_there(path)
            if not is_there:
                _install(lines, options, stack, path, owner, run)
        # The record says when it was asked for last.
        os.utime(f"{path}.json")
    after = "".join(f"{line}\n" for line in lines)
    diff = [] if is_there else [{"before_header": path, "after_header": path, "before": "", "after": after}]
    return {"changed": not is_there, "venv": path, "requirements": lines, "diff": diff}


def _stack(venv: str) -> Stack:
    python = f"{venv}/bin/python"
    sites = sorted(Path(venv).glob(SITE))
    if not os.access(python, os.X_OK) or not sites:
        raise GaudiError(f"{python} is missing; install the training stack first, or set its venv.")
    installed = installed_distributions([entry.name for site in sites for entry in site.iterdir()])
    stamp = parse_stamp(read_text(f"{venv}/{STAMP}"))
    frozen = frozen_of(installed, stamp.wheels if stamp else {})
    texts = (read_text(f"{venv}/{name}") or "" for name in ("pip.conf", PINS_FILE))
    return Stack(venv, os.path.realpath(python), tuple(map(str, sites)), frozen, *texts)


def _is_there(path: str) -> bool:
    """By root's record alone, which is written last."""
    return read_json(f"{path}.json") is not None and Path(path).is_dir()


def _refuse(lines: list[str], options: ProgramOptions, stack: Stack, run: Run) -> None:
    owner = account(options.user)
    secret = f"{options.venv}/pip.conf"
    if stack.pip_conf and owner.pw_uid != 0 and not Path(secret).stat().st_mode & stat.S_IROTH:
        raise GaudiError(
            f"{secret} has credentials that only root may read, and {options.user} installs a program's requirements; "
            "name them in gaudi_venv_requirements instead, which root installs."
        )
    asked = json.dumps([specifiers(lines), dict(stack.frozen)])
    argv = [f"{options.venv}/bin/python", "-I", "-c", CHECK]
    done = run_as_user(options.user, argv, run, timeout=CHECK_SECONDS, env={ASKED: asked})
    if done.rc != 0:
        raise GaudiError(
            f"requirements cannot be read by {options.venv}/bin/python: {last_line(done.stderr)}; correct them."
        )
    refuse_replaced(json.loads(last_line(done.stdout)), stack)


def _install(
    lines: list[str], options: ProgramOptions, stack: Stack, path: str, owner: pwd.struct_passwd, run: Run
) -> None:
    _forget_old(Path(path).parent, options.state_directory)
    # What an interrupted run has left has no record.
    remove([path, f"{path}.json"])
    with readable_by_all():
        give(path, owner)
    try:
        _fill(lines, options, stack, path, owner, run)
    except GaudiError:
        remove([path])
        raise
    record = {"stack": stack.path, "interpreter": stack.interpreter, "requirements": lines}
    for change in pending([WantedFile(f"{path}.json", json.dumps(record, indent=2) + "\n", mode=0o644)]):
        write(change)


def _fill(
    lines: list[str], options: ProgramOptions, stack: Stack, path: str, owner: pwd.struct_passwd, run: Run
) -> None:
    scratch = f"{path}/tmp"
    _as_account(options, [f"{stack.path}/bin/python", "-m", "venv", "--without-pip", path], {}, run)
    with acting_as(owner), readable_by_all():
        for name, text in files_of(path, lines, stack).items():
            Path(path, name).write_text(text, encoding="utf-8")
        Path(path, TORCHRUN).chmod(0o755)
        Path(scratch).mkdir()
    pip = [f"{path}/bin/python", "-m", "pip", "install", "--isolated", "--no-input", "--disable-pip-version-check"]
    settings = ["--require-virtualenv", "--no-cache-dir", "--progress-bar", "off", "-c", f"{path}/kept.txt"]
    packages = ["-r", f"{path}/requirements.txt"]
    try:
        _as_account(options, [*pip, *settings, "-c", f"{path}/{PINS_FILE}", *packages], {"TMPDIR": scratch}, run)
    except GaudiError as error:
        if not CONFLICT.search(str(error)):
            raise
        # What a program needs may need another version than the stack's own packages have; the program's word counts.
        _as_account(options, [*pip, *settings, *packages], {"TMPDIR": scratch}, run)


def _as_account(options: ProgramOptions, argv: list[str], environment: dict[str, str], run: Run) -> None:
    done = run_as_user(options.user, argv, run, timeout=options.timeout, env=environment)
    if done.rc == 0:
        return
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    sentence = (
        f"requirements cannot be installed as {options.user}: {first_error(lines)}; correct them, or have the packages "
        "put into the site's index (gaudi_venv_index_url)."
    )
    raise GaudiError(
        without_credentials("\n".join([sentence, "The last lines are:", *lines[-LAST_LINES:]])), rc=done.rc
    )


def _forget_old(directory: Path, state_directory: str) -> None:
    """Environments that no job and no instance names and that nobody has asked for in a month."""
    of_jobs = Path(state_directory, "control").glob("*/job.json")
    named = {str((read_json(str(one)) or {}).get("venv")) for one in of_jobs} | runtimes()
    for record in directory.glob("*.json"):
        with suppress(OSError):
            venv = str(record)[: -len(record.suffix)]
            if venv not in named and time.time() - record.stat().st_mtime > KEPT_S:
                remove([str(record), venv])
