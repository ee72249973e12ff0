# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make site``: the documentation as a site in build/site/html, without a network.

Sources are the handbook in docs/, what antsibull-docs makes of every module and role, a page of all playbooks, the
changelog, and a picture of the folders. A link to what is not on the site goes to the repository.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import Playbook, read_playbooks

from .architecture import picture

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "site"
SOURCE, HTML = BUILD / "source", BUILD / "html"
PROGRAMS = Path(sys.executable).parent
# A line of the list, and one of the tree for the sidebar.
_MODULE = re.compile(r"\* :ansplugin:`(\w+) module | {4}(\w+)_module$")
_EDIT = re.compile(r'<div class="(?:edit|view)-this-page">.*?</div>', re.DOTALL)
_LINK = re.compile(r"\]\((\.\./)([^)#]+)(#[^)]*)?\)")


def main() -> int:
    shutil.rmtree(BUILD, ignore_errors=True)
    (SOURCE / "_static").mkdir(parents=True)
    about = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    repository = about["repository"]
    for page in sorted((ROOT / "docs").glob("*.md")):
        (SOURCE / page.name).write_text(with_links(page.read_text(encoding="utf-8"), repository), encoding="utf-8")
    shutil.copy(ROOT / "docs" / "site" / "conf.py", SOURCE)
    index = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    (SOURCE / "index.md").write_text(index.replace("VERSION", about["version"], 1), encoding="utf-8")
    shutil.copy(ROOT / "docs" / "site" / "site.css", SOURCE / "_static")
    shutil.copytree(ROOT / "docs" / "site" / "pictures", SOURCE / "pictures")
    shutil.copy(ROOT / "docs" / "qualify_nodes.schema.json", SOURCE)
    (SOURCE / "architecture.svg").write_text(picture(ROOT), encoding="utf-8")
    (SOURCE / "playbooks.md").write_text(playbooks_page(read_playbooks(ROOT)), encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (SOURCE / "changelog.md").write_text(changelog, encoding="utf-8")
    collection_pages(SOURCE / "collection")
    sphinx = ["-q", "-W", "--keep-going", "-j", "2", "-b", "html"]
    sphinx += ["-D", f"html_theme_options.source_repository={repository}/"]
    command = [str(PROGRAMS / "sphinx-build"), *sphinx, str(SOURCE), str(HTML)]
    done = subprocess.run(command, check=False)
    for page in HTML.rglob("*.html"):
        text = accessible(page.read_text(encoding="utf-8"))
        page.write_text(text if is_by_hand(page) else without_edit_link(text), encoding="utf-8")
    if not done.returncode:
        sys.stdout.write(f"{HTML.relative_to(ROOT)}/index.html written\n")
    return done.returncode


# What the theme and antsibull-docs leave out or misspell, and who reads with a keyboard or a screen reader needs.
ACCESSIBLE = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    # What may scroll is reached by a key.
    "<pre>": '<pre tabindex="0">',
    '<table class="docutils align-default">': '<table class="docutils align-default" tabindex="0">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    " aria-role=": " role=",
    # By this name the theme takes a page's own list of contents for one that is meant.
    'class="contents local"': 'class="contents local this-will-duplicate-information-and-it-is-still-useful-here"',
}


def accessible(html: str) -> str:
    """A page with the attributes that the generators leave out."""
    for found, mended in ACCESSIBLE.items():
        html = html.replace(found, mended)
    return html


def is_by_hand(page: Path) -> bool:
    """Whether a page of the handbook, and not a program, has the text of this one."""
    source = ROOT / "docs" / f"{page.stem}.md"
    return page.parent == HTML and source.is_file() and not source.read_text("utf-8").startswith("<!-- `make readmes`")


def without_edit_link(html: str) -> str:
    """A page that was generated, whose source is nowhere to be edited."""
    return _EDIT.sub("", html)


def with_links(text: str, repository: str) -> str:
    """The page with its links to what is not in docs/: a role's page is on the site, the rest in the repository."""

    def target(found: re.Match[str]) -> str:
        path, anchor = found[2], found[3] or ""
        role = re.fullmatch(r"roles/(\w+)/README\.md", path)
        if role:
            return f"](collection/{role[1]}_role.rst)"
        if path == "README.md":
            return "](index.md)"
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({repository}/{kind}/main/{path}{anchor})"

    return _LINK.sub(target, text)


def playbooks_page(playbooks: list[Playbook]) -> str:
    """All playbooks with what each does, changes, asks for and applies."""
    kinds = {
        "nodes": "changes nodes",
        "job": "starts or ends a job",
        "host": "changes one host",
        "files": "writes files",
        "nothing": "changes nothing",
    }
    head = (
        "# Playbooks\n\nEach is run as `ansible-playbook -i INVENTORY gaudi3.scale.NAME`, and is a job template by "
        "[configure_controller](controller.md). Its options are those of its roles. See also the [catalog](catalog.md)."
    )
    parts = [head]
    for one in playbooks:
        roles = ", ".join(f"[{role}](collection/{role}_role.rst)" for role in dict.fromkeys(one.roles))
        surveys = "".join(
            f"- The survey of *{template.title}* asks for: "
            + (", ".join(f"`{name}`" for name in (*template.needs, *template.asks)) or "nothing")
            + "\n"
            for template in one.templates
        )
        together = (
            "All of its nodes have to be in the run." if one.together else "A part of the nodes may be run alone."
        )
        parts += [
            f"({_anchor(one)})=\n## {one.name}",
            f"{one.purpose} It {kinds[one.changes]}.",
            f"- Roles: {roles or 'none'}\n{surveys}- {together}",
        ]
    return "\n\n".join(parts) + "\n"


def _anchor(playbook: Playbook) -> str:
    return playbook.name.replace("_", "-")


def collection_pages(target: Path) -> None:
    """A page for each module, plugin and role."""
    target.mkdir(mode=0o700)
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
    }
    options = ["--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(target)]
    command = [str(PROGRAMS / "antsibull-docs"), "collection", *options, "gaudi3.scale"]
    subprocess.run(command, check=True, env=environment, cwd="/", capture_output=True)
    index = target / "index.rst"
    index.write_text(for_users(index.read_text(encoding="utf-8"), public_modules()), encoding="utf-8")


def public_modules() -> list[str]:
    """The public modules."""
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    public: list[str] = runtime["action_groups"]["all"]
    return public


def for_users(index: str, public: Collection[str]) -> str:
    """The collection's first page without modules that are internal to a role; whoever has their name finds them."""
    listed = [(_MODULE.match(line.rstrip("\n")), line) for line in index.splitlines(keepends=True)]
    return "".join(line for module, line in listed if module is None or (module[1] or module[2]) in public)


if __name__ == "__main__":
    sys.exit(main())
