# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The dnf path against real dnf, rpm, createrepo_c, versionlock and DKMS. The tests build on each other, in order."""

from __future__ import annotations

import pytest

from .stand_in import REPOSITORY, RefusedError, StandIn

OLD, NEW = "1.23.0-695", "1.24.1-482"
NAMES = ["habanalabs-rdma-core", "habanalabs-thunk", "habanalabs-dkms", "habanalabs-graph"]
FILES = "/var/tmp/packages"
KEY = f"{REPOSITORY}/artifactory/rhel/9/9.6/repodata/repomd.xml.key"


def at(version: str) -> dict[str, str]:
    return dict.fromkeys(NAMES, version)


@pytest.mark.parametrize(
    ("url", "options", "sentence"),
    [
        (
            f"{REPOSITORY}/tampered_rpm_metadata",
            {},
            "is not signed by the key in .*-metadata .*check the clock, packages_url",
        ),
        ("http://127.0.0.1:9", {}, "key cannot be fetched from http://127.0.0.1:9/.*: connection refused"),
        (
            f"{REPOSITORY}/artifactory",
            {"suite": "rhel/9/9.5"},
            "answers 404 .*; correct packages_url, suite or key_url",
        ),
        (
            f"{REPOSITORY}/artifactory",
            {"release": "1.22.0"},
            "does not offer habanalabs-rdma-core 1.22.0-740 .it has 1.23",
        ),
        (
            f"{REPOSITORY}/artifactory",
            {
                "repository_url": f"{REPOSITORY}/nothing",
                "key_url": KEY,
            },
            "does not exist: .*/nothing/repodata/repomd.xml is not there",
        ),
        (
            f"{REPOSITORY}/artifactory",
            {
                "repository_url": "http://127.0.0.1:9",
                "key_url": KEY,
            },
            "cannot be reached; check this node's DNS",
        ),
    ],
)
def test_a_repository_that_cannot_be_used_is_one_sentence_and_leaves_nothing(
    node: StandIn, url: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(RefusedError, match=sentence):
        node.repository(url, packages=NAMES, **options)
    assert node.files == []
    assert "gpg-pubkey" not in node.sh("rpm -qa")


def test_a_package_that_another_key_signed_is_refused(node: StandIn) -> None:
    node.repository(f"{REPOSITORY}/tampered_rpm_packages", packages=NAMES)
    with pytest.raises(RefusedError, match=r"\.rpm is not signed by a key that rpm knows"):
        node.dnf("fetch", at(NEW), FILES)
    assert node.sh(f"find {FILES} -maxdepth 1 -name '*.rpm'") == ""
    with pytest.raises(RefusedError, match="is not signed by a key that rpm knows"):
        node.dnf("install", ["habanalabs-thunk"], 5)
    assert node.dnf("query", ["habanalabs*"]) == {}
    node.sh("rm /etc/yum.repos.d/gaudi3_scale* /etc/pki/rpm-gpg/*; rpm -e $(rpm -qa gpg-pubkey)")


def test_check_mode_shows_the_repository_and_touches_nothing(node: StandIn) -> None:
    shown = node.repository(check_mode=True, packages=NAMES)
    assert shown["changed"]
    assert len([one for one in shown["diff"] if "gaudi3_scale-repository" in one["after_header"]]) == 3
    assert node.files == []


def test_the_repository_checks_both_signatures_and_a_second_run_changes_nothing(node: StandIn) -> None:
    first = node.repository(packages=NAMES, os_packages=["kernel-devel-{kernel}"])
    assert first["changed"]
    assert first["available"]
    assert first["packages"][0] == f"kernel-devel-{node.kernel}"
    assert f"habanalabs-{NEW}.*" in first["packages"]
    assert sorted(first["files"]) == sorted(node.files)
    text = node.sh("cat /etc/yum.repos.d/gaudi3_scale-repository.repo")
    assert "\nbaseurl=http://packages.sandbox.internal/artifactory/rhel/9/9.6\n" in text
    assert "\ngpgcheck=1\nrepo_gpgcheck=1\n" in text
    again = node.repository(packages=NAMES, os_packages=["kernel-devel-{kernel}"])
    assert not again["changed"]
    assert not again["refreshed"]


def test_another_repository_of_the_same_url_is_disabled_in_its_file(node: StandIn) -> None:
    theirs = "/etc/yum.repos.d/Habana-Repository.repo"
    url = f"{REPOSITORY}/artifactory/rhel/9/9.6/"
    before = f"[repository]\nname=Habana Repository\nbaseurl={url}\nenabled=1\ngpgcheck=0\n"
    node.sh(f"printf '%s' '{before}' > {theirs}")
    try:
        assert "\nrepository " in node.sh("dnf -q repolist --enabled")
        assert node.repository(check_mode=True, packages=NAMES)["changed"]
        assert node.sh(f"cat {theirs}") == before
        assert node.repository(packages=NAMES)["taken_over"] == [theirs]
        assert node.sh(f"cat {theirs}").splitlines()[:3] == [
            "[repository]",
            "# gaudi3_scale-repository put here:",
            "enabled=0",
        ]
        enabled = node.sh("dnf -q repolist --enabled")
        assert "\nrepository " not in enabled
        assert "gaudi3_scale-repository" in enabled
        assert not node.repository(packages=NAMES)["changed"]
    finally:
        node.sh(f"rm {theirs}")


def test_a_key_that_rpm_lost_is_noticed(node: StandIn) -> None:
    node.sh("rpm -e $(rpm -qa gpg-pubkey)")
    assert node.repository(check_mode=True, packages=NAMES)["changed"]
    assert node.repository(packages=NAMES)["changed"]
    assert not node.repository(packages=NAMES)["changed"]


def test_exactly_the_wanted_files_are_fetched_once(node: StandIn) -> None:
    for version in (OLD, NEW):
        files = node.dnf("fetch", at(version), f"{FILES}/{version}")
        assert len(files) == len(NAMES)
        assert sorted(node.sh(f"find {FILES}/{version} -name '*.rpm'").split()) == sorted(files)
    node.sh(f"mv /usr/bin/dnf /usr/bin/dnf.away; touch {FILES}/mark")
    try:
        assert len(node.dnf("fetch", at(NEW), f"{FILES}/{NEW}")) == len(NAMES)
    finally:
        node.sh("mv /usr/bin/dnf.away /usr/bin/dnf")
    with pytest.raises(RefusedError, match=r"no repository of this node has habanalabs-graph-9\.9\.9-1"):
        node.dnf("fetch", {"habanalabs-graph": "9.9.9-1"}, FILES)


def test_a_missing_dkms_names_epel(node: StandIn) -> None:
    node.sh("echo excludepkgs=dkms >> /etc/yum.repos.d/baseos.repo")
    try:
        with pytest.raises(RefusedError, match=r"no repository of this node has dkms.*EPEL, which wants CRB"):
            node.dnf("prepare", node.dnf("fetch", at(NEW), f"{FILES}/{NEW}"), 5)
        with pytest.raises(RefusedError, match="no repository of this node has dkms; on RHEL 9 dkms is in EPEL"):
            node.dnf("install", ["dkms"], 5)
    finally:
        node.sh("sed -i /excludepkgs/d /etc/yum.repos.d/baseos.repo")


def test_one_transaction_installs_files_and_names_and_dkms_builds(node: StandIn) -> None:
    files = node.dnf("fetch", at(OLD), f"{FILES}/{OLD}")
    wanted = ["dkms", f"kernel-devel-{node.kernel}", *files]
    node.dnf("prepare", wanted, 5)
    assert node.dnf("query", ["habanalabs*"]) == {}
    node.dnf("install", wanted, 5)
    assert node.dnf("query", ["habanalabs*"]) == {name: [OLD, False, "installed"] for name in NAMES}
    assert f"kernel-devel-{node.kernel}" in node.dnf("query", [f"kernel-devel-{node.kernel}"])
    assert node.module_version.startswith("1.23.0-")
    assert f"habanalabs/{OLD}, {node.kernel}, x86_64: installed\n" in node.sh("dkms status")
    assert node.dnf("broken") == []


def test_held_packages_stay_when_the_system_is_upgraded(node: StandIn) -> None:
    assert "habanalabs" in node.sh("dnf check-update || true")
    node.dnf("hold", NAMES)
    node.dnf("hold", NAMES)
    assert all(held for _version, held, _status in node.dnf("query", NAMES).values())
    assert node.sh("grep -c ^habanalabs /etc/dnf/plugins/versionlock.list").strip() == str(len(NAMES))
    assert "habanalabs" not in node.sh("dnf check-update || true")
    node.dnf("unhold", ["habanalabs-graph"])
    assert "habanalabs-graph" in node.sh("dnf check-update || true")
    node.dnf("hold", ["habanalabs-graph"])


@pytest.mark.in_turn
def test_an_upgrade_and_the_downgrade_take_their_holds_along(node: StandIn) -> None:
    for version in (NEW, OLD):
        node.dnf("install", node.dnf("fetch", at(version), f"{FILES}/{version}"), 5)
        assert node.dnf("query", NAMES) == {name: [version, True, "installed"] for name in NAMES}
        # rpm runs the new package's script before the old one's; dkms alone would leave the newer modules in place.
        assert node.module_version.startswith(version.partition("-")[0])
        assert f"habanalabs/{version}, {node.kernel}, x86_64: installed\n" in node.sh("dkms status")


@pytest.mark.in_turn
def test_an_upgrade_whose_build_fails_goes_back_to_the_release_the_node_had(node: StandIn) -> None:
    # hl-smi is in a package that has no other tests.
    names = [*NAMES, "habanalabs-firmware-tools"]
    assert node.driver("1.23.0", packages=names)["loaded_version"].startswith("1.23.0-")
    ahead = node.driver("1.24.1", check_mode=True, packages=names)
    assert ahead["state"] == "upgraded"
    assert f"build {node.kernel}" in ahead["steps"]
    node.fault(f"dkms_build_error={NEW}")
    try:
        with pytest.raises(RefusedError, match=r"the node is back on 1\.23\.0, verified\. DKMS cannot build .*error: "):
            node.driver("1.24.1", packages=names)
    finally:
        node.fault()
    assert node.dnf("query", names) == {name: [OLD, True, "installed"] for name in names}
    assert f"habanalabs/{OLD}, {node.kernel}, x86_64: installed\n" in node.sh("dkms status")
    assert NEW not in node.sh("dkms status")
    assert node.module_version == node.loaded
    assert node.loaded.startswith("1.23.0-")
    assert '"state": "rolled_back"' in node.sh("cat /var/lib/gaudi3_scale/driver.json")
    assert node.driver("1.23.0", packages=names)["steps"] == []
    node.dnf("unhold", names[-1:])
    node.sh(f"rpm -e {names[-1]}")


def test_a_transaction_that_was_killed_is_finished(node: StandIn) -> None:
    node.sh(
        f"setsid dnf -y install {FILES}/{NEW}/*.rpm > /root/killed.log 2>&1 & main=$!\n"
        "until [ -d /var/lib/dkms/habanalabs/1.24.1-482/build ]; do sleep 0.1; done; sleep 1\n"
        "kill -9 -- -$main; sleep 1"
    )
    assert node.dnf("broken") == sorted(NAMES)
    assert {status for _version, _held, status in node.dnf("query", NAMES).values()} == {"half-installed"}
    node.dnf("install", [f"{FILES}/{NEW}/{name}" for name in node.sh(f"cd {FILES}/{NEW} && ls *.rpm").split()], 5)
    assert node.dnf("broken") == []
    assert {version for version, _held, _status in node.dnf("query", NAMES).values()} == {NEW}
    assert len(node.sh("rpm -qa 'habanalabs*'").split()) == len(NAMES)
    node.sh(f"dkms install --force -m habanalabs -v {NEW} -k {node.kernel}")
    assert node.module_version.startswith("1.24.1-")


def test_what_a_package_lacks_is_installed_again(node: StandIn) -> None:
    node.sh("rpm -e --nodeps habanalabs-thunk")
    assert node.dnf("broken") == ["habanalabs-graph"]
    node.dnf("repair", ["habanalabs-graph"])
    assert node.dnf("broken") == []
    assert node.dnf("query", ["habanalabs-thunk"])["habanalabs-thunk"][0] == NEW


def test_a_package_that_lost_a_file_gets_it_back_and_keeps_what_dkms_built(node: StandIn) -> None:
    node.sh(f"rm /usr/src/habanalabs-{NEW}/dkms.conf")
    node.dnf("install", node.dnf("fetch", {"habanalabs-dkms": NEW}, f"{FILES}/{NEW}"), 5)
    node.sh(f"test -f /usr/src/habanalabs-{NEW}/dkms.conf")
    # rpm runs the new copy's script, which builds, and then the old copy's, which would take that build out again.
    assert f"habanalabs/{NEW}, {node.kernel}, x86_64: installed\n" in node.sh("dkms status")


def test_a_node_without_the_plugin_is_told_how_to_get_it(node: StandIn) -> None:
    plugins = "/usr/lib/python3/dist-packages/dnf-plugins"
    node.sh(f"mv {plugins}/versionlock.py {plugins}/download.py /root/")
    try:
        with pytest.raises(RefusedError, match="run `dnf install python3-dnf-plugin-versionlock` or set hold to false"):
            node.dnf("unhold", NAMES)
        with pytest.raises(RefusedError, match="run `dnf install dnf-plugins-core`"):
            node.dnf("fetch", at(NEW), "/var/tmp/elsewhere")
    finally:
        node.sh(f"mv /root/versionlock.py /root/download.py {plugins}/")


@pytest.mark.in_turn
def test_another_dnf_is_waited_for(node: StandIn) -> None:
    # Held until its file goes, however long the node takes to start anything.
    holder = (
        "import dnf.lock, os, time\n"
        "with dnf.lock.build_rpmdb_lock('/var/lib/dnf', True):\n"
        "    open('/run/dnf_held', 'w').close()\n"
        "    while os.path.exists('/run/dnf_held'): time.sleep(0.1)"
    )
    node.sh(
        f'python3 -c "{holder}" > /dev/null 2>&1 & '
        "for _ in $(seq 600); do test -e /run/dnf_held && exit 0; sleep 0.1; done; exit 1"
    )
    try:
        with pytest.raises(
            RefusedError, match="another package manager holds dnf's lock; wait for it, or raise lock_timeout"
        ):
            node.dnf("install", ["lsof"], 0)
        node.sh("(sleep 3; rm /run/dnf_held) > /dev/null 2>&1 &")
        node.dnf("install", ["lsof"], 60)
    finally:
        node.sh("rm -f /run/dnf_held")
    assert "lsof" in node.dnf("query", ["lsof"])
