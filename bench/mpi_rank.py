#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi_rank.py latency|bandwidth|allreduce|alltoall BYTES ROUNDS: one rank; rank 0 prints the result. Measured as the OSU
micro-benchmarks measure, which Debian does not have: latency is half of a round trip between the first rank and the last one,
bandwidth that of windows of 64 messages from the first to the last, in MB/s of 2^20 bytes; of the collective ones, microseconds for each, and MB/s
of all ranks together."""

import ctypes
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "apps/testbed"))

from mpi_library import BYTE, LONG, STATUS_IGNORE, STATUSES_IGNORE, SUM, WORLD, Request, check, mpi, rank_and_size  # noqa: E402

WINDOW = 64
MEGABYTE = 1 << 20


def latency(rank, size, length, rounds):
    buffer, last = ctypes.create_string_buffer(length), size - 1
    began = time.perf_counter()
    for _ in range(rounds):
        if rank == 0:
            check(mpi.MPI_Send(buffer, length, BYTE, last, 1, WORLD))
            check(mpi.MPI_Recv(buffer, length, BYTE, last, 1, WORLD, STATUS_IGNORE))
        elif rank == last:
            check(mpi.MPI_Recv(buffer, length, BYTE, 0, 1, WORLD, STATUS_IGNORE))
            check(mpi.MPI_Send(buffer, length, BYTE, 0, 1, WORLD))
    return (time.perf_counter() - began) / rounds / 2 * 1e6


def bandwidth(rank, size, length, rounds):
    last = size - 1
    buffers = [ctypes.create_string_buffer(length) for _ in range(WINDOW)]
    requests = (Request * WINDOW)()
    answer = ctypes.create_string_buffer(4)
    began = time.perf_counter()
    for _ in range(rounds):
        if rank not in (0, last):
            continue
        start, peer = (mpi.MPI_Isend, last) if rank == 0 else (mpi.MPI_Irecv, 0)
        for i in range(WINDOW):
            at = ctypes.byref(requests, i * ctypes.sizeof(Request))
            check(start(buffers[i], length, BYTE, peer, 1, WORLD, at))
        check(mpi.MPI_Waitall(WINDOW, requests, STATUSES_IGNORE))
        if rank == 0:
            check(mpi.MPI_Recv(answer, 4, BYTE, last, 2, WORLD, STATUS_IGNORE))
        else:
            check(mpi.MPI_Send(answer, 4, BYTE, 0, 2, WORLD))
    return rounds * WINDOW * length / MEGABYTE / (time.perf_counter() - began)


def allreduce(_rank, _size, length, rounds):
    mine, sums = (ctypes.create_string_buffer(length) for _ in range(2))
    began = time.perf_counter()
    for _ in range(rounds):
        check(mpi.MPI_Allreduce(mine, sums, length // 8, LONG, SUM, WORLD))
    return (time.perf_counter() - began) / rounds * 1e6


def alltoall(_rank, size, length, rounds):
    mine, theirs = (ctypes.create_string_buffer(length * size) for _ in range(2))
    began = time.perf_counter()
    for _ in range(rounds):
        check(mpi.MPI_Alltoall(mine, length, BYTE, theirs, length, BYTE, WORLD))
    return rounds * size * (size - 1) * length / MEGABYTE / (time.perf_counter() - began)


def main():
    measure = {each.__name__: each for each in (latency, bandwidth, allreduce, alltoall)}[sys.argv[1]]
    length, rounds = int(sys.argv[2]), int(sys.argv[3])
    check(mpi.MPI_Init(None, None))
    rank, size = rank_and_size()
    measure(rank, size, length, max(rounds // 10, 2))  # connects, and touches all memory
    check(mpi.MPI_Barrier(WORLD))
    result = measure(rank, size, length, rounds)
    check(mpi.MPI_Barrier(WORLD))
    check(mpi.MPI_Finalize())
    if rank == 0:
        print(f"result {result:.6g}", flush=True)


main()
