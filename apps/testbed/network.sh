# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The network of the quickstart and of the system tests, on the fabric of fabric.sh:
#
#     lan 10.1.0.2 --- tap, 1500 --- .1 gateway .1 --- soft InfiniBand, 2044 --+-- .2 ib-a
#     (Ethernet)               10.1.0.0/24        10.2.0.0/24                  +-- .3 ib-b
#
# Each of the four is a network namespace; the gateway's holds its kernel-visible interfaces. Verbline itself runs where the
# script runs, as the fabric's sockets are found only there. Links between gateway and hosts are memif pairs.

verbline=${VERBLINE:-$root/build/apps/verbline/verbline} # another build, if one is named
lan_ipv6=fd76:1::2 gateway_lan_ipv6=fd76:1::1 gateway_ib_ipv6=fd76:2::1 a_ipv6=fd76:2::2
lan_address=10.1.0.2 gateway_lan_address=10.1.0.1 gateway_ib_address=10.2.0.1 a_address=10.2.0.2 b_address=10.2.0.3

# network_names PREFIX: the names of namespaces, and of the processes in them.
network_names() {
    ns_lan=$1lan ns_gw=$1gw ns_a=$1ib-a ns_b=$1ib-b
    ns_kernel_client=$1k-client ns_kernel_router=$1k-router ns_kernel_server=$1k-server
}

# namespace_create NAME...: none of them may be there before.
namespace_create() {
    local name
    for name in "$@"; do
        [[ ! -e /run/netns/$name ]] ||
            die "there is a network namespace '$name' already, not made here: remove it with 'ip netns delete $name'"
        echo "$name" >>"$bed/namespaces"
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
}

# instance_start NAME ARGUMENT...: a verbline process of that instance name.
instance_start() {
    local name=$1
    shift
    echo "/run/dpdk/verbline-$name" >>"$bed/leftovers"
    start "$name" "$verbline" "$@"
}

# A persistent tap: the namespace's own end, its address and routes stay while the gateway is restarted. With vnet_hdr the kernel
# hands over TCP segments of 64 KB whole, and takes them.
lan_create() {
    ip -n "$ns_lan" tuntap add lan0 mode tap multi_queue vnet_hdr
    ip -n "$ns_lan" link set lan0 mtu 1500 up
    ip -n "$ns_lan" address add "$lan_address/24" dev lan0
    ip -n "$ns_lan" route add default via "$gateway_lan_address"
}

# gateway_config [IB-DEVICE...]: on standard output; more devices join the soft fabric's software switch.
gateway_config() {
    local device devices
    devices="\"memif:$bed/a.sock,server\", \"memif:$bed/b.sock,server\""
    for device in "$@"; do devices+=", \"$device\""; done
    cat <<END
name = "$ns_gw"
netns = "$ns_gw"

[[port]]
name = "lan"
type = "ethernet"
device = "tap:lan0,netns=$ns_lan"
address = ["$gateway_lan_address/24"]
mtu = 1500

[[port]]
name = "ib0"
type = "ipoib"
device = [$devices]
sm = "ibsim:$fabric,host=H2"
pkey = 0xffff
mtu = 2044
address = ["$gateway_ib_address/24"]
END
}

gateway_start() { instance_start "$ns_gw" gateway "$bed/gateway.toml" "$@"; }

# instance_start_shards NAME COUNT ARGUMENT...: each shard on an lcore of its own. The lcores float over all CPUs, as the embedded ones
# do: there may be fewer CPUs than shards.
instance_start_shards() {
    local cpus
    cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    instance_start "$1" --lcores "(0-$2)@($cpus)" --main-lcore 0 --no-huge --no-shconf --no-pci -m 512 --log-level warning -- "${@:3}"
}

# gateway_start_shards COUNT [ARGUMENT...]
gateway_start_shards() { instance_start_shards "$ns_gw" "$1" gateway "$bed/gateway.toml" "${@:2}"; }

# host_start NAMESPACE LETTER HOST ADDRESS [OPTION...]
host_start() {
    instance_start "$1" host ib0 --name "$1" --netns "$1" --sm "ibsim:$fabric,host=$3" \
        --device "memif:$bed/$2.sock" --address "$4/24" "${@:5}"
}

# await_ready NAME...: until each of the processes says that traffic can flow.
await_ready() {
    local name
    for name in "$@"; do await_line "$name" 'ready$' 20; done
}

# network_up [GATEWAY-ARGUMENT...]: everything of the picture; $bed/gateway.toml is kept if the caller wrote one.
network_up() {
    namespace_create "$ns_lan" "$ns_gw" "$ns_a" "$ns_b"
    lan_create
    [[ -e $bed/gateway.toml ]] || gateway_config >"$bed/gateway.toml"
    gateway_start "$@"
    host_start "$ns_a" a H3 "$a_address"
    host_start "$ns_b" b H4 "$b_address"
    await_ready "$ns_gw" "$ns_a" "$ns_b"
    ip -n "$ns_a" route add 10.1.0.0/24 via "$gateway_ib_address" dev ib0
    ip -n "$ns_b" route add 10.1.0.0/24 via "$gateway_ib_address" dev ib0
}

# ipv6_up: lan, the gateway and ib-a have IPv6 as well.
ipv6_up() {
    ip -n "$ns_lan" -6 address add "$lan_ipv6/64" dev lan0 nodad
    ip -n "$ns_gw" -6 address add "$gateway_lan_ipv6/64" dev lan nodad
    ip -n "$ns_gw" -6 address add "$gateway_ib_ipv6/64" dev ib0 nodad
    ip -n "$ns_a" -6 address add "$a_ipv6/64" dev ib0 nodad
    ip -n "$ns_lan" -6 route add default via "$gateway_lan_ipv6"
    ip -n "$ns_a" -6 route add fd76:1::/64 via "$gateway_ib_ipv6" dev ib0
}

# kernel_network_up: the same path with the kernel as the router: three namespaces, two veth pairs, the same addresses and MTUs.
kernel_network_up() {
    local client=$ns_kernel_client router=$ns_kernel_router server=$ns_kernel_server
    namespace_create "$client" "$router" "$server"
    ip link add lan0 netns "$client" mtu 1500 type veth peer name lan netns "$router" mtu 1500
    ip link add ib0 netns "$server" mtu 2044 type veth peer name ib netns "$router" mtu 2044
    interface_up "$client" lan0 "$lan_address"
    interface_up "$router" lan "$gateway_lan_address"
    interface_up "$router" ib "$gateway_ib_address"
    interface_up "$server" ib0 "$a_address"
    ip -n "$client" route add default via "$gateway_lan_address"
    ip -n "$server" route add default via "$gateway_ib_address"
    ip netns exec "$router" sysctl -q -w net.ipv4.ip_forward=1
}

# interface_up NAMESPACE INTERFACE ADDRESS
interface_up() {
    ip -n "$1" address add "$3/24" dev "$2"
    ip -n "$1" link set "$2" up
}
