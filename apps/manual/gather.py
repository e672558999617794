# SPDX-License-Identifier: BSD-3-Clause
"""Gathers the pages of the manual in one directory, for Sphinx: every Markdown page of the project at its path, the man pages, pictures, and
the other files that pages link to, each as a page of its own. Links and tables of contents are written as Sphinx needs them."""

import argparse
import os
import pathlib
import re

import man_page

FOLDERS = ("pmd", "datapath", "control", "apps", "tests", "bench", "config")
FRONT = "apps/manual/index.md"
API = "apps/manual/api.md"
# Sections of the front page by those of man pages.
MAN_SECTIONS = {".1": "Commands", ".8": "Services"}
LINK = re.compile(r"(?<=\]\()([^()\s#:]+)(#[^()\s]*)?(?=\))")
CODE = re.compile(r"(`[^`\n]*`)")
PICTURES = (".png", ".svg")
LANGUAGES = {".toml": "toml", ".h": "cpp", ".cc": "cpp", ".py": "python", ".sh": "bash", ".yaml": "yaml"}


class Manual:
    """What is gathered: text of pages by their path, pictures, and the files that they were read from."""

    def __init__(self, root):
        self.root, self.pages, self.pictures, self.sources = root, {}, set(), []

    def gather_pages(self):
        found = [self.root / "README.md"] + [page for folder in FOLDERS for page in (self.root / folder).rglob("*.md")]
        for path in sorted(found):
            page = path.relative_to(self.root).as_posix()
            self.pages[page] = self.with_links(page, self.read(path))

    def read(self, path):
        self.sources.append(path)
        return path.read_text(encoding="utf-8")

    def with_links(self, page, text):
        """Outside of code, links to folders lead to their README.md, links to other files than pages to the page of that file."""
        parts = CODE.split(text)
        parts[::2] = [LINK.sub(lambda link: self.target(page, link.group(1)) + (link.group(2) or ""), part) for part in parts[::2]]
        return "".join(parts)

    def target(self, page, link):
        path = os.path.normpath(os.path.join(os.path.dirname(page), link))
        if (self.root / path).is_dir():
            return f"{link.rstrip('/')}/README.md"
        if link.endswith(".md") or not (self.root / path).is_file():
            return link
        if path.endswith(PICTURES):
            self.pictures.add(path)
            return link
        self.add_file(path)
        return f"{link}.md"

    def add_file(self, path):
        """The page of a file that is none: its name and its text."""
        if f"{path}.md" not in self.pages:
            text = self.read(self.root / path).rstrip("\n")
            language = LANGUAGES.get(os.path.splitext(path)[1], "text")
            self.pages[f"{path}.md"] = f"# {path}\n\n~~~~~~{language}\n{text}\n~~~~~~\n"

    def add_man_pages(self, files):
        """As `man/NAME.md`; the front page lists them, each in the section of its kind."""
        names = [file.stem for file in files]
        lines = dict.fromkeys(MAN_SECTIONS, "")
        for file in files:
            page, summary = man_page.page(file, names)
            self.pages[f"man/{file.stem}.md"] = page
            lines[file.suffix] += f"- [{file.stem}](../../man/{file.stem}.md): {summary}\n"
        self.sources += files
        for suffix, title in MAN_SECTIONS.items():
            section = re.compile(rf"^## {title}\n.*?(?=^## )", flags=re.M | re.S)
            self.pages[FRONT] = section.sub(lambda text, suffix=suffix: f"{text.group()}{lines[suffix]}\n", self.pages[FRONT])

    def add_api(self):
        """The way to Doxygen's pages, which Sphinx knows nothing of."""
        way = '<p><a href="../../api/index.html">All headers, classes and examples</a></p>'
        self.pages[API] += f"\n## All of it\n\n```{{raw}} html\n{way}\n```\n"

    def add_contents(self):
        """The front page's chapters are its sections, with the links of their lists; a folder's README.md leads to the other pages below
        that folder, down to the next README.md."""
        listed, chapters = set(), ""
        for section in re.split(r"^## ", self.pages[FRONT], flags=re.M)[1:]:
            title, _, text = section.partition("\n")
            entries = []
            for name, link in re.findall(r"^- \[([^]]*)\]\(([^)]*)\)", text, flags=re.M):
                page = os.path.normpath(os.path.join(os.path.dirname(FRONT), link))
                listed.add(page)
                entries.append(f"{name} </{page.removesuffix('.md')}>")
            chapters += contents(entries, title)
        for page in sorted(self.pages):
            parent = self.parent(page)
            if page not in listed and page != FRONT:
                self.pages[parent] += contents([os.path.relpath(page, os.path.dirname(parent)).removesuffix(".md")])
        self.pages[FRONT] += chapters

    def parent(self, page):
        """The README.md of the folder that the page is in, or of the one around it; the front page if there is none."""
        folder = os.path.dirname(page)
        while folder:
            readme = f"{folder}/README.md"
            if readme != page and readme in self.pages:
                return readme
            folder = os.path.dirname(folder)
        return FRONT

    def write(self, output):
        files = {page: text.encode() for page, text in self.pages.items()}
        files |= {picture: (self.root / picture).read_bytes() for picture in self.pictures}
        for name, contents_of in files.items():
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents_of)


def contents(entries, caption=None):
    """A table of contents that the sidebar shows."""
    lines = [":hidden:"] + ([f":caption: {caption}"] if caption else []) + entries
    return "\n\n```{toctree}\n" + "\n".join(lines) + "\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="of the project")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="directory")
    parser.add_argument("--depfile", type=pathlib.Path, required=True, help="to write: what depends on the files that were read")
    parser.add_argument("--target", required=True, help="what that is")
    parser.add_argument("--api", default="-", help="the directory of the C++ API that will be beside the pages; -: none")
    parser.add_argument("man_pages", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    manual = Manual(arguments.root.resolve())
    manual.gather_pages()
    manual.add_man_pages(arguments.man_pages)
    if arguments.api != "-":
        manual.add_api()
    manual.add_contents()
    manual.write(arguments.output)
    own = pathlib.Path(__file__).parent
    used = manual.sources + [manual.root / picture for picture in manual.pictures] + [own / name for name in ("conf.py", "gather.py", "man_page.py", "manual.css", "index.html")]
    arguments.depfile.write_text(f"{arguments.target}: {' '.join(str(path) for path in used)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
