# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of `verbline bench rdma` on nodes and fabrics share: a server and its client, counted at both ends. A test sources
# lib.sh and bench.sh first, and says in $server_in where the server runs, if not here, and in $in where the client does.

# shellcheck disable=SC2034 # used by bench
benchmark=rdma
server_in=()

# server LINK ARGUMENT...: until it is ready.
server() {
    start server "${server_in[@]}" "$verbline" bench rdma "$@" --json
    await_line server ': ready for ' 20
}
# address_of SERVER: what it says that a client is to name.
address_of() { sed -n 's/.*: ready for verbline bench rdma LINK //p' "$bed/$1.log"; }
# served WHAT FILTER: the server has ended with its client, and has seen that.
served() {
    process_await_end server 10 || die "the server did not end with the client" "$bed/server.log"
    sed -n '/^{/,$p' "$bed/server.log" | expect_json "$1: the server" "$2"
}

# each SERVER-LINK CLIENT-LINK OPERATION TRANSPORT SIZE: contents, and numbers of atomics and SENDs, are compared by the program itself.
each() {
    local there=$1 here=$2 operation=$3 transport=$4 size=$5 test=(--operation "$3" --transport "$4")
    local what="$operation over $transport" received=0
    [[ $operation == atomic ]] || test+=(--size "$size")
    [[ $operation != send ]] || received=60
    server "$there"
    measured "$what" ".results.n_iterations == 60 and .rounds[0].sent == 60 and .results.MsgSize == $size" "$here" \
        "$(address_of server)" "${test[@]}" --iterations 20 --qps 3
    served "$what" ".served[0].received == $received"
    [[ $transport != XRC ]] || return 0
    server "$there"
    measured "$what, latency" '.results | .n_iterations == 30 and .t_min > 0 and .t_typical <= .t_max' "$here" \
        "$(address_of server)" "${test[@]}" --iterations 30 --latency
    served "$what, latency" '(.served | length) == 1'
}
# all SERVER-LINK CLIENT-LINK: each operation on each transport that has it.
all() {
    local transport
    for transport in RC UC XRC; do each "$1" "$2" send $transport 3000; done
    each "$1" "$2" send UD 1000
    for transport in RC UC XRC; do each "$1" "$2" write $transport 100000; done
    for transport in RC XRC; do each "$1" "$2" read $transport 100000; done
    for transport in RC XRC; do each "$1" "$2" atomic $transport 8; done
}
# carried SERVER-LINK CLIENT-LINK: as many bytes as take a while, by WRITE and by SEND.
carried() {
    local operation
    for operation in write send; do
        server "$1"
        measured "2000 messages of 64 KiB by $operation" '.rounds[0].sent == 2000' "$2" "$(address_of server)" --operation "$operation" \
            --iterations 2000
        served "2000 messages of 64 KiB by $operation" '(.served | length) == 1'
    done
}
# alone SERVER-LINK CLIENT-LINK: the client comes first.
alone() {
    local address
    server "$1"
    address=$(address_of server)
    process_kill server
    start client "${in[@]}" "$verbline" bench rdma "$2" "$address" --iterations 100 --json
    server "$1"
    process_await_end client 20 || die "the client does not end" "$bed/client.log"
    sed -n '/^{/,$p' "$bed/client.log" | expect_json "a client that comes first: it waits for its server" '.results.n_iterations == 100'
    served "a client that comes first" '(.served | length) == 1'
}
