# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of rdma_ping share: two processes in a network namespace where nobody else talks, and what a capture of their
# frames must show. A test sources lib.sh first.

rdma_ping=${RDMA_PING:-${verbline%/*/*}/rdma_ping/rdma_ping}
ns_rdma=t$$-rdma

# rdma_namespace: the two need it for their TCP connection; the kernel sends nothing of its own there.
rdma_namespace() {
    namespace_create "$ns_rdma"
    ip netns exec "$ns_rdma" sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
}

in_rdma() { ip netns exec "$ns_rdma" "$@"; }

# ping_pair SERVER-ARGUMENTS CLIENT-ARGUMENTS ARGUMENT...: both ends, the last arguments are the client's too; prints its last line.
ping_pair() {
    local server=$1 client=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    start server ip netns exec "$ns_rdma" "$rdma_ping" $server
    await_line server 'ready$' 20
    # shellcheck disable=SC2086
    in_rdma "$rdma_ping" $client "$@" 127.0.0.1 | tee "$bed/client.out"
    process_await_end server 10 || die "the server did not end with the client" "$bed/server.log"
    grep -qE '^[0-9]+ pings, 0 lost, min/typical/max' "$bed/client.out"
}

# read_capture FILE ARGUMENT...: tshark. RoCE v2 has no UDP checksum over IPv6 either (annex A17; RFC 6935 allows it).
read_capture() { tshark -n -o udp.ignore_ipv6_zero_checksum:TRUE -r "$@" 2>/dev/null; }

# frames FILE FILTER: how many frames match.
frames() { read_capture "$1" -Y "$2" | wc -l; }

# faultless FILE: Wireshark finds fault with no frame; else it prints some of those, with what they are.
faultless() {
    local faults
    faults=$(read_capture "$1" -Y '_ws.malformed || _ws.expert.severity == error' \
        -T fields -e frame.number -e frame.protocols -e _ws.expert.message | head -n 5) || true
    echo "$faults"
    [[ -z $faults ]]
}

# clean_capture FILE FILTER: every frame of the file matches, Wireshark finds fault with none, and every ICRC is right.
clean_capture() {
    local all
    expect_line "every ICRC is right" '^[0-9]+ packets, 0 bad' /usr/bin/python3 "$(dirname "$0")/icrc.py" "$1"
    all=$(sed -n 's/ packets, 0 bad//p' "$bed/expect.out")
    expect "tshark knows all $all frames ($2)" test "$(frames "$1" "$2")" -eq "$all"
    expect "nothing is malformed" faultless "$1"
}

# all_operations FILE: SEND, WRITE, READ and ACK, by opcode (IBTA volume 1, table 38).
all_operations() {
    local opcodes
    opcodes=$(read_capture "$1" -T fields -e infiniband.bth.opcode)
    seen() { expect "$1: $(grep -cxE "$2" <<<"$opcodes") frames" grep -qxE "$2" <<<"$opcodes"; }
    seen "SEND" '[0-5]'
    seen "WRITE" '[6-9]|1[01]'
    seen "READ request" 12
    seen "READ response" '1[3-6]'
    seen "ACK" 17
}
