#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Links of a site on disk: each leads to a file of it, and behind a # to an element of that page; what a page loads is of the site. Prints
what is wrong, or how much was looked at."""

import html.parser
import os
import pathlib
import sys
import urllib.parse

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


class Page(html.parser.HTMLParser):
    """Its links, what it loads, and the ids of its elements."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.links, self.loaded, self.ids = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag in LOADED and given.get(LOADED[tag]):
            self.loaded.append(given[LOADED[tag]])
        elif tag == "a" and given.get("href"):
            self.links.append(given["href"])


def check(site, path, pages):
    """Yields what is wrong with the links of one page."""
    page = pages[path]
    for link in page.links + page.loaded:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            # Doxygen's frame of what a search finds is empty at first: javascript:void(0).
            if link in page.loaded and address.scheme != "javascript":
                yield f"{path.relative_to(site)}: loads {link}"
            continue
        target = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(address.path))) if address.path else path
        if not target.is_file():
            yield f"{path.relative_to(site)}: there is no {link}"
        # Furo's way to the top of the page is a # alone.
        elif address.fragment and target in pages and urllib.parse.unquote(address.fragment) not in pages[target].ids:
            yield f"{path.relative_to(site)}: {target.relative_to(site)} has no #{address.fragment}"


def main():
    site = pathlib.Path(sys.argv[1])
    pages = {path: Page(path) for path in site.rglob("*.html")}
    wrong = [text for path in pages for text in check(site, path, pages)]
    print("\n".join(wrong) if wrong else f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")
    return 1 if wrong or len(pages) < 100 else 0


sys.exit(main())
