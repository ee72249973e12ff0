# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How the one environment file reaches systemd units, login shells, containers and Slurm jobs: texts of small files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from .._errors import GaudiError
from .._node.environment_file import Setting, is_bare
from .._node.rendered_files import WantedFile

DROP_IN = "50-gaudi3-scale-flags.conf"
_UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]+\.service")
_HEADING = "# Written by gaudi3.scale.hpu_flags; changes by hand are lost."


@dataclass(frozen=True)
class Reach:
    """Who gets the flags of ``path``; an empty place means nobody of that kind."""

    path: str
    login_shell: str = ""
    task_prolog: str = ""
    units: Sequence[str] = ()
    unit_directory: str = "/etc/systemd/system"


def container_file(path: str, settings: Sequence[Setting]) -> str:
    """The file for ``--env-file``: the one of the node, or another where a value needs quotes.

    docker and podman take the rest of the line as it is, so they would make quotes a part of the value.
    """
    return path if all(is_bare(setting.value) for setting in settings) else f"{path}.container"


def wanted_files(reach: Reach, settings: Sequence[Setting], present_drop_ins: Sequence[str]) -> list[WantedFile]:
    """All files beside the environment file itself; ``present_drop_ins`` are those on the node, for what is to go."""
    units = {f"{reach.unit_directory}/{_checked(unit)}.d/{DROP_IN}": drop_in(reach.path) for unit in reach.units}
    container = f"{reach.path}.container"
    needed = container_file(reach.path, settings) == container
    files = [WantedFile(container, container_text(settings) if needed else None)]
    if reach.login_shell:
        files.append(WantedFile(reach.login_shell, login_shell(reach.path)))
    if reach.task_prolog:
        files.append(WantedFile(reach.task_prolog, task_prolog(reach.path), mode=0o755))
    files += [WantedFile(path, text) for path, text in units.items()]
    return files + [WantedFile(path, None) for path in present_drop_ins if path not in units]


def container_text(settings: Sequence[Setting]) -> str:
    """``NAME=value`` without quotes, as ``docker run --env-file`` and podman read it."""
    return f"{_HEADING}\n# For --env-file only.\n" + "".join(
        f"{setting.name}={setting.value}\n" for setting in settings
    )


def drop_in(path: str) -> str:
    """For a unit of another owner; a file that is not there is no error."""
    return f"{_HEADING}\n[Service]\nEnvironmentFile=-{path.replace('%', '%%')}\n"


def login_shell(path: str) -> str:
    """For /etc/profile.d; a shell that exports everything already keeps doing so."""
    file = shlex.quote(path)
    return (
        f"{_HEADING}\nif [ -r {file} ]; then\n    case $- in\n"
        f"        *a*) . {file} ;;\n        *) set -a; . {file}; set +a ;;\n    esac\nfi\n"
    )


def task_prolog(path: str) -> str:
    """Slurm's TaskProlog: each line ``export NAME=value`` on its output becomes a variable of the task.

    What the user set wins. Each job gets a recipe cache of its own below the node's, or none where it may not write.
    """
    return _TASK_PROLOG.replace("@FILE@", shlex.quote(path)).replace("@HEADING@", _HEADING)


_TASK_PROLOG = r"""#!/bin/sh
@HEADING@
# For TaskProlog= in slurm.conf. What the job has set already stays.
file=@FILE@
[ -r "$file" ] || exit 0
value_of() (
    . "$file"
    eval "printf '%s' \"\$$1\""
)
cache=
while IFS= read -r line; do
    case $line in
        [A-Za-z_]*=*) name=${line%%=*} ;;
        *) continue ;;
    esac
    case $name in *[!A-Za-z0-9_]*) continue ;; esac
    wanted=$(value_of "$name")
    eval "set_already=\${$name+yes}; present=\${$name-}"
    if [ "$name" = PT_HPU_RECIPE_CACHE_CONFIG ]; then
        [ -n "$set_already" ] && [ "$present" != "$wanted" ] || cache=$wanted
    elif [ -z "$set_already" ]; then
        printf 'export %s=%s\n' "$name" "$wanted"
    fi
done < "$file"
[ -n "${cache%%,*}" ] || exit 0
job=$(printf '%s' "${SLURM_JOB_NAME:-${SLURM_JOB_ID:-job}}" | tr -c 'A-Za-z0-9_.-' '_')
case $job in .|..) job=job ;; esac
directory=${cache%%,*}/$job
rest=${cache#"${cache%%,*}"}
if mkdir -p "$directory" 2>/dev/null && [ -w "$directory" ]; then
    printf 'export PT_HPU_RECIPE_CACHE_CONFIG=%s%s\n' "$directory" "$rest"
else
    printf 'unset PT_HPU_RECIPE_CACHE_CONFIG\n'
fi
"""


def _checked(unit: str) -> str:
    name = unit if "." in unit else f"{unit}.service"
    if not _UNIT.fullmatch(name):
        raise GaudiError(f"systemd_units: {unit!r} is not a service name; give one such as jupyter.service.")
    return name
