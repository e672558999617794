#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# From nothing to traffic: see usage() below and README.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/testbed/testbed.sh"

state=/run/verbline/quickstart
rounds=3 seconds=2 idle_seconds=3 limit=600 multicast_group=239.1.2.3
keep=0 json='' down=0

usage() {
    cat <<'END'
usage: apps/quickstart.sh [--keep] [--json FILE] | --down

Brings up a software InfiniBand fabric with a real subnet manager, an Ethernet network, two IPoIB hosts and the Verbline gateway
between them; sends real traffic across, prints what it measured and takes everything down again.

  --keep        leave everything up to look around
  --json FILE   write the results to FILE as one JSON object
  --down        take down what is up, also after a crash
END
}

parse_arguments() {
    while (($#)); do
        case $1 in
            --keep) keep=1 ;;
            --json)
                [[ -n ${2-} ]] || die "--json needs the name of a file"
                json=$(realpath -m -- "$2")
                shift
                ;;
            --down) down=1 ;;
            -h | --help)
                usage
                exit 0
                ;;
            *)
                usage >&2
                exit 2
                ;;
        esac
        shift
    done
}

build() {
    local build=$root/build log=$root/build/quickstart.log
    [[ -e $build/build.ninja ]] || note "the first build takes a few minutes"
    mkdir -p "$build"
    if ! { [[ -e $build/build.ninja ]] ||
        meson setup "$build" "$root" --buildtype=release -Dtests=false -Dbench=false; } >"$log" 2>&1; then
        die "meson could not set up $build" "$log"
    fi
    ninja_with_progress "$build" "$log" apps/verbline/verbline || die "the build failed" "$log"
}

# measure_pings: the worst of all directions, in $ping_loss_pct.
measure_pings() {
    local losses
    losses=("$(ping_loss "$ns_lan" "$a_address")" "$(ping_loss "$ns_a" "$lan_address")"
        "$(ping_loss "$ns_a" "$b_address")" "$(ping_loss "$ns_b" "$a_address")"
        "$(ping_loss "$ns_lan" "$gateway_lan_address")" "$(ping_loss "$ns_a" "$gateway_ib_address")")
    note "lost per cent: lan to ib-a ${losses[0]}, back ${losses[1]}, ib-a to ib-b ${losses[2]}, back ${losses[3]}," \
        "lan to the gateway ${losses[4]}, ib-a to the gateway ${losses[5]}"
    ping_loss_pct=$(printf '%s\n' "${losses[@]}" | sort -g | tail -n 1)
}

# measure_tcp: ours and the kernel's in turns, so that a busy moment of the machine meets both.
measure_tcp() {
    local ours=() kernels=() round
    for ((round = 0; round < rounds; round++)); do
        ours+=("$(tcp_gbps "$ns_lan" "$a_address" "$seconds")")
        kernels+=("$(tcp_gbps "$ns_kernel_client" "$a_address" "$seconds")")
        note "$(printf 'round %d: Verbline %.2f Gbit/s, the kernel %.2f Gbit/s' $((round + 1)) "${ours[-1]}" "${kernels[-1]}")"
    done
    tcp_gbps=$(median "${ours[@]}")
    kernel_tcp_gbps=$(median "${kernels[@]}")
    tcp_reverse_gbps=$(tcp_gbps "$ns_lan" "$a_address" "$seconds" --reverse)
}

measure_ipv6() {
    local losses
    ipv6_up
    losses=("$(ping_loss "$ns_lan" "$a_ipv6")" "$(ping_loss "$ns_a" "$lan_ipv6")")
    note "lost per cent: lan to ib-a ${losses[0]}, back ${losses[1]}"
    ipv6_ping_loss_pct=$(printf '%s\n' "${losses[@]}" | sort -g | tail -n 1)
    ipv6_tcp_gbps=$(tcp_gbps "$ns_lan" "$a_ipv6" "$seconds")
}

# measure_multicast: to a socket in ib-a, then to one in lan, once the gateway's querier has heard of it.
measure_multicast() {
    local losses=()
    multicast_through "$ns_lan" lan0 "$ns_a" ib0 ib0
    multicast_through "$ns_a" ib0 "$ns_lan" lan0 lan
    note "lost per cent: lan to ib-a ${losses[0]}, back ${losses[1]}"
    multicast_loss_pct=$(printf '%s\n' "${losses[@]}" | sort -g | tail -n 1)
}

# multicast_through FROM-NAMESPACE INTERFACE TO-NAMESPACE INTERFACE TO-PORT: adds to `losses` the share of 100 datagrams that a socket at
# the far end, behind that port of the gateway, does not hear.
multicast_through() {
    multicast_hear listener "$3" "$4" "$multicast_group" 100
    within 10 multicast_routed_to "$5" >/dev/null || die "the gateway has not heard of the listener in $3" "$bed/$ns_gw.log"
    multicast_send "$1" "$2" "$multicast_group" 100
    within 2 multicast_all_heard listener >/dev/null || true
    losses+=($((100 - $(multicast_heard listener))))
    process_stop listener
}
multicast_all_heard() { (($(multicast_heard "$1") == 100)); }
multicast_routed_to() {
    "$verbline" show "$ns_gw" multicast --json | jq -e --arg group "$multicast_group" --arg port "$1" \
        'any(.[]; .group == $group and .port == $port and (.listeners | split(" ") | index("link")))'
}

# measure_two_shards: the gateway, started anew on two lcores besides that of its control thread.
measure_two_shards() {
    process_stop "$ns_gw"
    gateway_start_shards 2
    await_ready "$ns_gw"
    ping_loss "$ns_lan" "$a_address" 100 >/dev/null # until the hosts have found it again
    two_shards_tcp_gbps=$(tcp_gbps "$ns_lan" "$a_address" "$seconds" -P 4)
}

measure() {
    step "pinging both ways"
    measure_pings
    step "TCP by iperf3 from lan to ib-a, in turns with the same through three namespaces routed by the kernel"
    measure_tcp
    step "the same by IPv6: pinging both ways, and TCP from lan to ib-a"
    measure_ipv6
    step "IP multicast to $multicast_group: 100 datagrams from lan to ib-a, and back"
    measure_multicast
    step "UDP by iperf3 from lan to ib-a"
    udp=$(udp_result "$ns_lan" "$a_address" "$seconds" 300M 1400)
    step "the same with 64 bytes, as many as iperf3 sends, and through the kernel"
    udp_small_pps=$(udp_result "$ns_lan" "$a_address" "$seconds" 0 64 | jq .pps)
    kernel_udp_small_pps=$(udp_result "$ns_kernel_client" "$a_address" "$seconds" 0 64 | jq .pps)
    step "fetching 200 MB by curl from a web server in ib-a to lan"
    web_server "$ns_a" "$a_address" 200000000
    http_sha256_ok=true
    http_gbps=$(web_fetch "$ns_lan") || http_sha256_ok=false http_gbps=0
    gateway_rss_mb=$(peak_memory_mb "$ns_gw")
    step "without traffic for $idle_seconds s"
    { read -r gateway_idle_cpu_pct && read -r host_idle_cpu_pct; } < <(cpu_pct "$idle_seconds" "$ns_gw" "$ns_a")
    step "the gateway on two cores: four TCP connections from lan to ib-a"
    measure_two_shards
}

results() {
    jq -n '$ARGS.named' \
        --argjson ping_loss_pct "$ping_loss_pct" --argjson tcp_gbps "$tcp_gbps" \
        --argjson kernel_tcp_gbps "$kernel_tcp_gbps" \
        --argjson tcp_ratio "$(jq -n "$tcp_gbps / $kernel_tcp_gbps")" \
        --argjson tcp_reverse_gbps "$tcp_reverse_gbps" \
        --argjson ipv6_ping_loss_pct "$ipv6_ping_loss_pct" --argjson ipv6_tcp_gbps "$ipv6_tcp_gbps" \
        --argjson two_shards_tcp_gbps "$two_shards_tcp_gbps" --argjson multicast_loss_pct "$multicast_loss_pct" \
        --argjson udp_pps "$(jq .pps <<<"$udp")" --argjson udp_loss_pct "$(jq .loss_pct <<<"$udp")" \
        --argjson udp_small_pps "$udp_small_pps" --argjson kernel_udp_small_pps "$kernel_udp_small_pps" \
        --argjson http_sha256_ok "$http_sha256_ok" --argjson http_gbps "$http_gbps" \
        --argjson subnet_up_s "$subnet_up_s" --argjson gateway_rss_mb "$gateway_rss_mb" \
        --argjson gateway_idle_cpu_pct "$gateway_idle_cpu_pct" --argjson host_idle_cpu_pct "$host_idle_cpu_pct"
}

print_results() {
    local row='    %-40s %12s %s\n'
    step "results"
    # shellcheck disable=SC2059 # the format is ours
    {
        printf "$row" "subnet up after" "$subnet_up_s" s
        printf "$row" "ping, worst of six directions" "$ping_loss_pct" "% lost"
        printf "$row" "TCP lan to ib-a" "$(printf %.2f "$tcp_gbps")" "Gbit/s"
        printf "$row" "  the kernel as router" "$(printf %.2f "$kernel_tcp_gbps")" "Gbit/s"
        printf "$row" "  ratio" "$(printf %.2f "$(jq -n "$tcp_gbps / $kernel_tcp_gbps")")" ""
        printf "$row" "TCP ib-a to lan" "$(printf %.2f "$tcp_reverse_gbps")" "Gbit/s"
        printf "$row" "  4 connections, gateway on two cores" "$(printf %.2f "$two_shards_tcp_gbps")" "Gbit/s"
        printf "$row" "IPv6 ping, worst of two directions" "$ipv6_ping_loss_pct" "% lost"
        printf "$row" "IPv6 TCP lan to ib-a" "$(printf %.2f "$ipv6_tcp_gbps")" "Gbit/s"
        printf "$row" "multicast, worst of two directions" "$multicast_loss_pct" "% lost"
        printf "$row" "UDP lan to ib-a, 1400 bytes, received" "$(jq '.pps | floor' <<<"$udp")" "packets/s"
        printf "$row" "  lost" "$(jq '.loss_pct' <<<"$udp" | xargs printf %.3f)" "%"
        printf "$row" "UDP lan to ib-a, 64 bytes, received" "$(printf %.0f "$udp_small_pps")" "packets/s"
        printf "$row" "  the kernel as router" "$(printf %.0f "$kernel_udp_small_pps")" "packets/s"
        printf "$row" "200 MB by curl ib-a to lan" "$http_gbps" "Gbit/s"
        printf "$row" "  SHA-256" "$([[ $http_sha256_ok == true ]] && echo equal || echo DIFFERS)" ""
        printf "$row" "gateway, most memory resident" "$gateway_rss_mb" MB
        printf "$row" "gateway, CPU when idle" "$gateway_idle_cpu_pct" "% of one"
        printf "$row" "host, CPU when idle" "$host_idle_cpu_pct" "% of one"
    }
}

print_commands() {
    local program=${verbline#"$PWD/"} script=${BASH_SOURCE[0]}
    step "to look around$( ((keep)) || echo ', after starting it with --keep')"
    printf '    %s\n' "sudo $program show $ns_gw all" "sudo $program show $ns_a neighbours" \
        "sudo $program path --sm ibsim:$fabric,host=H3 0x3 0x4" "sudo $program mcast --sm ibsim:$fabric,host=H3 list" \
        "sudo ip netns exec $ns_lan ping $a_address" "sudo ip netns exec $ns_a ip address show ib0" \
        "sudo $script --down"
}

finish() {
    local status=$?
    trap - EXIT
    [[ -d $state && $(process_pid owner) == "$$" ]] || exit "$status"
    if ((status == 0 && keep)); then
        rm -f "$bed/owner.pid"
    else
        bed_close "$state"
    fi
    exit "$status"
}

# verdict: a run in which traffic did not arrive whole is a failure, whatever was printed.
verdict() {
    [[ $http_sha256_ok == true ]] || die "the file fetched through the gateway was not the file served"
    jq -en "$ping_loss_pct == 0 and $ipv6_ping_loss_pct == 0 and $multicast_loss_pct == 0 and $tcp_gbps > 0 and
        $ipv6_tcp_gbps > 0 and $two_shards_tcp_gbps > 0" \
        >/dev/null || die "traffic was lost: see the table above"
}

main() {
    parse_arguments "$@"
    cd "$root"
    need_root
    if ((down)); then
        "$root/apps/testbed/close" "$state"
        exit 0
    fi
    step "packages"
    install_packages run
    step "building ${verbline#"$root/"}"
    [[ -n ${VERBLINE-} ]] || build
    network_names ''
    bed=$state
    trap finish EXIT
    trap 'exit 130' INT TERM HUP
    bed_open "$state"
    ((keep)) || bed_limit "$limit"
    step "a fabric of one switch and four hosts by ibsim, OpenSM as its subnet manager"
    fabric_start verbline
    note "subnet up after $subnet_up_s s"
    step "network namespaces $ns_lan, $ns_gw, $ns_a, $ns_b; the gateway and two hosts"
    network_up
    kernel_network_up
    iperf_server "$ns_a"
    iperf_server "$ns_kernel_server"
    measure
    print_results
    [[ -z $json ]] || results >"$json"
    print_commands
    verdict
}

main "$@"
