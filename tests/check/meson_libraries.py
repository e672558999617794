# SPDX-License-Identifier: BSD-3-Clause
"""The libraries and programs of the meson.build files: their sources, and the folders that their dependencies name. So much of Meson's
language is read as that takes: what an expression names and what it makes known, not what it does."""

import collections
import os
import re

# Comments, strings, names (with what is called on them), and what makes statements.
TOKEN = re.compile(r"#.*|'((?:[^'\\\n]|\\.)*)'|([A-Za-z_][\w.]*)|((?<![=!<>])\+?=(?!=)|[()\[\]{}:\n])")
TARGETS = {"static_library", "shared_library", "library", "executable"}


class Named:
    """What a name of the meson.build files, or an expression without one, stands for."""

    def __init__(self):
        self.uses = set()  # other names
        self.folders = set()  # that it makes known
        self.sources = set()
        self.libraries = []


class Library(Named):
    def __init__(self, name, folder):
        super().__init__()
        self.name, self.folder = name, folder


def tokens(text):
    """(kind, text) of each; line ends inside of brackets end no statement and are left out."""
    depth = 0
    for match in TOKEN.finditer(text):
        string, name, mark = match.groups()
        if string is not None:
            yield "string", string
        elif name:
            yield "name", name.split(".")[0]
        elif mark:
            depth += (mark in "([{") - (mark in ")]}")
            if mark != "\n" or depth == 0:
                yield "mark", mark


def statements(text):
    statement = []
    for token in [*tokens(text), ("mark", "\n")]:
        if token != ("mark", "\n"):
            statement.append(token)
        elif statement:
            yield statement
            statement = []


def closing(statement, opening):
    """The place of the bracket that closes the one there."""
    depth = 0
    for place in range(opening, len(statement)):
        depth += (statement[place][1] == "(") - (statement[place][1] == ")") if statement[place][0] == "mark" else 0
        if depth == 0:
            return place
    raise ValueError("a bracket is not closed")


def read_expression(what, expression, folder):
    """Adds to `what` all that an expression names. A target in it is a library: what that uses is its own business."""
    place = 0
    while place < len(expression):
        kind, text = expression[place]
        following = expression[place + 1] if place + 1 < len(expression) else None
        if kind == "string" and text.endswith(".cc"):
            what.sources.add(os.path.normpath(os.path.join(folder, text)))
        elif kind == "name" and text in TARGETS and following == ("mark", "("):
            end = closing(expression, place + 1)
            library = Library(expression[place + 2][1], folder)
            read_expression(library, expression[place + 2:end], folder)
            what.libraries.append(library)
            place = end
        elif kind == "name" and text == "declare_dependency":
            what.folders.add(folder)
        elif kind == "name" and following != ("mark", ":"):
            what.uses.add(text)
        place += 1


class Project:
    def __init__(self):
        self.names = collections.defaultdict(Named)
        self.libraries = []

    def read(self, path):
        folder = os.path.dirname(path)
        for statement in statements(open(path, encoding="utf-8").read()):
            anonymous, expression = Named(), statement
            if len(statement) > 1 and statement[1][1] in ("=", "+="):
                anonymous, expression = self.names[statement[0][1]], statement[2:]
            elif statement[0][1] == "foreach":
                anonymous, expression = self.names[statement[1][1]], statement[2:]
            known = len(anonymous.libraries)
            read_expression(anonymous, expression, folder)
            self.libraries += anonymous.libraries[known:]
            if anonymous.folders and not anonymous.libraries:  # headers only: they are what it consists of
                headers = Library(statement[0][1], folder)
                headers.uses, headers.folders = anonymous.uses, {folder}
                self.libraries.append(headers)

    def reachable(self, what):
        """All that something uses by names, and what those use; not what is inside of libraries."""
        seen, left = set(), list(what.uses)
        yield what
        while left:
            name = left.pop()
            if name not in seen and name in self.names:
                seen.add(name)
                left += self.names[name].uses
                yield self.names[name]

    def sources(self, library):
        return set().union(*(each.sources for each in self.reachable(library)))

    def folders(self, library):
        """Where a library may include from."""
        known = {os.path.dirname(source) for source in self.sources(library)}
        for each in self.reachable(library):
            known |= each.folders
            for other in each.libraries:
                known |= {os.path.dirname(source) for source in self.sources(other)}
        return known
