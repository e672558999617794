# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI without its development package: the library's own entry points, by ctypes."""

import ctypes

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
WORLD, BYTE, LONG, SUM = (ctypes.byref(ctypes.c_char.in_dll(mpi, name))
                          for name in ("ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_long", "ompi_mpi_op_sum"))
STATUS_IGNORE = STATUSES_IGNORE = None
Request = ctypes.c_void_p


def check(status):
    if status != 0:
        raise RuntimeError(f"MPI error {status}")


def rank_and_size():
    rank, size = ctypes.c_int(), ctypes.c_int()
    check(mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank)))
    check(mpi.MPI_Comm_size(WORLD, ctypes.byref(size)))
    return rank.value, size.value
