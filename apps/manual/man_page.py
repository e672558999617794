# SPDX-License-Identifier: BSD-3-Clause
"""A man page as a page of the manual, by mandoc."""

import re
import subprocess

SECTION = re.compile(r'<section class="Sh">\s*<h1 class="Sh" id="[^"]*">.*?>([^<]*)</a></h1>(.*?)</section>', re.S)
TICKED = re.compile(r"`([^`<]*)`")
OTHER = re.compile(r"\b(verbline[a-z-]*(?:@\.service)?)\([18]\)")


def page(file, names):
    """The page, and what its command does in a few words: Markdown, with headings of Sphinx's own so that they are in its contents, and the
    text between them as HTML. `names` are the man pages that there are links to."""
    html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", file], capture_output=True, text=True, check=True).stdout
    text, summary = f"# {file.stem}\n", ""
    for title, body in SECTION.findall(html):
        title = " ".join(title.split())
        if title == "NAME":
            summary = " ".join(re.sub(r"<[^>]*>", "", body).split()).partition(" - ")[2]
            text += f"\n{summary}\n"
            continue
        body = TICKED.sub(r"<code>\1</code>", body)
        body = OTHER.sub(lambda other: link(other, names), body)
        text += f'\n## {title.capitalize()}\n\n``````{{raw}} html\n<div class="man-page">{body.rstrip()}</div>\n``````\n'
    return text, summary


def link(other, names):
    name = other.group(1)
    return f'<a href="{name}.html">{name}</a>' if name in names else other.group(0)
