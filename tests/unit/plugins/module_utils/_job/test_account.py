# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The account of jobs: what is asked of the node's programs, what is left alone, and what is refused."""

from __future__ import annotations

import grp
import os
import platform
import pwd

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.account import (
    Account,
    AccountOptions,
    Found,
    converge,
    look,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.module_call import call


class Node:
    """The databases of a node, and the three programs that change them."""

    def __init__(self, place, *groups, uid=None, home="", own_group=None):
        self.state = str(place)
        self.groups = {name: set() for name in groups}
        self.account = None if uid is None else (uid, home or "/home/gaudi", "/bin/zsh")
        self.own_group = own_group
        self.called = []
        self.failing = ""

    def look(self, options):
        there = tuple(name for name in options.groups if name in self.groups)
        if self.account is None:
            return Found(None, self.own_group, there)
        joined = tuple(name for name in there if options.user in self.groups[name])
        return Found(Account(options.user, *self.account, joined), self.own_group, there)

    def run(self, argv, *, timeout=None, env=None):
        self.called.append(" ".join(argv))
        if argv[0] == self.failing:
            return CommandResult(10, "", f"{argv[0]}: cannot lock /etc/passwd; try again later.\n")
        value = dict(zip(argv, argv[1:]))
        if argv[0] == "groupadd":
            self.own_group = int(value.get("-g", 998))
        elif argv[0] == "useradd":
            self.account = (int(value.get("-u", 998)), value["-d"], value["-s"])
        else:
            for name in value["-G"].split(","):
                self.groups[name].add(argv[-1])
        return CommandResult(0, "", "")

    def converge(self, check_mode=False, **asked):
        return converge(AccountOptions("gaudi", **asked), self.run, check_mode, self.look, self.state)


def test_a_node_without_it_gets_the_group_the_account_and_the_way_to_the_cards(tmp_path):
    node, home = Node(tmp_path, "render", "video"), f"{tmp_path}/far/off/gaudi"
    result = node.converge(uid=900, home=home, shell="/bin/sh")
    assert node.called == [
        "groupadd -g 900 -r gaudi",
        f"useradd -u 900 -g gaudi -c Jobs of gaudi3.scale -d {home} -s /bin/sh -m -K UMASK=0027 -r gaudi",
        "usermod -a -G render,video gaudi",
    ]
    # useradd makes the home itself, with its mode.
    assert list((tmp_path / "far/off").iterdir()) == []
    (difference,) = result.pop("diff")
    assert difference["before"] == ""
    assert difference["after"] == f"user: gaudi\nuid: 900\nhome: {home}\nshell: /bin/sh\ngroups: render video\n"
    assert result == {
        "changed": True,
        "user": "gaudi",
        "uid": 900,
        "home": home,
        "shell": "/bin/sh",
        "groups": ["render", "video"],
    }


def test_a_second_run_finds_nothing_to_do(tmp_path):
    node = Node(tmp_path, "render")
    first = node.converge(home=f"{tmp_path}/gaudi")
    node.called.clear()
    assert node.converge(home=f"{tmp_path}/gaudi") == {**first, "changed": False, "diff": []}
    assert node.called == []


def test_a_node_may_choose_the_number_and_nobody_logs_in(tmp_path):
    node = Node(tmp_path)
    result = node.converge()
    assert node.called == [
        "groupadd -r gaudi",
        "useradd -g gaudi -c Jobs of gaudi3.scale -d /var/lib/gaudi -s /usr/sbin/nologin -m -K UMASK=0027 -r gaudi",
    ]
    assert (result["uid"], result["groups"]) == (998, [])


def test_check_mode_says_the_same_and_calls_nothing(tmp_path):
    node = Node(tmp_path / "state", "render")
    foreseen = node.converge(check_mode=True)
    assert (foreseen["changed"], foreseen["uid"], foreseen["groups"]) == (True, None, ["render"])
    assert "uid: the node's next\n" in foreseen["diff"][0]["after"]
    assert (node.called, (tmp_path / "state").exists()) == ([], False)


def test_an_account_that_exists_keeps_all_and_joins_what_it_lacks(tmp_path):
    node = Node(tmp_path, "render", "video", uid=5000, home="/home/gaudi")
    node.groups["render"].add("gaudi")
    result = node.converge(groups=["render", "habana", "video"], home="/srv/other", shell="/bin/sh")
    assert node.called == ["usermod -a -G video gaudi"]
    assert (result["uid"], result["home"], result["shell"]) == (5000, "/home/gaudi", "/bin/zsh")
    (difference,) = result["diff"]
    assert difference["before"].splitlines()[-1] == "groups: render"
    assert difference["after"].splitlines()[-1] == "groups: render video"


@pytest.mark.parametrize("check_mode", [False, True])
def test_another_number_is_refused_and_not_changed(tmp_path, check_mode):
    node = Node(tmp_path, "render", uid=998, own_group=998)
    with pytest.raises(GaudiError) as caught:
        node.converge(check_mode, uid=900)
    assert str(caught.value) == (
        f"gaudi_venv_user gaudi has the number 998 on {platform.node()}, not 900 as in "
        "gaudi_venv_user_uid; set that to the number which the account has on all nodes, or give it this "
        "number by hand."
    )
    assert node.called == []
    assert node.converge(check_mode, uid=998)["uid"] == 998


def test_a_group_of_its_name_with_another_number_is_refused_and_one_with_this_is_taken(tmp_path):
    node = Node(tmp_path, own_group=44)
    with pytest.raises(GaudiError) as caught:
        node.converge(uid=900)
    assert str(caught.value) == (
        f"the group gaudi has the number 44 on {platform.node()}, not 900 as in gaudi_venv_user_uid; set "
        "that to the number which the group has on all nodes, or give it this number by hand."
    )
    node.converge(uid=44, home=f"{tmp_path}/gaudi")
    assert [command.split()[0] for command in node.called] == ["useradd"]


def test_a_group_of_another_number_is_none_of_an_accounts_that_exists(tmp_path):
    """A directory service may call another group so."""
    assert Node(tmp_path, uid=900, own_group=44).converge(uid=900)["changed"] is False


def test_a_name_that_can_be_none_is_refused_before_anything_is_asked():
    with pytest.raises(GaudiError, match=r"gaudi_venv_user is '-r', which is not a valid account name; give a"):
        converge(AccountOptions("-r"), lambda *_, **__: pytest.fail(), False, lambda _options: pytest.fail())


@pytest.mark.parametrize("program", ["groupadd", "useradd", "usermod"])
def test_what_a_program_says_is_in_the_sentence(tmp_path, program):
    node = Node(tmp_path, "render")
    node.failing = program
    with pytest.raises(
        GaudiError, match=rf"^{program} could not set up .* gaudi .*: {program}: cannot lock /etc/passwd"
    ):
        node.converge(home=f"{tmp_path}/gaudi")


def test_who_comes_second_leaves_what_the_first_has_made(tmp_path):
    node = Node(tmp_path, "render")
    looks = []

    def overtaken(options):
        looks.append(node.look(options))
        if len(looks) == 1:
            node.converge(home=f"{tmp_path}/gaudi")
            node.called.clear()
        return looks[-1] if len(looks) == 1 else node.look(options)

    result = converge(AccountOptions("gaudi"), node.run, False, overtaken, node.state)
    assert (result["changed"], node.called, result["home"]) == (False, [], f"{tmp_path}/gaudi")


def test_this_machines_databases_are_read():
    entry = pwd.getpwnam("root")
    of_root = [grp.getgrgid(number).gr_name for number in os.getgrouplist("root", entry.pw_gid)]
    other = next(group.gr_name for group in grp.getgrall() if group.gr_gid not in os.getgrouplist("root", 0))
    found = look(AccountOptions("root", groups=("no-such-group", other, other)))
    assert found == Found(Account("root", 0, entry.pw_dir, entry.pw_shell, ()), entry.pw_gid, (other,))
    # Its own group is the account's already.
    assert look(AccountOptions("root", groups=of_root)).account.groups == tuple(of_root[1:])
    assert look(AccountOptions("nobody-here", groups=(other,))) == Found(None, None, (other,))


def test_the_module_says_what_an_account_is_that_has_everything():
    result, status = call("job_account", user="root", groups=[])
    assert (status, result["changed"], result["uid"]) == (0, False, 0)
    result, status = call("job_account", True, user="nobody-here", groups=[])
    assert (status, result["changed"], result["uid"]) == (0, True, None)
    result, status = call("job_account", user="root", uid=900)
    assert status == 1
    assert result["msg"].startswith("gaudi_venv_user root has the number 0 on ")
