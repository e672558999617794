#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares libraries of the SONAME libibverbs.so.1 with each other and with those who import from them. Prints what is missing
or different, one line each; the exit status says whether there was any.

    verbs_abi.py exports OURS THEIRS   symbols with their versions
    verbs_abi.py hidden OURS           exported without being of libibverbs
    verbs_abi.py imports OURS          what the installed files need
    verbs_abi.py load OURS             whether they find it, all symbols bound at once
    verbs_abi.py values OURS THEIRS    names of values, rates
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PACKAGES = (
    "ibverbs-utils", "perftest", "rdmacm-utils", "ucx-utils", "libucx0", "python3-pyverbs", "librdmacm1", "ibverbs-providers",
    "libfabric1", "libfabric-bin", "qperf", "libopenmpi3",
)  # fmt: skip
DPDK_DRIVERS = "/usr/lib/*/dpdk/pmds-*"
OURS_ALONE = {"VERBLINE_1.0@VERBLINE_1.0", "verbline_describe@VERBLINE_1.0"}
# The C library's, that the library stands in for.
INTERPOSED = {
    "close@GLIBC_2.2.5", "dup2@GLIBC_2.2.5", "ioctl@GLIBC_2.2.5", "open@GLIBC_2.2.5", "read@GLIBC_2.2.5", "write@GLIBC_2.2.5", "dup3@GLIBC_2.9", "fstat@GLIBC_2.33",
    "close_range@GLIBC_2.34", "closefrom@GLIBC_2.34", "sigaction@GLIBC_2.2.5", "signal@GLIBC_2.2.5", "bsd_signal@GLIBC_2.2.5",
    "ssignal@GLIBC_2.2.5", "sysv_signal@GLIBC_2.2.5", "__sysv_signal@GLIBC_2.2.5", "sigprocmask@GLIBC_2.2.5",
    "pthread_sigmask@GLIBC_2.2.5", "pthread_sigmask@GLIBC_2.32", "pthread_attr_setsigmask_np@GLIBC_2.32",
    "GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.32", "GLIBC_2.33", "GLIBC_2.34",
}  # fmt: skip
VERSION = re.compile(r"@+IBVERBS_")


def symbols(file, *selection):
    """name@VERSION of a file's dynamic symbols, without the marks of undefined and default ones."""
    output = subprocess.run(["nm", "-D", "--with-symbol-versions", *selection, file], capture_output=True, text=True, check=False)
    return [line.split()[-1] for line in output.stdout.splitlines()]


def exported(file):
    return {symbol.replace("@@", "@") for symbol in symbols(file, "--defined-only")}


def imported(file):
    return {symbol for symbol in symbols(file, "--undefined-only") if VERSION.search(symbol)}


def superseded(file):
    """Of IBVERBS_1.0, but not the default: old structures under a name that IBVERBS_1.1 has given to others. Nobody needs them."""
    return {symbol for symbol in symbols(file, "--defined-only") if re.fullmatch(r"[a-z]\w*@IBVERBS_1\.0", symbol)}


def importers():
    """Files of installed packages, and DPDK's drivers, that need anything of libibverbs."""
    files = set()
    for package in PACKAGES:
        listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False)
        files.update(map(Path, listed.stdout.splitlines()))
    files.update(Path("/").glob(DPDK_DRIVERS.lstrip("/") + "/*.so*"))
    for file in sorted({file.resolve() for file in files if file.is_file()}):
        # Plug-ins of the distribution's own library are loaded by it alone.
        if "-rdmav" in file.name or "/libibverbs.so" in str(file):
            continue
        if b"IBVERBS_" in file.read_bytes() and imported(file):
            yield file


def missing_exports(ours, theirs):
    for symbol in sorted(exported(theirs) - superseded(theirs) - exported(ours)):
        yield f"missing: {symbol}"


def not_hidden(ours):
    for symbol in sorted(exported(ours)):
        if not (symbol.startswith(("IBVERBS_", "VERBLINE_")) or VERSION.search(symbol) or symbol in OURS_ALONE | INTERPOSED):
            yield f"visible: {symbol}"


def missing_imports(ours):
    have, count = exported(ours), 0
    for file in importers():
        count += 1
        for symbol in sorted(imported(file) - have):
            yield f"{file} needs {symbol}"
    if count == 0:
        yield "no program is installed that imports anything"


# In a process of its own: the file, or what it needs, finds our library and no other.
LOADER = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1], os.RTLD_NOW)
found = {line.split()[-1] for line in open('/proc/self/maps') if '/libibverbs.so' in line}
sys.exit(0 if found == {sys.argv[2]} else f'loads {sorted(found)}')
"""


def is_plug_in(file):
    """It lacks symbols of the program that it belongs to, whichever libibverbs there is."""
    command = [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(file)]
    environment = dict(os.environ, LD_BIND_NOW="1")
    return ".so" in file.name and subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False).returncode != 0


def failed_loads(ours):
    ours = str(Path(ours).resolve())
    environment = dict(os.environ, LD_PRELOAD=ours, LD_BIND_NOW="1")
    for file in importers():
        # Of programs, the linker lists what is missing instead of starting them.
        command = [sys.executable, "-c", LOADER, str(file), ours] if ".so" in file.name else ["ldd", "-r", str(file)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        missing = re.findall(".*(?:undefined symbol|not found).*", result.stdout + result.stderr)
        if (missing or result.returncode != 0) and is_plug_in(file):
            continue  # its imports of ours are looked at in missing_imports
        if missing or result.returncode != 0:
            yield f"{file}: {'; '.join(missing) or result.stderr.strip()}"
        elif command[0] == "ldd" and ours not in result.stdout:
            yield f"{file}: loads another libibverbs.so.1"


TEXTS = {"ibv_wc_status_str": 40, "ibv_event_type_str": 40, "ibv_port_state_str": 20, "ibv_node_type_str": 20}
NUMBERS = {"ibv_rate_to_mult": 40, "ibv_rate_to_mbps": 40, "mult_to_ibv_rate": 600, "mbps_to_ibv_rate": 1_300_000}

READER = """
import ctypes, json, sys
library, texts, numbers = ctypes.CDLL(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
for name in texts:
    getattr(library, name).restype = ctypes.c_char_p
said = {name: {i: getattr(library, name)(i).decode() for i in range(-1, last)} for name, last in texts.items()}
said |= {name: {i: value for i in range(-1, last) if (value := getattr(library, name)(i)) > 0} for name, last in numbers.items()}
print(json.dumps(said))
"""


def values(library):
    command = [sys.executable, "-c", READER, library, json.dumps(TEXTS), json.dumps(NUMBERS)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def different_values(ours, theirs):
    we, they = values(ours), values(theirs)
    for function, said in they.items():
        for value in sorted(said.keys() | we[function].keys(), key=int):
            if said.get(value) != we[function].get(value):
                yield f"{function}({value}): {we[function].get(value)}, theirs {said.get(value)}"


def main():
    checks = {"exports": missing_exports, "hidden": not_hidden, "imports": missing_imports, "load": failed_loads, "values": different_values}
    found = list(checks[sys.argv[1]](*sys.argv[2:]))
    print(*found, sep="\n")
    sys.exit(1 if found else 0)


main()
