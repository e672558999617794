# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Measurements between namespaces. Each prints a number or JSON on standard output and has a time limit of its own.

# ping_loss NAMESPACE ADDRESS [COUNT]: per cent lost, the very first packet counted like any other.
ping_loss() {
    local loss
    loss=$(timeout 20 ip netns exec "$1" ping -n -q -i 0.01 -W 1 -c "${3-20}" "$2" 2>&1 |
        sed -n 's/.* \([0-9.]*\)% packet loss.*/\1/p') || true
    echo "${loss:-100}"
}

# iperf_server NAMESPACE
iperf_server() {
    start "iperf-$1" ip netns exec "$1" iperf3 -s --forceflush
    await_line "iperf-$1" 'Server listening' 30
}

# iperf NAMESPACE ADDRESS SECONDS ARGUMENT...: the client's whole report; says why on standard error if there was no traffic.
iperf() {
    local report error
    report=$(timeout $(($3 + 10)) ip netns exec "$1" iperf3 -J -c "$2" -t "$3" --connect-timeout 3000 "${@:4}") || true
    [[ -n $report ]] || report='{"error": "no answer in time"}'
    error=$(jq -r '.error? // empty' <<<"$report")
    [[ -z $error ]] || note "iperf3 from $1 to $2: $error" >&2
    printf '%s\n' "$report"
}

# tcp_gbps NAMESPACE ADDRESS SECONDS ARGUMENT...: what the receiver got.
tcp_gbps() { iperf "$@" | jq '(.end.sum_received.bits_per_second // 0) / 1e9'; }

# udp_result NAMESPACE ADDRESS SECONDS BITRATE BYTES: {"pps": received per second, "loss_pct": of those sent}. Bitrate 0: as much as it
# can. With its defaults iperf3 sends in bursts of a millisecond that overflow its own server's socket.
udp_result() {
    iperf "$1" "$2" "$3" --udp --length "$5" --bitrate "$4" --window 400K --pacing-timer 100 |
        jq '.end.sum | if .packets then {pps: ((.packets - .lost_packets) / .seconds), loss_pct: .lost_percent}
            else {pps: 0, loss_pct: 100} end'
}

# median NUMBER...
median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }

# peak_memory_mb NAME: the most that process had resident, huge pages included.
peak_memory_mb() {
    awk '/^(VmHWM|HugetlbPages):/ { kb += $2 } END { printf "%.0f\n", kb / 1024 }' "/proc/$(process_pid "$1")/status"
}

# cpu_ns NAME: CPU time that the threads of that process have used.
cpu_ns() { awk '{ ns += $1 } END { printf "%.0f\n", ns }' "/proc/$(process_pid "$1")"/task/*/schedstat; }

# cpu_pct SECONDS NAME...: per cent of one CPU that each process uses meanwhile, one a line.
cpu_pct() {
    local seconds=$1 began=${EPOCHREALTIME/[.,]/} name
    local -A used_before
    shift
    for name in "$@"; do used_before[$name]=$(cpu_ns "$name"); done
    sleep "$seconds"
    for name in "$@"; do
        awk -v ns=$(($(cpu_ns "$name") - used_before[$name])) -v us=$((${EPOCHREALTIME/[.,]/} - began)) \
            'BEGIN { printf "%.3f\n", ns / us / 10 }'
    done
}

# web_server NAMESPACE ADDRESS BYTES: serves a file of random bytes; leaves its URL in $web_url, its SHA-256 in $web_sha256.
web_server() {
    local directory
    directory=$(mktemp -d "${TMPDIR:-/tmp}/verbline.XXXXXX")
    echo "$directory" >>"$bed/leftovers"
    web_sha256=$(head -c "$3" /dev/urandom | tee "$directory/file" | sha256sum)
    start "web-$1" ip netns exec "$1" python3 -u -m http.server --bind "$2" --directory "$directory" 8000
    await_line "web-$1" 'Serving HTTP' 30
    # shellcheck disable=SC2034 # for the caller
    web_url=http://$2:8000/file
}

# web_fetch NAMESPACE: $web_url by curl; prints Gbit/s; fails if what arrives is not what was served.
web_fetch() {
    local sum
    {
        sum=$(ip netns exec "$1" curl -sS --max-time 120 -w '%{stderr}%{speed_download}\n' "$web_url" 2>&3 | sha256sum)
    } 3>"$bed/curl.out" || return 1
    [[ $sum == "$web_sha256" ]] || return 1
    awk 'END { printf "%.3f\n", $1 * 8 / 1e9 }' "$bed/curl.out"
}

# multicast_hear NAME NAMESPACE INTERFACE GROUP COUNT: in the background; returns once it is in the group.
multicast_hear() {
    start "$1" ip netns exec "$2" "$root/apps/testbed/multicast.py" hear "$4" 5000 "$3" "$5"
    await_line "$1" '^ready$' 10
}

# multicast_send NAMESPACE INTERFACE GROUP COUNT [HOPS [BYTES]]
multicast_send() { timeout 20 ip netns exec "$1" "$root/apps/testbed/multicast.py" send "$3" 5000 "${@:2:1}" "${@:4}"; }

# multicast_heard NAME: how many datagrams it has heard.
multicast_heard() { grep -c '^heard ' "$bed/$1.log" || true; }
