# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The variables that a job's programs have in a container: the image's, and over them the job's as on the node. Pure.

What says where something lies is different in the image and on the node: where both set a path, the image's stays, but
for what the operator set for this job by name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

# Of the process on the node: its login, its service manager, and where its programs lie.
_OF_THE_NODE = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "MAIL", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "HOSTNAME"),
    *("INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"),
    *("MANAGERPID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "VIRTUAL_ENV", "PYTHONHOME"),
)
_OF_LOGINS = ("XDG_", "DBUS_", "SSH_", "SUDO_", "LISTEN_", "CREDENTIALS_")
PYTHONPATH, LOGS = "PYTHONPATH", "HABANA_LOGS"


def image_variables(words: Sequence[str]) -> dict[str, str]:
    """Those of an image's configuration (``Env``), whose words are NAME=VALUE."""
    return {name: value for name, equals, value in (word.partition("=") for word in words) if equals and name}


def container_variables(
    image: Mapping[str, str], given: Mapping[str, str], own: Collection[str], home: str, library: str = ""
) -> dict[str, str]:
    """``given`` are those of the process on the node, ``own`` the names that the operator set for this job.

    ``library`` is where the node library lies in the container; "": it has none.
    """
    found = dict(image)
    for name, value in given.items():
        if name in own or not (_is_of_the_node(name) or image.get(name, "").startswith("/")):
            found[name] = value
    if library:
        found[PYTHONPATH] = ":".join(filter(None, (found.get(PYTHONPATH), library)))
    if found.get(LOGS, "").startswith("/") and LOGS not in own:
        # The image's own place is read-only, and the bridge writes there from its first line on.
        found[LOGS] = f"{home}/habana_logs/"
    return {**found, "HOME": home}


def _is_of_the_node(name: str) -> bool:
    return name in _OF_THE_NODE or name.startswith(_OF_LOGINS)
