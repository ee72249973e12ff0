# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the documentation site; scripts/build_site.py puts its sources together."""

from __future__ import annotations

project = "gaudi3.scale"
author = "The gaudi3.scale authors"
copyright = f"2026, {author}"  # noqa: A001 - as Sphinx names it
extensions = ["myst_parser", "sphinx_antsibull_ext", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# site.css has them in the theme's own colors.
antsibull_ext_color_scheme = "none"
# What Ansible's own site has is reached by links: the build asks no network.
intersphinx_mapping: dict[str, tuple[str, None]] = {}
html_theme = "furo"
html_title = "gaudi3.scale"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "navigation_with_keys": True,
    # Each page of the handbook has a link to its source; scripts/build_site.py names the repository, and takes the link
    # off what is generated.
    "source_repository": "",
    "source_branch": "main",
    "source_directory": "docs/",
}
# What a copied command must not have: prompts, and what it printed.
copybutton_prompt_text = r"\$ |# "
copybutton_prompt_is_regexp = True
html_show_sphinx = False
# Names of Ansible's own documents, which are not here.
suppress_warnings = ["ref.ref", "ref.doc", "myst.xref_missing_external"]
# Shell sessions with output in them are no valid shell.
highlight_language = "none"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
