#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads a page of `verbline report` as a browser has drawn it (its DOM, as HTML, on standard input), and prints what is in it as JSON:
for each section its drawings (lines, points, bars, labels of axes) and its tables."""

import html.parser
import json
import re
import sys


class Page(html.parser.HTMLParser):
    """Follows the page's sections; the classes of elements tell what they are."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.title, self.sections, self.links, self.stack = "", {}, [], []
        self.section = self.drawing = self.table = None

    def classes(self):
        return [name for _, names in self.stack for name in names]

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        names = (given.get("class") or "").split()
        self.links += [given[key] for key in ("src", "href") if not (given.get(key) or "#").startswith("#")]
        if tag in ("meta", "br", "link", "img", "input"):
            return
        self.stack.append((tag, names))
        if tag == "section":
            self.section = self.sections.setdefault(given.get("id"), {"drawings": [], "tables": []})
        elif tag == "svg" and self.section:
            self.drawing = {"role": given.get("role"), "label": given.get("aria-label"), "title": "", "axes": [], "ticks": [], "lines": 0,
                            "points": 0, "bars": 0, "goals": 0, "marks": 0, "labels": [], "wrong": 0}
            self.section["drawings"].append(self.drawing)
        elif tag == "table" and self.section:
            self.table = {"columns": [], "rows": []}
            self.section["tables"].append(self.table)
        elif tag == "tr" and self.table and not self.within("thead"):
            self.table["rows"].append([])
        elif tag in ("td", "th") and self.table:
            (self.table["columns"] if tag == "th" else self.table["rows"][-1]).append("")
        if self.drawing is not None:
            self.count(tag, names, given)

    def count(self, tag, names, given):
        drawing = self.drawing
        drawing["lines"] += tag == "path" and "line" in names
        drawing["points"] += "point" in names
        drawing["bars"] += tag == "rect" and "bar" in names
        drawing["goals"] += "goal" in names and not self.within_class("key")
        drawing["marks"] += "mark" in names
        drawing["wrong"] += any(re.search(r"NaN|undefined|Infinity|^-\d", value or "") for key, value in given.items()
                                if key in ("x", "y", "d", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy", "transform"))

    def within(self, tag):
        return any(name == tag for name, _ in self.stack)

    def within_class(self, name):
        return name in self.classes()

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop()[0] != tag:
            pass
        if tag == "svg":
            self.drawing = None
        elif tag == "table":
            self.table = None
        elif tag == "section":
            self.section = None

    def handle_data(self, data):
        if not self.stack:
            return
        tag = self.stack[-1][0]
        if tag == "title" and self.drawing is None:
            self.title += data
        elif self.table is not None and tag in ("td", "th"):
            cells = self.table["columns"] if tag == "th" else self.table["rows"][-1]
            cells[-1] += data
        elif self.drawing is not None and tag == "title" and self.stack[-2][0] == "svg":
            self.drawing["title"] += data
        elif self.drawing is not None and tag in ("text", "tspan"):
            kind = "axes" if self.within_class("title") else "ticks" if self.within_class("axis") else "labels"
            self.drawing[kind].append(data)


def main():
    page = Page()
    page.feed(sys.stdin.read())
    json.dump({"title": page.title, "sections": page.sections, "links": page.links}, sys.stdout)


main()
