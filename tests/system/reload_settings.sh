# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Addresses, routes and settings of ports come, change and go while a gateway runs; what it cannot change, or what the kernel refuses,
# changes nothing at all, and one line says why. A test sources reload.sh first.

route_of() { ip -n "$ns_gw" route show "$1"; }
has_route() { show routes | jq -e --arg prefix "$1" 'any(.[]; .prefix == $prefix)'; }
has_no_route() { ! has_route "$1"; }
from_nowhere() { in_lan ping -q -c 1 -W 0.1 -I 10.77.0.1 "$a_address" || true; }
drops() { from_nowhere && counters | jq -e '.dropped_reverse_path > 0'; }
drops_none() { counters | jq -e '.dropped_reverse_path == 0'; }
connects() { in_lan timeout 5 bash -c "exec 3<>/dev/tcp/$a_address/$port"; }
port_clamps() { counters | jq -e '.mss_clamped_packets > 0'; }
route() { printf '[[route]]\nto = "%s"\nvia = "%s"\n' "$1" "$2"; }

reload_dhcp_relays() {
    step "DHCP relays"
    with
    start other ip netns exec "$ns_gw" "$client" occupy ib0
    await_line other '^ready$' 10
    kernel_state >"$bed/before"
    port_with ib0 "dhcp_relay = \"$lan_address\"" && sed -i "s|\"$gateway_lan_address/24\"|&, \"10.1.0.77/24\"|" "$bed/gateway.toml"
    reload
    said 'gateway\.toml:[0-9]+: .*no UDP port 67 on interface ib0'
    expect "one whose UDP port is taken changes nothing" unchanged
    expect "nor is it on" port_has_no_counter ib0 dhcp_relay_requests
    process_stop other
    with
    port_with lan "dhcp_relay = \"$a_address\"" 'dhcpv6_relay = "fd76:2::7"'
    reload
    said 'read again: dhcp_relay of port lan changed, dhcpv6_relay of port lan changed$'
    in_lan "$client" send lan0 plain
    expect "a request goes to the server" within 5 port_counts lan dhcp_relay_requests 1
    in_a "$client" forge "$gateway_lan_address" lan
    expect "its reply comes back" within 5 port_counts lan dhcp_relay_replies 1
    with
    port_with lan "dhcp_relay = \"$b_address\""
    reload
    said 'read again: dhcp_relay of port lan changed, dhcpv6_relay of port lan changed$'
    in_b "$client" forge "$gateway_lan_address" lan
    expect "another server's is taken" within 5 port_counts lan dhcp_relay_replies 2
    in_a "$client" forge "$gateway_lan_address" lan
    expect "and no more that of the first" within 5 port_counts lan dhcp_relay_dropped_unknown_server 1
    expect "that of IPv6 is off" within 5 port_has_no_counter lan dhcpv6_relay_requests
    with
    reload
    said 'read again: dhcp_relay of port lan changed$'
    expect "off" within 5 port_has_no_counter lan dhcp_relay_requests
}

reload_advertisements() {
    step "router advertisements"
    with
    sed -i "s|\"$gateway_lan_address/24\"|&, \"$gateway_lan_ipv6/64\"|" "$bed/gateway.toml"
    port_with lan 'advertise = true'
    reload
    said 'read again: 1 address added, advertise of port lan changed$'
    expect "a host has a router" within 10 router_of "$ns_lan"
    with
    reload
    said 'read again: 1 address removed, advertise of port lan changed$'
    expect "and is told when it is none any more" within 10 no_router "$ns_lan"
}

reload_checks() {
    step "checks of packets"
    ip -n "$ns_lan" address add 10.77.0.1/32 dev lo
    from_nowhere >"$bed/nowhere.log"
    expect "a source without a route passes at first" drops_none
    with
    port_with lan 'reverse_path = "strict"' 'clamp_mss = true'
    reload
    said 'read again: clamp_mss of port lan changed, reverse_path of port lan changed$'
    expect "and does no more" within 5 drops
    expect "others do" within 5 connects
    expect "and agree on segments that fit" port_clamps
    with
    reload
    said 'read again: clamp_mss of port lan changed, reverse_path of port lan changed$'
}

reload_virtual_addresses() {
    step "virtual addresses"
    ip -n "$ns_gw" address add 10.1.0.99/24 dev lan
    with
    port_with lan 'virtual_address = "10.1.0.99"'
    reload
    said 'read again: virtual_address of port lan changed$'
    in_lan "$(dirname "$0")/arp_answers.py" lan0 10.1.0.99 10.1.0.99 # as one that has it
    said 'lan: virtual address 10\.1\.0\.99 is announced by another host'
    with
    reload
    expect "it is ours alone again" within 5 answers "$ns_lan" 10.1.0.99
    ip -n "$ns_gw" address delete 10.1.0.99/24 dev lan
}

reload_routes() {
    step "routes"
    with "$(route 10.30.0.0/24 "$b_address")"
    reload
    said "gateway.toml was read again: 1 route added$"
    expect "a new one is used" within 5 has_route 10.30.0.0/24
    expect "and leads there" within 5 answers "$ns_lan" 10.30.0.1
    with "$(route 10.30.0.0/24 "$a_address")" "$(route fd76:30::/48 fd76:2::7)"
    sed -i "s|address = \[\"$gateway_ib_address/24\"\]|address = [\"$gateway_ib_address/24\", \"$gateway_ib_ipv6/64\"]|" "$bed/gateway.toml"
    reload
    said 'read again: 1 address added, 1 route added, 1 route changed$'
    expect_line "one leads elsewhere" "via $a_address dev ib0" route_of 10.30.0.0/24
    expect "one needs an address that came with it" within 5 has_route fd76:30::/48
}

reload_refused() {
    step "what is refused"
    kernel_state >"$bed/before"
    sed -i 's/^mtu = 1500$/mtu = 1400/; s/^via = "10.*/via = "10.2.0.99"/' "$bed/gateway.toml"
    reload
    said "gateway\.toml:9: while it runs, mtu of port lan cannot change: "
    expect "with it, all that could be changed" unchanged
    with "$(route 10.30.0.0/24 "$b_address")"
    sed -i "s|\"$gateway_lan_address/24\"|&, \"10.1.0.77/24\", \"$gateway_lan_ipv6/64\"|" "$bed/gateway.toml"
    ip netns exec "$ns_gw" sysctl -q -w net.ipv6.conf.lan.disable_ipv6=1
    kernel_state >"$bed/before"
    reload
    said "gateway\.toml:8: .*$gateway_lan_ipv6"
    expect "what the kernel refuses takes the rest back" unchanged
    echo 'what = 1' >>"$bed/gateway.toml"
    reload
    said "gateway\.toml:[0-9]+: .*what"
    expect "a mistake changes nothing" unchanged
}

reload_addresses() {
    step "addresses"
    with
    sed -i "s|\"$gateway_lan_address/24\"|\"10.1.0.254/24\"|" "$bed/gateway.toml"
    sed -i "s|address = \[\"$gateway_ib_address/24\"\]|address = [\"$gateway_ib_address/24\", \"10.20.0.1/24\"]|" "$bed/gateway.toml"
    reload
    said 'read again: 2 addresses added, 2 addresses removed, 2 routes removed$'
    expect "a route that is not in the file is gone" within 5 has_no_route 10.30.0.0/24
    expect "a new address answers" within 5 answers "$ns_lan" 10.1.0.254
    expect "an old one does not" does_not_answer "$ns_lan" "$gateway_lan_address"
    ip -n "$ns_lan" route replace default via 10.1.0.254
}

# reload_settings: all of the above, across one transfer, of a gateway that is up.
reload_settings() {
    ip -n "$ns_b" address add 10.30.0.1/32 dev lo
    transfer_begin
    reload_dhcp_relays
    reload_advertisements
    reload_checks
    reload_virtual_addresses
    reload_routes
    reload_refused
    reload_addresses
    transfer_end
}
