# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of `verbline bench` share. A test sources lib.sh first.

# bench ARGUMENT...: on a machine where others work, at low priority; its status in $status, its output in the bed.
benchmark=packet
eal=()
in=()
bench() {
    status=0
    timeout 120 nice -n 10 "${in[@]}" "$verbline" "${eal[@]}" bench "$benchmark" "$@" >"$bed/bench.out" 2>"$bed/bench.err" || status=$?
}
# measured WHAT FILTER ARGUMENT...: it ends well, and its JSON makes the filter true.
measured() {
    bench "${@:3}" --json
    found "$1" "$2"
}
found() {
    ((status == 0)) || die "status $status" "$bed/bench.err"
    jq -c '(arrays | .[]), objects | [.result, .latency_us, .spread, .rfc2544, .drops, .rounds] | map(values)' "$bed/bench.out"
    expect_json "$1" "$2" <"$bed/bench.out"
}
# timed WHAT FILTER ARGUMENT...: the same of what depends on time: where others work on this machine it is measured up to
# three times, if there is time. In $starved, a filter for a generator that never had its CPU: what is reported must say so.
timed() {
    local turn
    for turn in 1 2 3; do
        ((turn == 1 || SECONDS < 100)) || break # a test has 180 s
        bench "${@:3}" --json
        if ((status == 0)) && jq -e "$2" "$bed/bench.out" >/dev/null; then break; fi
        note "$1: not at the $turn. time"
    done
    found "$1" "($2) or (${starved:-false})"
}
# refused WHAT LINE ARGUMENT...: status 2, that line and no other of ours.
refused() {
    local what=$1 line=$2
    shift 2
    bench "$@"
    echo "verbline: bench $benchmark: $line" >"$bed/wanted"
    expect "$what: status 2" test "$status" -eq 2
    expect "$what: the line" diff -u "$bed/wanted" <(grep -v '^\(EAL\|TELEMETRY\): ' "$bed/bench.err")
    expect "$what: printed nothing else" test ! -s "$bed/bench.out"
}
# The frames that were dropped for reasons that $name, a regular expression, describes whole.
# shellcheck disable=SC2016,SC2034 # jq's variable; used by tests
dropped='([.drops[] | select(.reason | test("^(" + $name + ")$")) | .count] | add // 0)'

# bridge_in_lan: a bridge between two veth pairs in a namespace, where `bench` runs from then on; $bridge is its two ends.
bridge_in_lan() {
    local end interface
    ip netns add "$ns_lan"
    echo "$ns_lan" >>"$bed/namespaces"
    for end in left right; do in_lan ip link add "$end" type veth peer name "port-$end"; done
    in_lan ip link add bridge type bridge
    for interface in port-left port-right; do in_lan ip link set "$interface" master bridge; done
    for interface in left right port-left port-right bridge; do
        in_lan sysctl -qw "net.ipv6.conf.$interface.disable_ipv6=1"
        in_lan ip link set "$interface" up
    done
    in=(ip netns exec "$ns_lan")
    # shellcheck disable=SC2034 # used by tests
    bridge=("dpdk:net_af_packet0,iface=left,framecnt=4096" "dpdk:net_af_packet1,iface=right,framecnt=4096")
}
