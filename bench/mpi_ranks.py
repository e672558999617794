# SPDX-License-Identifier: BSD-3-Clause
"""MPI between ranks on two nodes, and on one, beside the same over TCP: Open MPI and UCX of Debian's packages, all on this machine."""

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

from verbs_pairs import Failed, node

RANK = pathlib.Path(__file__).with_name("mpi_rank.py")
LIMIT = 120  # seconds, of a run


@contextlib.contextmanager
def nodes(verbline, number):
    """How ranks of that many nodes are run: of one, whose port nobody is at the other end of, or of two on one cable."""
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as running:
        wire = f"memif:{directory}/wire.sock"
        names = [running.enter_context(node(verbline, f"bench-{os.getpid()}-{i}", wire + (",server" if i == 0 else ""),
                                            f"10.97.0.{i + 1}/24")) for i in range(number)]
        yield [[str(verbline), "run", "--link", f"node:{name}", "--"] for name in names]


def mpirun(parts, variables, what, length, rounds):
    """What rank 0 printed. Each part is how many ranks, and what runs them."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    # By default Open MPI leaves UCX alone where it finds no adapter.
    settings = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", *(word for name, value in variables.items() for word in ("-x", f"{name}={value}"))]
    for i, (count, prefix) in enumerate(parts):
        command += ([":"] if i else []) + [*settings, "-n", str(count), *prefix, "/usr/bin/python3", str(RANK), what, str(length), str(rounds)]
    allowed = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        done = subprocess.run(command, env=allowed, capture_output=True, text=True, timeout=LIMIT)
    except FileNotFoundError as absent:
        raise Failed("there is no mpirun: install openmpi-bin") from absent
    found = re.search(r"^result (\S+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not found:
        raise Failed((done.stderr.strip() or "mpirun printed no result").splitlines()[-1])
    return float(found[1])


def on_nodes(verbline, counts, *measurement):
    """`counts`: ranks of each node."""
    with nodes(verbline, len(counts)) as prefixes:
        return mpirun(list(zip(counts, prefixes, strict=True)), {"UCX_TLS": "rc,self", "UCX_NET_DEVICES": "verbline0:1"}, *measurement)


def over_tcp(count, *measurement):
    return mpirun([(count, [])], {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}, *measurement)
