# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of verbs programs share: two network namespaces of their own, joined by a veth pair, and a hub. A test sources
# lib.sh first.

ns_verbs=t$$-verbs ns_verbs_peer=t$$-verbs-peer
hub=t$$

# verbs_namespaces: programs of a memif pair or of the hub meet in the first; `link0` there and `link1` in the second are one cable.
verbs_namespaces() {
    namespace_create "$ns_verbs" "$ns_verbs_peer"
    # Or the kernel forgets IPv6 addresses when the cable is pulled.
    ip netns exec "$ns_verbs" sysctl -q -w net.ipv6.conf.all.keep_addr_on_down=1
    ip netns exec "$ns_verbs_peer" sysctl -q -w net.ipv6.conf.all.keep_addr_on_down=1
    verbs_cable 0 8
    within 5 cable_is_in >/dev/null || die "link0 does not come up"
}
# verbs_cable N NET: link(N) and link(N+1), with the addresses 10.NET.0.1 and .2, fd0NET::1 and ::2.
verbs_cable() {
    local here=link$1 there=link$(($1 + 1)) net=$2
    ip link add "$here" netns "$ns_verbs" type veth peer name "$there" netns "$ns_verbs_peer"
    ip -n "$ns_verbs" address add "10.$net.0.1/24" dev "$here"
    ip -n "$ns_verbs_peer" address add "10.$net.0.2/24" dev "$there"
    ip -n "$ns_verbs" address add "fd0$net::1/64" dev "$here" nodad
    ip -n "$ns_verbs_peer" address add "fd0$net::2/64" dev "$there" nodad
    ip -n "$ns_verbs" link set "$here" up
    ip -n "$ns_verbs_peer" link set "$there" up
}
# Programs that connect look once.
cable_is_in() { [[ $(ip -n "$ns_verbs" -json link show link0 | jq -r '.[0].operstate') == UP ]]; }

# verbs_hub: the hub $hub.
verbs_hub() {
    echo "/run/verbline/hub/$hub" >>"$bed/leftovers"
    start hub "$verbline" hub "$hub"
    await_line hub 'ready$' 20
}

# verbs_node NAME NAMESPACE INTERFACE: the port of that interface, shared by programs.
verbs_node() {
    echo "/run/verbline/hub/$1" >>"$bed/leftovers"
    start "$1" ip netns exec "$2" "$verbline" node "$1" --port "eth:$3"
    await_line "$1" 'ready$' 20
}

# verbs_nodes: $hub-a and $hub-b in the two namespaces, on a cable of their own: a node answers for its port's addresses.
verbs_nodes() {
    verbs_cable 2 7
    verbs_node "$hub-a" "$ns_verbs" link2
    verbs_node "$hub-b" "$ns_verbs_peer" link3
}

# verbs_fabric_node NAME HOST ADDRESS...: the port of that host on the fabric, shared by programs.
verbs_fabric_node() {
    echo "/run/verbline/hub/$1" >>"$bed/leftovers"
    local addresses=("${@:3}")
    start "$1" "$verbline" node "$1" --port "ib:$2@$fabric" "${addresses[@]/#/--ip=}"
    await_line "$1" 'ready$' 20
}

# verbs_fabric_nodes: a fabric with its hub, and the nodes $fabric-h2 and $fabric-h3 of two of its hosts, 10.7.0.2 and .3.
verbs_fabric_nodes() {
    fabric_start "t$$"
    echo "/run/verbline/hub/$fabric" >>"$bed/leftovers"
    start hub "$verbline" hub "$fabric"
    await_line hub 'ready$' 20
    verbs_fabric_node "$fabric-h2" H2 10.7.0.2/24
    verbs_fabric_node "$fabric-h3" H3 10.7.0.3/24
}

in_verbs() { ip netns exec "$ns_verbs" "$@"; }

# verbs_program PROGRAM ARGUMENT...: by itself, on one end of a memif pair.
verbs_program() { in_verbs timeout 20 "$verbline" run --link "memif:$bed/alone.sock,server" --ip 10.9.0.1/24 -- "$@"; }
