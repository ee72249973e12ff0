# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A dnf repository's metadata, signed by a real key, is believed only as far as its signature and checksums reach."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import gnupg, rpm_index

pytestmark = pytest.mark.skipif(not (shutil.which("gpg") and shutil.which("gpgv")), reason="needs gpg and gpgv")
PRIMARY = """<?xml version="1.0"?><metadata xmlns="http://linux.duke.edu/metadata/common">
<package type="rpm"><name>habanalabs</name><version epoch="0" ver="1.24.1" rel="482.el9"/>
<checksum type="sha256" pkgid="YES">aa</checksum><size package="10"/><location href="habanalabs-1.24.1-482.el9.rpm"/>
</package><package type="rpm"><name>habanalabs</name><version epoch="0" ver="1.24.1" rel="4820.el9"/>
<checksum type="sha256" pkgid="YES">bb</checksum><size package="11"/><location href="habanalabs-1.24.1-4820.el9.rpm"/>
</package></metadata>"""


class Repository:
    """A repository with one metadata file in ``root``."""

    def __init__(self, root: Path, primary: str = PRIMARY) -> None:
        self.root, self.keys = root / "repo", str(root / "keys.gpg")
        (self.root / "repodata").mkdir(parents=True)
        content = gzip.compress(primary.encode(), mtime=0)
        (self.root / "repodata/primary.xml.gz").write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        (self.root / rpm_index.REPOMD).write_text(
            '<repomd xmlns="http://linux.duke.edu/metadata/repo"><data type="primary">'
            f'<checksum type="sha256">{digest}</checksum><location href="repodata/primary.xml.gz"/></data></repomd>'
        )
        with gnupg.home(run_process) as home:
            gnupg.make_key(home, "a test <test@localhost>", run_process)
            gnupg.sign_detached(
                home, str(self.root / rpm_index.REPOMD), f"{self.root}/{rpm_index.REPOMD}.asc", run_process
            )
            gnupg.keyring(gnupg.public_key(home, run_process).encode(), self.keys)

    def read(self) -> rpm_index.RpmIndex:
        return rpm_index.read(f"file://{self.root}", self.keys, str(self.root.parent / "work"), run_process)


def test_the_release_is_chosen_whatever_the_distributions_suffix(tmp_path: Path) -> None:
    chosen = rpm_index.choose(Repository(tmp_path).read(), ["habanalabs"], ["1.24.1-482"], "base")
    assert [(rpm.location, rpm.size, rpm.sha256) for rpm in chosen] == [("habanalabs-1.24.1-482.el9.rpm", 10, "aa")]


def test_all_that_dnf_reads_is_kept_as_it_was_signed(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    files = repository.read().files
    assert sorted(files) == ["repodata/primary.xml.gz", rpm_index.REPOMD, f"{rpm_index.REPOMD}.asc"]
    assert all(content == (repository.root / name).read_bytes() for name, content in files.items())


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"does not offer habanalabs 1\.22\.0-740 \(it has 1\.24\.1-482\.el9"):
        rpm_index.choose(Repository(tmp_path).read(), ["habanalabs"], ["1.22.0-740"], "base")


def test_an_index_that_was_changed_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    path = repository.root / rpm_index.REPOMD
    path.write_text(path.read_text() + "\n")
    with pytest.raises(GaudiError, match="is not signed by the key"):
        repository.read()


def test_metadata_that_the_index_does_not_vouch_for_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    (repository.root / "repodata/primary.xml.gz").write_bytes(gzip.compress(b"<metadata/>"))
    with pytest.raises(GaudiError, match="has the sha256"):
        repository.read()


def test_entities_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="entities"):
        Repository(tmp_path, '<!DOCTYPE a [<!ENTITY b "c">]><metadata/>').read()
