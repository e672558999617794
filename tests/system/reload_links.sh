# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What a gateway does on the links of its ports comes, changes and goes while it runs: multicast, proxy ARP, captures, impairments. A test
# sources reload.sh first.

group=239.1.2.3 mgid=ff12:401b:ffff::f01:203             # RFC 4391, 4
kernel_group=239.1.2.4 kernel_mgid=ff12:401b:ffff::f01:204 # in which the gateway's kernel is, on ib0

# joined MGID: by ib0, to receive. left MGID: not, though it may send.
joined() { show multicast | jq -e --arg mgid "$1" 'any(.[]; .mgid == $mgid and .port == "ib0" and (.joined | split(" ") | index("full")))'; }
left() { ! joined "$1"; }
listens() { show multicast | jq -e --arg group "$1" --arg port "$2" 'any(.[]; .group == $group and .port == $port and (.listeners | contains("link")))'; }
heard_all() { (($(multicast_heard "$1") >= $2)); }

reload_multicast() {
    local before
    step "multicast"
    multicast_hear group-lan "$ns_lan" lan0 "$group" 1000
    multicast_hear group-a "$ns_a" ib0 "$group" 1000
    multicast_hear group-kernel "$ns_gw" ib0 "$kernel_group" 1000
    expect "the fabric's group is joined for lan" within 10 joined "$mgid"
    expect "and another for the kernel" within 5 joined "$kernel_mgid"
    expect "ib-a is known to listen" within 10 listens "$group" ib0
    multicast_send "$ns_lan" lan0 "$group" 10
    expect "what lan sends arrives at ib-a" within 5 heard_all group-a 10
    with
    port_with lan 'multicast = false'
    reload
    said 'read again: multicast of port lan changed$'
    expect "lan has no listeners any more" within 5 not_listening lan
    multicast_send "$ns_lan" lan0 "$group" 10
    multicast_send "$ns_a" ib0 "$group" 10
    expect "what lan sends arrives nowhere" test "$(multicast_heard group-a)" -eq 10
    expect "nor what ib-a does" test "$(multicast_heard group-lan)" -eq 0
    expect "ib0 receives the group no more" within 10 left "$mgid"
    expect "but the kernel's" joined "$kernel_mgid"
    multicast_send "$ns_a" ib0 "$kernel_group" 5
    expect "  whose packets arrive" within 5 heard_all group-kernel 5
    with
    reload
    said 'read again: multicast of port lan changed$'
    expect "lan is asked again, and listens" within 10 listens "$group" lan
    expect "the fabric's group is joined again" within 10 joined "$mgid"
    before=$(multicast_heard group-lan)
    multicast_send "$ns_a" ib0 "$group" 10
    expect "what ib-a sends arrives at lan" within 5 heard_all group-lan $((before + 10))
    process_stop group-lan
    process_stop group-a
    process_stop group-kernel
}
not_listening() { ! listens "$group" "$1"; }

# The other network, which is on both links.
shared_network() {
    with
    address_too "$gateway_lan_address" 10.9.0.1/24
    address_too "$gateway_ib_address" 10.9.0.2/24
    port_with lan 'proxy = true'
    port_with ib0 'proxy = true'
}
host_route() { ip -n "$ns_gw" -j route show 10.9.0.20 | jq -e 'any(.[]; .dev == "ib0")'; }
no_host_route() { ! ip -n "$ns_gw" -j route show 10.9.0.20 | jq -e 'length > 0'; }
counter_of() { counters | jq --arg name "$1" '.[$name]'; }

reload_proxy() {
    local before
    step "proxy ARP"
    ip -n "$ns_lan" address add 10.9.0.10/24 dev lan0
    ip -n "$ns_a" address add 10.9.0.20/24 dev ib0
    expect "nobody answers for the other link at first" does_not_answer "$ns_lan" 10.9.0.20
    shared_network
    reload
    said 'read again: 2 addresses added, proxy of port lan changed, proxy of port ib0 changed$'
    expect "hosts of two links reach each other as on one" within 10 answers "$ns_lan" 10.9.0.20
    expect "by a route to each" host_route
    with
    address_too "$gateway_ib_address" 10.9.0.2/24
    port_with ib0 'proxy = true'
    reload
    said 'read again: 1 address removed, proxy of port lan changed$'
    expect "the route is gone with the other link" within 5 no_host_route
    before=$(counter_of proxy_answers)
    expect "a host does not reach the other by what it has learnt" does_not_answer "$ns_lan" 10.9.0.20
    ip -n "$ns_lan" neighbour flush dev lan0
    expect "nor is it answered" does_not_answer "$ns_lan" 10.9.0.20
    expect "by the gateway" test "$(counter_of proxy_answers)" -eq "$before"
    shared_network
    reload
    said 'read again: 1 address added, proxy of port lan changed$'
    expect "it is answered again" within 10 answers "$ns_lan" 10.9.0.20
    with
    reload
    said 'read again: 2 addresses removed, proxy of port lan changed, proxy of port ib0 changed$'
    expect "and no more" within 5 no_host_route
    expect "  of either" does_not_answer "$ns_lan" 10.9.0.20
    ip -n "$ns_lan" address delete 10.9.0.10/24 dev lan0
    ip -n "$ns_a" address delete 10.9.0.20/24 dev ib0
}

# is_whole NAME: capinfos reads a capture to its end. has_frames NAME FILTER. is_open NAME: by the gateway.
is_whole() { capinfos -c "$bed/$1.pcapng"; }
has_frames() { (($(tshark -n -r "$bed/$1.pcapng" -Y "$2" 2>/dev/null | wc -l) > 0)); }
is_open() { [[ -n $(find "/proc/$(process_pid "$ns_gw")/fd" -lname "*/$1.pcapng") ]]; }
is_closed() { ! is_open "$1"; }
bytes_of() { stat -c %s "$bed/$1.pcapng"; }

reload_capture() {
    local before
    step "captures"
    with
    port_with lan "capture = \"$bed/one.pcapng\""
    port_with ib0 "capture = \"$bed/ib.pcapng\""
    reload
    said 'read again: capture of port lan changed, capture of port ib0 changed$'
    expect "packets go on" within 10 reaches "$ns_lan" "$a_address"
    expect "lan's are in its file" within 10 has_frames one icmp
    with
    port_with lan "capture = \"$bed/none/one.pcapng\""
    reload
    said 'gateway\.toml:[0-9]+: cannot create capture file .*/none/one\.pcapng'
    expect "a file that cannot be created changes nothing" is_open ib
    with
    port_with ib0 "capture = \"$bed/one.pcapng\""
    reload
    said 'gateway\.toml:[0-9]+: capture of ib0: .*/one\.pcapng is being written to'
    expect "nor does one that is another port's" is_open ib
    with
    port_with lan "capture = \"$bed/two.pcapng\""
    reload
    said 'read again: capture of port lan changed, capture of port ib0 changed$'
    expect "the first is closed" within 5 is_closed one
    expect "and whole" is_whole one
    before=$(bytes_of one)
    expect "so is that of the fabric" within 5 is_closed ib
    expect "  which is whole" is_whole ib
    expect "  and has what TCP sent" has_frames ib infiniband
    expect "packets go on" within 10 reaches "$ns_lan" "$a_address"
    expect "the second has them" within 10 has_frames two icmp
    expect "and the first has no more" test "$(bytes_of one)" -eq "$before"
    with
    reload
    said 'read again: capture of port lan changed$'
    expect "it is closed as well" within 5 is_closed two
    expect "and whole" is_whole two
}

# round_trip_ms NAMESPACE ADDRESS: the shortest of some. takes_longer MS, takes_less MS.
round_trip_ms() { ip netns exec "$1" ping -n -q -c 5 -i 0.05 -W 2 "$2" | sed -n 's|^rtt [^=]*= \([0-9]*\).*|\1|p'; }
takes_longer() { (($(round_trip_ms "$ns_lan" "$a_address") >= $1)); }
takes_less() { (($(round_trip_ms "$ns_lan" "$a_address") < $1)); }
impair_lost() { "$verbline" show "$ns_gw" counters --all --json | jq '[.[] | select(.owner == "ib0 device" and (.name | test("impair_lost"))) | .value] | add // 0'; }

reload_impairment() {
    local lost
    step "impairments"
    expect "a port has none, nor anything in its packets' way" port_has_no_counter "ib0 device" rx_impair_lost
    with
    port_with ib0 'impair = "loss=0.05,seed=7"'
    reload
    said 'read again: impair of port ib0 changed$'
    expect "packets are lost" within 10 port_counts "ib0 device" rx_impair_lost 3
    with
    port_with ib0 'impair = "loss=2"'
    reload
    said 'gateway\.toml:[0-9]+: .*loss=2: must be a probability'
    with
    port_with ib0 'impair = "delay=40ms"'
    reload
    said 'read again: impair of port ib0 changed$'
    expect "then they are late" within 10 takes_longer 80
    lost=$(impair_lost)
    expect "and arrive" within 10 reaches "$ns_lan" "$a_address"
    expect "  all of them" test "$(impair_lost)" -eq "$lost"
    with
    reload
    said 'read again: impair of port ib0 changed$'
    expect "then they are in time" within 10 takes_less 80
    expect "and nothing is in their way" within 5 port_has_no_counter "ib0 device" rx_impair_lost
}

reload_limits() {
    step "limits"
    with '[limits]' 'routes = 20000'
    reload
    said 'gateway\.toml:[0-9]+: while it runs, routes of \[limits\] \(allocated at the start\) cannot change'
    with
}

# reload_links: all of the above, across one transfer, of a gateway that is up.
reload_links() {
    transfer_begin 0.05 # for small captures
    reload_multicast
    reload_proxy
    reload_capture
    reload_impairment
    reload_limits
    transfer_end
}
