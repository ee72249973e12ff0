# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _report_place as report_place
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import (
    BucketPrefix,
    Directory,
    Document,
    file_place,
    keep,
    place,
)

from tests.s3_server import bucket_served

PAGE = Document("site.html", "<p>é</p>")


@pytest.fixture
def storage(monkeypatch):
    with bucket_served("pages") as server:
        server.put_into(monkeypatch)
        # Waiting between attempts is botocore's own affair.
        monkeypatch.setattr(report_place, "ATTEMPTS", 1)
        yield server


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def refusal(target: str) -> str:
    with pytest.raises(GaudiError) as caught:
        place(target).refuse_unusable()
    return str(caught.value)


def test_what_an_operator_may_write(here, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert place("") == Directory(here / "gaudi3_scale_reports")
    assert place("a/b") == Directory(here / "a" / "b")
    assert place("~/pages") == Directory(Path("/home/me/pages"))
    assert place("/srv/pages/") == Directory(Path("/srv/pages"))
    assert place("s3://pages") == BucketPrefix("pages", "")
    assert place("s3://pages/a/b/") == BucketPrefix("pages", "a/b/")


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("s3://", "there is no such place"),
        ("s3://UPPER/a", "there is no such place"),
        ("s3:/pages", "there is no such place"),
        ("https://pages/a", "there is no such place"),
        ("~nobody-of-this-name/a", "there is no such home"),
    ],
)
def test_what_is_no_place_is_refused(target, what):
    assert refusal(target) == (
        f"gaudi_report_target {target}: {what}; name a directory, or a bucket as s3://bucket/prefix."
    )


def test_a_path_of_several_lines_is_refused():
    assert refusal("/a\nb").startswith(r"gaudi_report_target '/a\nb': a path cannot contain these characters; ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("base.json", (".", "base.json")),
        ("/base.json", ("/", "base.json")),
        ("a/base.json", ("a", "base.json")),
        ("a/", ("a/", "given")),
        ("s3://pages/a/base.json", ("s3://pages/a", "base.json")),
        ("s3://pages/base.json", ("s3://pages", "base.json")),
        ("s3://pages", ("s3://pages", "given")),
    ],
)
def test_a_file_is_a_place_and_a_name(text, expected):
    assert file_place(text, "given") == expected


def test_a_file_in_place_of_a_directory_is_refused_and_nothing_is_made(here):
    (here / "page").write_text("x")
    assert refusal("page/a/b") == (
        f"gaudi_report_target {here}/page/a/b: {here}/page is not a directory; name another place."
    )
    (here / "gone").symlink_to("/nowhere/at/all")
    assert f"{here}/gone is not a directory" in refusal("gone")
    place("new/a").refuse_unusable()
    assert not (here / "new").exists()


def test_a_directory_that_may_not_be_written_is_refused(here, monkeypatch):
    # Root may write everywhere, so the kernel's answer is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert re.fullmatch(
        rf"gaudi_report_target {here}/a: user \d+ may not write to {here}; name another place, or give the right to\.",
        refusal("a"),
    )


def test_a_file_is_replaced_as_a_whole_and_what_a_person_wrote_is_kept(here):
    old = here / "kept.yml"
    old.write_text("mine")
    inode = old.stat().st_ino
    assert place(".").write(Document("kept.yml", "new", 0o600, backup=True)) == str(old)
    assert (old.read_text(), old.stat().st_mode & 0o777, old.stat().st_ino != inode) == ("new", 0o600, True)
    (backup,) = here.glob("*.bak")
    assert backup.read_text() == "mine"


def test_a_bucket_takes_it_and_gives_it_back(storage):
    there = place("s3://pages/a")
    there.refuse_unusable()
    assert storage.names("pages") == []
    assert storage.client.list_multipart_uploads(Bucket="pages").get("Uploads", []) == []
    assert there.write(PAGE) == "s3://pages/a/site.html"
    assert there.read("site.html") == "<p>é</p>"


def test_a_bucket_that_does_not_take_it_is_refused_in_a_sentence(storage):
    assert refusal("s3://nothing/a") == (
        "gaudi_report_target s3://nothing/a: there is no such bucket; make it, or correct the name."
    )
    with storage.refusing():
        assert refusal("s3://pages/a") == (
            "gaudi_report_target s3://pages/a: the storage answered SlowDown; run it again later, or name a directory."
        )


def test_what_is_not_in_a_bucket_cannot_be_read(storage):
    with pytest.raises(
        GaudiError, match=r"^baseline s3://pages/b: it is not there; correct the name, or save it first\.$"
    ):
        place("s3://pages", "baseline").read("b")


def test_a_storage_that_is_not_there_is_refused(monkeypatch, storage):
    storage.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    assert refusal("s3://pages") == (
        "gaudi_report_target s3://pages: it does not answer (EndpointConnectionError); check AWS_ENDPOINT_URL_S3 and "
        "the network."
    )
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "storage:9000")
    assert "s3://pages: it does not answer (ValueError); check AWS_ENDPOINT_URL_S3" in refusal("s3://pages")


def test_without_credentials_it_is_refused(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert refusal("s3://pages") == (
        "gaudi_report_target s3://pages: boto3 finds no credentials (NoCredentialsError); set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or a profile."
    )


def test_without_boto3_it_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert refusal("s3://pages") == (
        f"gaudi_report_target s3://pages: boto3 is not in the Python that runs Ansible ({sys.executable}); install it "
        "there, or name a directory."
    )


def test_what_the_place_does_not_take_is_kept_here(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    kept = keep("s3://pages", [PAGE])
    assert kept.addresses == [f"{here}/gaudi3_scale_reports/site.html"]
    assert kept.error == (
        f"gaudi_report_target s3://pages: boto3 is not in the Python that runs Ansible ({sys.executable}), "
        f"so it is kept in {here}/gaudi3_scale_reports; install it there, or name a directory."
    )


def test_where_nothing_can_be_written_a_directory_of_its_own_takes_it(here, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (here / "gaudi3_scale_reports").write_text("blockers")
    kept = keep("", [PAGE])
    (address,) = kept.addresses
    assert Path(address).parent.parent == tmp_path
    assert Path(address).read_text() == PAGE.content
    assert Path(address).parent.stat().st_mode & 0o777 == 0o700
    assert f"so it is kept in {Path(address).parent}; " in kept.error


def test_a_run_whose_directory_is_gone_keeps_it_elsewhere(here, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    here.rmdir()
    kept = keep("", [PAGE])
    assert Path(kept.addresses[0]).read_text() == PAGE.content
    assert kept.error.startswith("gaudi_report_target: the directory of this run is gone, so it is kept in ")


def test_where_nothing_takes_it_that_is_said(here, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(here / "nowhere"))
    (here / "gaudi3_scale_reports").write_text("blockers")
    kept = keep("", [PAGE])
    assert kept.addresses == []
    assert "no directory of the controller accepts it; " in kept.error
