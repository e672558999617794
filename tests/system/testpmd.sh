# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# DPDK's testpmd with the driver net_ipoib, typed to and read from. Skips the test where either is not there.

driver=${NET_IPOIB:-${verbline%/*/*}/net_ipoib/librte_net_ipoib.so}
[[ -e $driver ]] || { echo "needs $driver, which was not built: see what meson setup said of net_ipoib" && exit 77; }
command -v dpdk-testpmd >/dev/null || { echo "needs dpdk-testpmd, of Debian's dpdk-dev" && exit 77; }

# testpmd_start NAME EAL-ARGUMENT... -- ARGUMENT...: interactive; `tell` types. On $lcores.
lcores=0,1
testpmd_start() {
    local name=$1
    shift
    mkfifo "$bed/$name.in"
    echo "/run/dpdk/$prefix$name" >>"$bed/leftovers"
    # shellcheck disable=SC2016 # that shell's arguments
    start "$name" bash -c 'exec stdbuf -oL dpdk-testpmd "${@:2}" <>"$1"' testpmd "$bed/$name.in" --lcores "$lcores" --no-pci --no-huge \
        -m 256 --no-telemetry --no-shconf --file-prefix "$prefix$name" -d "$driver" "$@"
}

# tell NAME LINE...: commands to it. said NAME PATTERN: it has printed such a line, or soon does.
tell() { printf '%s\n' "${@:2}" >"$bed/$1.in"; }
said() { await_line "$1" "$2" 20; }

# asked NAME COMMAND PATTERN: the command's answer, $bed/NAME.answer, has such a line. A mark behind it tells its end.
asks=0
asked() {
    local from
    from=$(wc -l <"$bed/$1.log")
    asks=$((asks + 1))
    tell "$1" "$2" "show no-such-thing-$asks"
    within 10 answered "$1" "$from" >/dev/null
    tail -n "+$((from + 1))" "$bed/$1.log" >"$bed/$1.answer"
    grep -qE -- "$3" "$bed/$1.answer"
}
answered() { tail -n "+$(($2 + 1))" "$bed/$1.log" | grep -q 'Bad arguments\|Command not found'; }

# counted COUNTER: by the port 0 of `pmd`, and it is not zero. count_of COUNTER prints it.
counted() { asked pmd 'show port xstats 0' "$1: [1-9]"; }
count_of() { asked pmd 'show port xstats 0' "$1: " && sed -n "s/^$1: //p" "$bed/pmd.answer"; }
link_is_up() { asked pmd 'show port summary 0' '^0 .*up'; }

# Its lcores share the CPUs of a small machine with another test's: an answer may be late by more than the two round trips that ping
# waits for the last, so `reaches` is asked again (within).

# kernel_behind TAP NAMESPACE ADDRESS: testpmd's tap is a kernel's interface in that namespace.
kernel_behind() {
    ip link set "$1" netns "$2"
    ip -n "$2" address add "$3/24" dev "$1"
    ip -n "$2" link set "$1" up
}

# switch_create END...: a switch in $ns_switch for frames of the fabric, with what is plugged into it: for each end a kernel interface here,
# END and our PID, by the switch's port eth-END; and its port tap-END. All of it goes with the namespace.
switch_create() {
    local end mtu=2125 # a frame of the link, without its Ethernet header
    # shellcheck disable=SC2154 # the test names it
    ip -n "$ns_switch" link add switch mtu "$mtu" type bridge mcast_snooping 0
    ip -n "$ns_switch" link set switch up
    for end in "$@"; do
        ip link add "$end$$" mtu "$mtu" type veth peer name "eth-$end" mtu "$mtu" netns "$ns_switch"
        ip link set "$end$$" up
        ip -n "$ns_switch" link set "eth-$end" master switch up
        ip -n "$ns_switch" tuntap add "tap-$end" mode tap multi_queue vnet_hdr
        ip -n "$ns_switch" link set "tap-$end" mtu "$mtu" master switch up
    done
}

# fast_enough NAMESPACE ADDRESS ARGUMENT...: 0.05 Gbit/s by iperf3, which nothing reaches that is lost or waits. fast GBPS ...: as much as
# that, where polling threads are more than CPUs.
fast_enough() { fast 0.05 "$@"; }
fast() {
    local gbps
    gbps=$(tcp_gbps "$2" "$3" 2 "${@:4}")
    echo "$gbps Gbit/s"
    awk -v gbps="$gbps" -v least="$1" 'BEGIN { exit !(gbps > least) }'
}
