#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what `assets.cc` includes, what each page of `verbline report` has inside: the plotting library, our scripts, the style sheet, the
library's licence, and the hashes by which the page allows them."""

import argparse
import base64
import hashlib
import pathlib
import re


def array(name, content):
    """Bytes, not a string: compilers bound the length of those. A zero at the end, for an array is never empty."""
    return f"constexpr unsigned char {name}[] = {{{','.join(str(byte) for byte in content + bytes(1))}}};\n"


def source_hash(content):
    """As a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def script_text(path):
    """What stands between script tags as it is: nothing in it may look like their end."""
    content = path.read_bytes()
    content.decode("utf-8")
    if re.search(rb"</script|<!--|\r", content, re.IGNORECASE):
        raise SystemExit(f"embed.py: {path} cannot stand inside of a page")
    return content


def licence_text(library, licence):
    """The library's own first line, and the conditions of the BSD licence, which are the same for it and for us."""
    if not library:
        return b""
    first = library.split(b"\n", 1)[0].lstrip(b"/ ").decode()
    conditions = licence[licence.index("Redistribution and use"):].strip()
    return f"The first script below: {first}\n\n{conditions}".replace("--", "- -").encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, help="without it, the program says that it has none")
    parser.add_argument("--licence", type=pathlib.Path, required=True, help="the project's LICENSE")
    parser.add_argument("--style", type=pathlib.Path, required=True)
    parser.add_argument("script", type=pathlib.Path, nargs="+")
    given = parser.parse_args()
    content = {
        "library": script_text(given.library) if given.library else b"",
        "script": b"".join(script_text(path) for path in given.script),
        "style": given.style.read_bytes(),
    }
    lines = [f'constexpr char {name}_hash[] = "{source_hash(value)}";\n' for name, value in content.items()]
    content["licence"] = licence_text(content["library"], given.licence.read_text(encoding="utf-8"))
    lines += [array(name, value) for name, value in content.items()]
    given.output.write_text("".join(lines), encoding="utf-8")


main()
