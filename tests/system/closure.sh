# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A file system that has some programs of this machine, and the libraries that they need, in $tree: of a guest, or a container.

# add FILE [NAME]: under its own path, or that one.
add() { install -D -m 755 -- "$(realpath "$1")" "$tree${2-$1}"; }

# add_with_libraries FILE NAME. The loader looks in the directories of the machine it comes from.
add_with_libraries() {
    local library
    add "$1" "$2"
    ldd "$1" | grep -o '/[^ ]*' | while read -r library; do add "$library"; done
}
