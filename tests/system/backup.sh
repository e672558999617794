# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Which of a port and its backup is used, and how long flows between lan and a are without an answer when that changes. A test sources
# lib.sh first.

port=5200 flows=4

a_answers() {
    start answers ip netns exec "$ns_a" "$(dirname "$0")/udp_gaps.py" answer "$a_address" "$port"
    await_line answers '^ready$' 10
}
# asking, and asked WHAT: flows between lan and a; none was without an answer for a second.
asking() {
    rm -f "$bed/enough"
    start gaps ip netns exec "$ns_lan" "$(dirname "$0")/udp_gaps.py" ask "$a_address" "$port" "$flows" "$bed/enough"
    await_line gaps '^started$' 10
}
asked() {
    local gap
    touch "$bed/enough"
    process_await_end gaps 10 || die "the flows do not end" "$bed/gaps.log"
    gap=$(tail -n 1 "$bed/gaps.log" | jq .gap_ms)
    printf '    %-44s %4d ms without an answer\n' "$1" "$gap"
    expect "$1: within a second" test "$gap" -lt 1000
}
port_row() { show ports | jq '.[] | select(.port == "ib0")'; }
host_uses_backup() { [[ $(show ports "$ns_a" | jq -r '.[0].active') == backup ]]; }
uses() { [[ $(port_row | jq -r .active) == "$1" ]]; }
goes_on() { (($(counters | jq .forwarded_packets) >= $1)); }
