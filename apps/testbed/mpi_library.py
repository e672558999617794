# SPDX-License-Identifier: BSD-3-Clause
"""An MPI library without its development package: its own entry points, by ctypes. The environment's MPI_LIBRARY says which: that of
Open MPI, or libmpich.so.12, whose handles are numbers fixed by the ABI that MPICH and its relatives share."""

import ctypes
import os

LIBRARY = os.environ.get("MPI_LIBRARY", "libmpi.so.40")
mpi = ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
if LIBRARY.startswith("libmpich"):
    WORLD, BYTE, LONG, SUM = 0x44000000, 0x4C00010D, 0x4C000807, 0x58000003
    STATUS_IGNORE = STATUSES_IGNORE = ctypes.c_void_p(1)
    Request = ctypes.c_int
else:
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
