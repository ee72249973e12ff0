# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The callback in Ansible's own hands: a file, a terminal, a controller; golden files hold what each shows.

``GAUDI3_GOLDEN=write`` writes them anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import ansible_runner
import pytest

from tests.terminal import COLORS, difference

ROOT = Path(__file__).resolve().parents[4]
GOLDEN = Path(__file__).with_name("golden")
PROGRAMS = Path(sys.executable).parent
COLUMNS = 80
CALLBACK = "gaudi3.scale.fleet"
SETTINGS = f"""[defaults]
collections_path = {ROOT}/.collections
stdout_callback = {CALLBACK}
"""
ESCAPE = r"\e[31m"
# All that a task may come to; what fails on node02 leaves node01.
EVERYTHING = f"""
- name: Settings
  hosts: gaudi
  gather_facts: false
  tasks:
    - name: Write a file
      ansible.builtin.copy:
        content: "a\\n"
        dest: "{{{{ place }}}}/file"
      register: wrote
    - name: Nothing here
      ansible.builtin.debug:
        msg: never
      when: false
    - name: Loop
      ansible.builtin.set_fact:
        last: "{{{{ item }}}}"
      loop: [1, 2, 3]
    - name: Say
      ansible.builtin.debug:
        msg: "hello\\nworld {ESCAPE}red"
    - name: Show what it is
      ansible.builtin.debug:
        var: last
    - name: Once
      ansible.builtin.command: "true"
      run_once: true
      delegate_to: node02
      notify: Restart it
    - name: Report
      gaudi3.scale.report:
        title: Drivers
        columns: [node]
        rows: [{{node: node01}}]
      run_once: true
    - name: Try
      block:
        - name: Fail and be rescued
          ansible.builtin.fail:
            msg: "rescue {{{{ inventory_hostname }}}}"
          when: inventory_hostname == 'node01'
      rescue:
        - name: Rescue
          ansible.builtin.set_fact:
            rescued: true
    - name: Fail and be ignored
      ansible.builtin.fail:
        msg: oh no
      ignore_errors: true
    - name: Include
      ansible.builtin.include_tasks: included.yml
    - name: Secret
      ansible.builtin.fail:
        msg: the password
      no_log: true
      ignore_errors: true
  handlers:
    - name: Restart it
      ansible.builtin.set_fact:
        restarted: true

- name: Cards
  hosts: gaudi
  gather_facts: false
  tasks:
    - name: Wait
      ansible.builtin.assert:
        that: false
        fail_msg: not yet
        quiet: true
      register: waited
      until: false
      retries: 2
      delay: 0
      ignore_errors: true
    - name: Count
      ansible.builtin.fail:
        msg: "{{{{ inventory_hostname }}}} has 7 cards of 8: power-cycle it and find the missing card, or set
          gaudi_cards_per_node {ESCAPE}"
      when: inventory_hostname == 'node02'
    - name: Go on
      ansible.builtin.debug:
        msg: fit
"""
# Of each kind of line one, for the same run elsewhere.
SHORT = f"""
- name: Cards
  hosts: gaudi
  gather_facts: false
  tasks:
    - name: Write a file
      ansible.builtin.copy:
        content: "a\\n"
        dest: "{{{{ place }}}}/file"
    - name: Loop
      ansible.builtin.set_fact:
        last: "{{{{ item }}}}"
      loop: [1, 2, 3]
    - name: Report
      gaudi3.scale.report:
        title: Drivers
        columns: [node]
        rows: [{{node: node01}}]
      run_once: true
    - name: Count
      ansible.builtin.fail:
        msg: "{{{{ inventory_hostname }}}} has 7 cards of 8 {ESCAPE}"
      when: inventory_hostname == 'node02'
    - name: Go on
      ansible.builtin.set_fact:
        fit: true
"""
INCLUDED = """
- name: Included
  ansible.builtin.set_fact:
    included: true
"""
# One host that no one can reach, and one whose failure ends the play for all.
ENDED = """
- name: Look
  hosts: gaudi
  gather_facts: false
  tasks:
    - name: Reach it
      ansible.builtin.ping:
      when: inventory_hostname == 'node01'
      vars: {ansible_connection: ssh, ansible_host: 127.0.0.9, ansible_port: 9}

- name: Install
  hosts: gaudi
  gather_facts: false
  serial: 3
  any_errors_fatal: true
  tasks:
    - name: Fail
      ansible.builtin.fail:
        msg: no disk
      when: inventory_hostname == 'node02'
    - name: Never
      ansible.builtin.debug:
        msg: never
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory as an operator has it, with the one line in its ansible.cfg."""
    (tmp_path / "place").mkdir()
    (tmp_path / "ansible.cfg").write_text(SETTINGS)
    (tmp_path / "everything.yml").write_text(EVERYTHING)
    (tmp_path / "short.yml").write_text(SHORT)
    (tmp_path / "included.yml").write_text(INCLUDED)
    (tmp_path / "ended.yml").write_text(ENDED)
    return tmp_path


def command(site: Path, playbook: str, *arguments: str, hosts: int = 2) -> list[str]:
    inventory = site / "hosts.json"
    # Each host as a connection of its own to this machine, without a look at its Python.
    known = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "place": str(site / "place"),
    }
    names = {f"node{number:0{max(2, len(str(hosts)))}}": {} for number in range(1, hosts + 1)}
    inventory.write_text(json.dumps({"gaudi": {"hosts": names, "vars": known}}))
    return [str(PROGRAMS / "ansible-playbook"), "-i", str(inventory), playbook, *arguments]


def environment(**more: str) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "NO_COLOR"))}
    return {**known, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TERM": "xterm", **more}


def in_a_file(site: Path, playbook: str, *arguments: str, hosts: int = 2) -> tuple[int, str]:
    """What a file has of a run of one host after the other, and Ansible's status."""
    done = subprocess.run(
        command(site, playbook, "--forks", "1", *arguments, hosts=hosts),
        cwd=site,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.replace(str(site), "SITE")


def on_a_terminal(site: Path, playbook: str, *arguments: str, **more: str) -> bytes:
    """All that a terminal of 80 columns gets."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(site)
        arguments = tuple(command(site, playbook, "--forks", "1", *arguments))
        os.execve(arguments[0], arguments, environment(**more))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    said = b""
    while True:
        try:
            said += os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.waitpid(child, 0)
    os.close(terminal)
    return said


def left_on(said: str) -> str:
    """What a person sees at the end: each line after all that was written over it."""
    lines = []
    for line in said.replace("\r\n", "\n").split("\n"):
        seen = ""
        for part in line.split("\r"):
            seen = part.removeprefix("\x1b[K") if part.startswith("\x1b[K") else part + seen[len(part) :]
        lines.append(seen.rstrip())
    return "\n".join(lines)


def without_ssh(shown: str) -> str:
    """What ssh says is its own."""
    return re.sub(r"(UNREACHABLE (?: 1  )?node01:? +).*\n( {8}.*\n)*", r"\1…\n", shown)


def hold(shown: str, name: str) -> None:
    """Against the golden file."""
    kept = GOLDEN / f"{name}.txt"
    if os.environ.get("GAUDI3_GOLDEN") == "write":
        kept.write_text(shown, encoding="utf-8")
    assert difference(shown, kept) == ""
    assert all(len(line) < COLUMNS for line in shown.splitlines() if "SITE" not in line)
    assert "\x1b" not in shown
    assert "password" not in shown


def test_a_run_in_a_file(site: Path) -> None:
    status, shown = in_a_file(site, "everything.yml", "--diff")
    hold(shown, "file")
    assert status == 2


def test_a_check_says_that_it_is_one_and_shows_equal_diffs_once(site: Path) -> None:
    status, shown = in_a_file(site, "short.yml", "--check", "--diff")
    hold(shown, "check")
    assert status == 2
    assert not (site / "place" / "file").exists()


def test_a_play_that_ends_for_all_names_those_that_were_stopped_and_not_begun(site: Path) -> None:
    status, shown = in_a_file(site, "ended.yml", hosts=5)
    hold(without_ssh(shown), "ended")
    assert status == 4


def test_a_terminal_shows_what_runs_and_keeps_what_was_said(site: Path) -> None:
    said = on_a_terminal(site, "short.yml", NO_COLOR="1").decode()
    assert not COLORS.search(said)
    hold(left_on(said), "terminal")
    # While it ran: how many are through, and what comes next; each in one line of the terminal.
    frames = [frame.partition("\r")[0] for frame in said.split("\r\x1b[K")[1:]]
    assert "Loop: 0 of 2; next: Report" in frames
    assert "1 FAILED; Go on: 0 of 1" in frames
    assert all(len(frame.partition("\n")[0]) < COLUMNS for frame in frames)


def test_colors_are_ansible_s(site: Path) -> None:
    said = on_a_terminal(site, "ended.yml").decode()
    assert re.search(r"\x1b\[0;31m    FAILED node02: no disk\x1b\[0m", said)


def test_a_controller_gets_whole_lines(site: Path) -> None:
    """As AWX runs it: on a terminal, each event with what was printed in it."""
    (site / "private").mkdir()
    done = ansible_runner.run(
        private_data_dir=str(site / "private"),
        project_dir=str(site),
        inventory=command(site, "")[2],
        playbook="short.yml",
        cmdline="--check --diff",
        envvars={**environment(), "ANSIBLE_CONFIG": str(site / "ansible.cfg"), "ANSIBLE_STDOUT_CALLBACK": CALLBACK},
        forks=1,
        quiet=True,
    )
    events = list(done.events)
    shown = "\n".join(event["stdout"].replace("\r\n", "\n") for event in events if event.get("stdout"))
    lines = [line for line in COLORS.sub("", shown).replace(str(site), "SITE").split("\n") if line]
    assert lines == [line for line in (GOLDEN / "check.txt").read_text(encoding="utf-8").splitlines() if line]
    (counted,) = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
    assert counted["failures"] == {"node02": 1}


def test_more_is_what_ansible_itself_shows_and_the_table(site: Path) -> None:
    _status, shown = in_a_file(site, "ended.yml", "-v", hosts=5)
    assert "TASK [Fail] ***" in shown
    assert "fatal: [node02]: FAILED! => " in shown
    assert "PLAY RECAP" not in shown
    table = (GOLDEN / "ended.txt").read_text(encoding="utf-8").rpartition("RESULT")[2]
    assert without_ssh(shown).endswith(table)


def test_ansible_doc_shows_how_it_is_set() -> None:
    known = environment(ANSIBLE_COLLECTIONS_PATH=str(ROOT / ".collections"), ANSIBLE_NOCOLOR="1")
    arguments = [str(PROGRAMS / "ansible-doc"), "--type", "callback", CALLBACK]
    shown = subprocess.run(arguments, env=known, capture_output=True, text=True, check=True)
    assert not shown.stderr
    assert "stdout_callback" in shown.stdout
    assert "Prints counts" in shown.stdout
    assert "result_format" in shown.stdout
