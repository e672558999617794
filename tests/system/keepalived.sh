# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# keepalived on the gateways of pair.sh, and what pings say of it. A test sources lib.sh and pair.sh first.

type -P keepalived >/dev/null || { echo "there is no keepalived: install it" && exit 77; }

# keepalived_start NAMESPACE: the sample, in that namespace.
keepalived_start() {
    if [[ $1 == "$ns_one" ]]; then
        cp config/keepalived.conf "$bed/$1.conf"
    else
        sed 's/priority 100/priority 90/; /^ *preempt_delay/d' config/keepalived.conf >"$bed/$1.conf"
    fi
    start "$1-keepalived" ip netns exec "$1" keepalived -n -P -l -D -f "$bed/$1.conf" -p "$bed/$1-parent" -r "$bed/$1-vrrp"
}
# keepalived_kill NAMESPACE: the child ends gently if it hears of its parent's death, the parent makes another if it hears of the child's.
keepalived_kill() {
    kill -STOP "$(<"$bed/$1-parent")"
    kill -KILL "$(<"$bed/$1-vrrp")" "$(<"$bed/$1-parent")"
}

# has NAMESPACE COUNT: so many of the virtual addresses are on its interfaces.
has() { (($(ip -n "$1" -br address | grep -oE ' (10\.[12]\.0\.1|fd76:[12]::1)/' | wc -l) == $2)); }
# is_master MASTER OTHER: it has those of both networks, the other none.
is_master() { has "$1" 4 && has "$2" 0; }
one_is_master() { is_master "$ns_one" "$ns_two"; }

# virtual_routes: hosts have the virtual addresses as their routers.
virtual_routes() {
    ip -n "$ns_lan" route add 10.2.0.0/24 via 10.1.0.1
    ip -n "$ns_a" route add 10.1.0.0/24 via 10.2.0.1 dev ib0
    ip -n "$ns_lan" -6 route add fd76:2::/64 via fd76:1::1
    ip -n "$ns_a" -6 route add fd76:1::/64 via fd76:2::1 dev ib0
}
