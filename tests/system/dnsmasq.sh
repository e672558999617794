# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# dnsmasq as a DHCP server in a network namespace, and hosts without an address. A test sources lib.sh first.

type -P dnsmasq >/dev/null || { echo "there is no dnsmasq: install it" && exit 77; }

# server_start NAMESPACE INTERFACE NETWORK IPV6-NETWORK PORT: dnsmasq gives addresses of these networks to the clients of that port.
server_start() {
    ip netns exec "$1" sysctl -q -w net.ipv4.conf.all.rp_filter=0
    start "server-$1" ip netns exec "$1" dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file --user=root --log-facility=- \
        --port=0 --interface="$2" --except-interface=lo --no-ping --log-dhcp --dhcp-leasefile="$bed/$1.leases" --dhcp-duid=32473,01 \
        --dhcp-circuitid="set:by_$5,$5" --dhcp-range="$3.100,$3.150,255.255.255.0,1h" --dhcp-range="$4::100,$4::1ff,64,1h"
    await_line "server-$1" 'DHCPv6, IP range' 10
}
# no_address NAMESPACE INTERFACE: as a host that has just started: a link-local address, and no routes.
no_address() {
    ip netns exec "$1" sysctl -q -w net.ipv4.conf.all.rp_filter=0
    ip -n "$1" address flush dev "$2" scope global
}
