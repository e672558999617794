# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of MPI on two nodes share. A test sources lib.sh first, and sets $mpi_here and $mpi_there, the nodes, and $mpi_in, the
# command that mpirun is run by.

need_mpi() {
    local needed
    for needed in mpirun ompi_info mpiexec.hydra; do
        type -P "$needed" >/dev/null || { echo "there is no $needed: install openmpi-bin and mpich" && exit 77; }
    done
}
# ranks NODE COUNT: a part of the command line. Whatever network namespace a rank is in, its port is its node's.
ranks() { echo "-n $2 $verbline run --link node:$1 -- /usr/bin/python3 $(dirname "$0")/mpi_ring.py"; }
# open_mpi RANKS-HERE RANKS-THERE ARGUMENT...
open_mpi() {
    local here=$1 there=$2
    shift 2
    # shellcheck disable=SC2046,SC2154 # several words; the test's
    "${mpi_in[@]}" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun --oversubscribe --bind-to none "$@" \
        $(ranks "$mpi_here" "$here") : "$@" $(ranks "$mpi_there" "$there")
}
# mpich RANKS-HERE RANKS-THERE: Debian's is built for UCX alone.
mpich() {
    # shellcheck disable=SC2046,SC2154 # several words; the test's
    "${mpi_in[@]}" env MPI_LIBRARY=libmpich.so.12 UCX_TLS=rc,self UCX_NET_DEVICES=verbline0:1 timeout 120 mpiexec.hydra \
        $(ranks "$mpi_here" "$1") : $(ranks "$mpi_there" "$2")
}
# shellcheck disable=SC2034 # used by tests
ucx=(--mca pml ucx -x "UCX_TLS=rc,self" -x UCX_NET_DEVICES=verbline0:1)
came_round() { echo "^ok: $1 ranks, 5591585 bytes round the ring$"; }
