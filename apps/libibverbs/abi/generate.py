#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes of symbols.txt the linker's version script, and the aliases of private_symbols.cc in each private node.

generate.py SYMBOLS DRIVERS MAP ALIASES

The files of the folder DRIVERS, lib*-rdmavN.so, say which private node the libraries of this machine have.
"""
import sys
from pathlib import Path


def statements(text):
    """Lists of words: a line and the indented ones that go on with it, without comments."""
    words = []
    for line in text.splitlines():
        code = line.split('#')[0]
        if code[:1].isspace():
            words[-1] += code.split()
        elif code:
            words.append(code.split())
    return words


def read(text):
    public, interposed, numbers, private = {}, {}, set(), {}
    for keyword, *words in statements(text):
        if keyword == 'public':
            public[words[0]] = words[1:]
        elif keyword == 'interposed':
            interposed[words[0]] = words[1:]
        elif keyword == 'private_nodes':
            numbers.update(map(int, words))
        elif keyword == 'private':
            private.update(dict.fromkeys(words[1:], words[0]))
        else:
            sys.exit(f'symbols.txt: what is {keyword}?')
    return public, interposed, numbers, private


def version_script(public, interposed, numbers):
    """Nodes that inherit in their order, and alone those that are another library's. What is not listed stays hidden; the
    private ones are filled by .symver."""
    script, parent = '', ''
    for node, names in public.items():
        hidden = '' if parent else '    local:\n        *;\n'
        listed = ''.join(f'        {name};\n' for name in names)
        script += f'{node} {{\n    global:\n{listed}{hidden}}}{parent};\n\n'
        parent = ' ' + node
    for node, names in interposed.items():
        script += f'{node} {{\n    global:\n' + ''.join(f'        {name};\n' for name in names) + '};\n\n'
    return script + ''.join(f'IBVERBS_PRIVATE_{number} {{\n}};\n' for number in sorted(numbers))


def aliases(numbers, private):
    lines = []
    for number in sorted(numbers):
        for name, kind in sorted(private.items()):
            name = name.replace('_N', f'_{number}')
            lines.append(f'".symver verbline_private_{kind}, {name}@IBVERBS_PRIVATE_{number}\\n"\n')
    return ''.join(lines)


def nodes_of(drivers):
    return {int(driver.stem.rpartition('-rdmav')[2]) for driver in Path(drivers).glob('*-rdmav*.so')}


def main():
    symbols, drivers, map_file, alias_file = sys.argv[1:]
    public, interposed, numbers, private = read(Path(symbols).read_text())
    numbers |= nodes_of(drivers)
    Path(map_file).write_text(version_script(public, interposed, numbers))
    Path(alias_file).write_text(aliases(numbers, private))


main()
