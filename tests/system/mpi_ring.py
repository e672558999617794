#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One rank of an MPI program: messages of many sizes round a ring, every byte looked at, and a sum over all.

Rank 0 prints "ok" and how much came round.
"""
import ctypes
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "apps/testbed"))

from mpi_library import BYTE, LONG, STATUS_IGNORE, SUM, WORLD, check, mpi, rank_and_size  # noqa: E402

SIZES = [1, 8, 100, 4096, 65536, 1 << 20]
ROUNDS = 5


def ring(rank, size):
    """Each passes on what it gets, with one added to every byte."""
    total = 0
    for length in SIZES:
        for turn in range(ROUNDS):
            first = bytes((turn + i) % 200 for i in range(min(length, 256))) * (length // min(length, 256) + 1)
            buffer = ctypes.create_string_buffer(first[:length], length)
            if rank == 0:
                check(mpi.MPI_Send(buffer, length, BYTE, 1 % size, turn, WORLD))
            check(mpi.MPI_Recv(buffer, length, BYTE, (rank - 1) % size, turn, WORLD, STATUS_IGNORE))
            came = buffer.raw
            if rank == 0:
                steps = bytes.maketrans(bytes(range(256)), bytes((b + size - 1) % 256 for b in range(256)))
                if came != first[:length].translate(steps):
                    raise RuntimeError(f"{length} bytes came back changed")
                total += length
            else:
                one = bytes.maketrans(bytes(range(256)), bytes((b + 1) % 256 for b in range(256)))
                buffer.raw = came.translate(one)
                check(mpi.MPI_Send(buffer, length, BYTE, (rank + 1) % size, turn, WORLD))
    return total


def main():
    check(mpi.MPI_Init(None, None))
    rank, size = rank_and_size()
    total = ring(rank, size)
    mine, all_of_us = ctypes.c_long(rank + 1), ctypes.c_long()
    check(mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(all_of_us), 1, LONG, SUM, WORLD))
    if all_of_us.value != size * (size + 1) // 2:
        raise RuntimeError(f"the sum is {all_of_us.value}")
    check(mpi.MPI_Barrier(WORLD))
    check(mpi.MPI_Finalize())
    if rank == 0:
        print(f"ok: {size} ranks, {total} bytes round the ring", flush=True)


main()
