# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx makes the manual: one site of HTML that needs no network, light and dark as the reader's system is."""

import pathlib
import re

project = "Verbline"
html_title = "Verbline"
# The page of Sphinx's that says so is left out.
html_show_copyright = False
html_copy_source = False
html_use_index = False
# Of what is found, the text would have to be requested, which a browser does not do for files.
html_show_search_summary = False
root_doc = "apps/manual/index"
extensions = ["myst_parser"]
# Anchors of headings as GitHub makes them.
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]
# Of what pages show as code little is of one language.
highlight_language = "none"
html_theme = "furo"
html_static_path = ["manual.css"]
html_css_files = ["manual.css"]
# index.html, which leads to the front page.
html_extra_path = ["index.html"]

LIGHT = {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"}
# All of furo's dark colours: Debian's furo applies its own only to readers who have pressed its button, and these to those whose system is
# dark as well.
DARK = {
    "color-problematic": "#ee5151",
    "color-foreground-primary": "#dfe3e6",
    "color-foreground-secondary": "#a3a9af",
    "color-foreground-muted": "#868d94",
    "color-foreground-border": "#666666",
    "color-background-primary": "#14171a",
    "color-background-secondary": "#1a1e22",
    "color-background-hover": "#22272c",
    "color-background-hover--transparent": "#22272c00",
    "color-background-border": "#30363c",
    "color-background-item": "#444444",
    "color-brand-primary": "#6cb6e0",
    "color-brand-content": "#6cb6e0",
    "color-highlighted-background": "#083563",
    "color-highlight-on-target": "#333300",
    "color-admonition-background": "#18181a",
}
html_theme_options = {"light_css_variables": LIGHT, "dark_css_variables": DARK, "top_of_page_button": None}

# Debian's furo leaves two things to a web server and to a bundler: the style sheet that its own begins with, and the module that its
# script imports.
NORMALIZE = pathlib.Path("/usr/share/javascript/normalize.css/normalize.css")
STYLE = re.compile(r"^@import url\(/javascript/normalize[^)]*\);")
MODULE = re.compile(r'^import Gumshoe from "./gumshoe-patched.js";')


def complete_theme(app, exception):
    """Puts both into the files that need them, so that the site works from a disk."""
    static = pathlib.Path(app.outdir, "_static")
    if exception or app.builder.name != "html":
        return
    for name, part, place in (("styles/furo.css", NORMALIZE, STYLE), ("scripts/furo.js", static / "scripts/gumshoe-patched.js", MODULE)):
        file = static / name
        text = file.read_text(encoding="utf-8")
        if place.search(text):
            inserted = part.read_text(encoding="utf-8")
            file.write_text(place.sub(lambda _, inserted=inserted: inserted, text), encoding="utf-8")


def setup(app):
    app.connect("build-finished", complete_theme)
