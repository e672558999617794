# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Two gateways between the same networks, on bridges of a namespace of its own, whose cables can be pulled. A test sources lib.sh first.
#
#     lan ──── lan0 ─┐        ┌─ lan1 ─ one ─ ib1 ─┐       ┌─ ib3 ──── a
#                    bridge lan                    bridge ib
#                             └─ lan2 ─ two ─ ib2 ─┘

ns_switch=${prefix}switch ns_one=${prefix}one ns_two=${prefix}two

# segment NAME MTU TAP...: a bridge, with taps for those that open them.
segment() {
    local name=$1 mtu=$2 tap
    ip -n "$ns_switch" link add "$name" mtu "$mtu" type bridge mcast_snooping 0
    ip -n "$ns_switch" link set "$name" up
    for tap in "${@:3}"; do
        ip -n "$ns_switch" tuntap add "$tap" mode tap multi_queue vnet_hdr
        ip -n "$ns_switch" link set "$tap" mtu "$mtu" master "$name" up
    done
}

# What the ports of both gateways have besides, by name; a test may set it before pair_up.
declare -A port_settings=([lan]='' [ib0]='')

# gateway_of_pair NUMBER NAMESPACE HOST: its addresses end in 11, or 12.
gateway_of_pair() {
    cat >"$bed/$2.toml" <<END
name = "$2"
netns = "$2"

[[port]]
name = "lan"
type = "ethernet"
device = "tap:lan$1,netns=$ns_switch"
address = ["10.1.0.1$1/24", "fd76:1::1$1/64"]
virtual_address = ["10.1.0.1", "fd76:1::1"]
${port_settings[lan]}

[[port]]
name = "ib0"
type = "ipoib"
device = "tap:ib$1,netns=$ns_switch"
sm = "ibsim:$fabric,host=$3"
address = ["10.2.0.1$1/24", "fd76:2::1$1/64"]
virtual_address = ["10.2.0.1", "fd76:2::1"]
${port_settings[ib0]}
END
    gateway_again "$2"
}
gateway_again() { instance_start "$1" gateway "$bed/$1.toml"; }

# pair_up: all of it, without routes.
pair_up() {
    fabric_start "t$$"
    namespace_create "$ns_switch" "$ns_one" "$ns_two" "$ns_lan" "$ns_a"
    segment lan 1500 lan1 lan2
    segment ib 4200 ib1 ib2 ib3
    ip link add lan0 netns "$ns_lan" type veth peer name lan0 netns "$ns_switch"
    ip -n "$ns_switch" link set lan0 master lan up
    interface_up "$ns_lan" lan0 "$lan_address"
    ip -n "$ns_lan" -6 address add "$lan_ipv6/64" dev lan0 nodad
    gateway_of_pair 1 "$ns_one" H2
    gateway_of_pair 2 "$ns_two" H4
    instance_start "$ns_a" host ib0 --name "$ns_a" --netns "$ns_a" --sm "ibsim:$fabric,host=H3" --device "tap:ib3,netns=$ns_switch" \
        --address "$a_address/24" --address "$a_ipv6/64"
    await_ready "$ns_one" "$ns_two" "$ns_a"
}
