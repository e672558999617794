# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of routes by way of several next hops share. A test sources lib.sh first.
#
#     ib-b --- gateway --+-- lan
#      asks              +-- ib-a      either has the address $anycast, and says which it is

anycast=10.9.0.1 anycast_net=10.9.0.0/24 anycast_port=9000 anycast_flows=300

# anycast_up: servers, and the way to them from ib-b to the gateway.
anycast_up() {
    anycast_serve lan "$ns_lan"
    anycast_serve ib-a "$ns_a"
    ip -n "$ns_b" route add "$anycast_net" via "$gateway_ib_address" dev ib0
}

anycast_serve() { # NAME NAMESPACE
    ip -n "$2" address add "$anycast/32" dev lo
    start "anycast-$1" ip netns exec "$2" timeout 300 "$(dirname "$0")/anycast.py" serve "$anycast" "$anycast_port" "$1"
    await_line "anycast-$1" '^ready' 20
}

# shares [FLOWS]: how many flows from ib-b are answered by whom, as JSON.
shares() { ip netns exec "$ns_b" timeout 60 "$(dirname "$0")/anycast.py" ask "$anycast" "$anycast_port" "${1-$anycast_flows}"; }

# flows_are WHAT FILTER: of all flows.
flows_are() {
    local answers
    answers=$(shares)
    echo "flows: $answers, by way of $(hops)"
    echo "the kernel's: $(ip -n "$ns_gw" route show "$anycast_net") of $(ip -n "$ns_gw" nexthop | tr '\n' ' ')"
    echo "ib-b's: $(ip -n "$ns_b" route get "$anycast" | head -n 1)"
    expect_json "$1" "$2" <<<"$answers"
}

# hops: the gateway's next hops of the route, as VIA*WEIGHT in order; nothing, if there is none.
hops() { show routes | jq -r --arg prefix "$anycast_net" '[.[] | select(.prefix == $prefix) | "\(.via)*\(.weight)"] | sort | join(" ")'; }
hops_are() { [[ $(hops) == "$*" ]]; }
