# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What every system test begins with: strict mode, a bed of its own under names of its own, cleaned up however the test ends, and
# ways to say what is expected.

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../apps/testbed/testbed.sh"

test_name=$(basename "$0")
prefix=t$$-
network_names "$prefix"
# What the test starts has this in its environment, and so has what that starts.
export VERBLINE_TEST=$prefix$test_name

# left_behind: a line for every process, namespace, mount and file of this test that is still there.
left_behind() {
    local process name # not its own helpers, which lack the mark
    name=".*[^[:alnum:]](t|test-)$$([^0-9].*)?"
    env -u VERBLINE_TEST grep -lsxzF "VERBLINE_TEST=$VERBLINE_TEST" /proc/[0-9]*/environ | while IFS=/ read -r _ _ process _; do
        [[ $process == "$BASHPID" || $process == "$$" || ! -e /proc/$process/exe ]] ||
            echo "process $process: $(tr '\0' ' ' <"/proc/$process/cmdline")"
    done
    ip netns list | grep -E "^$prefix" | sed 's/^/network namespace /'
    grep -oE "[^ ]*[^[:alnum:]](t|test-)$$[^0-9][^ ]*" /proc/self/mountinfo | sed 's/^/mount /'
    find /run/verbline /dev/shm -regextype posix-extended -regex "$name" -printf 'file %p\n' 2>/dev/null
}
nothing_is_left() { [[ -z $(left_behind || true) ]]; }

# end_of_test: the logs of a failed test, then a clean machine.
end_of_test() {
    local status=$? log
    trap - EXIT
    if ((status != 0)); then
        for log in "$bed"/*.log; do
            [[ ! -s $log ]] || { echo "--- ${log##*/}" && tail -n 30 "$log"; }
        done
    fi
    bed_close "$bed"
    if ! within 3 nothing_is_left >/dev/null; then
        echo "NOT so: nothing is left of the test"
        left_behind || true
        ((status)) || status=1
    fi
    exit "$status"
}

need_root
bed_open "${VERBLINE_BED:-/run/verbline/test-$$-$test_name}"
trap end_of_test EXIT
trap 'exit 130' INT TERM HUP
bed_limit 420

# expect WHAT COMMAND...: the command succeeds.
expect() {
    local what=$1 output=$bed/expect.out
    shift
    "$@" >"$output" 2>&1 || { echo "NOT so: $what" && die "'$*' failed" "$output"; }
    echo "ok: $what"
}

# expect_line WHAT PATTERN COMMAND...: it prints a line that matches, whatever its status.
expect_line() {
    local what=$1 pattern=$2 output=$bed/expect.out
    shift 2
    "$@" >"$output" 2>&1 || true
    grep -qE -- "$pattern" "$output" || { echo "NOT so: $what" && die "'$*' printed nothing like '$pattern'" "$output"; }
    echo "ok: $what"
}

# expect_json WHAT FILTER: standard input makes the jq filter true. Of no input at all jq 1.6 says that it does.
expect_json() {
    local output=$bed/expect.out
    cat >"$output"
    { [[ -s $output ]] && jq -e "$2" "$output" >/dev/null; } || { echo "NOT so: $1" && die "$2 does not hold" "$output"; }
    echo "ok: $1"
}

# descriptors NAME: how many a process has. has_descriptors NAME COUNT: no more than these.
descriptors() { find "/proc/$(process_pid "$1")/fd" -mindepth 1 | wc -l; }
has_descriptors() { (($(descriptors "$1") <= $2)); }

# uses_at_most PER-CENT NAME...: of one CPU, each, in one of three stretches of time: on a shared machine what a process does takes
# longer at times, while one that spins uses as much in each.
uses_at_most() {
    local turn
    for turn in 1 2 3; do
        cpu_pct 3 "${@:2}" | tee /dev/stderr | awk -v most="$1" '$1 > most { wrong = 1 } END { exit wrong }' && return 0
        echo "more than $1 %, in stretch $turn" >&2
    done
    return 1
}

# tshark ARGUMENT...: without the protocols that Wireshark guesses by the first bytes of a datagram to a queue pair: of some ten thousand
# frames with arbitrary contents one is a malformed packet of theirs by chance.
guessed=(smc smb_direct rpcordma nvme-rdma lnet iser infiniband.eoib infiniband_sdp fcoib)
tshark() { command tshark "${guessed[@]/#/--disable-protocol=}" "$@"; }

in_lan() { ip netns exec "$ns_lan" "$@"; }
in_a() { ip netns exec "$ns_a" "$@"; }
in_b() { ip netns exec "$ns_b" "$@"; }

# reaches NAMESPACE ADDRESS [PING-OPTION...]: every one of ten echo requests is answered.
reaches() { timeout 10 ip netns exec "$1" ping -n -c 10 -i 0.02 -W 1 "${@:3}" "$2" | tee /dev/stderr | grep -q ' 0% packet loss'; }

# answers NAMESPACE ADDRESS: one echo request is answered soon.
answers() { timeout 1 ip netns exec "$1" ping -n -q -c 1 -W 0.3 "$2"; }

# show TABLE [INSTANCE]: its rows as JSON.
show() { "$verbline" show "${2-$ns_gw}" "$1" --json; }

# counters [INSTANCE]: one JSON object, name: sum over its owners.
counters() { "$verbline" show "${1-$ns_gw}" counters --all --json | jq 'group_by(.name) | map({key: .[0].name, value: (map(.value) | add)}) | from_entries'; }

# router_of NAMESPACE: its default router, as advertised.
router_of() { ip -n "$1" -j -6 route show default | jq -er 'first(.[] | select(.protocol == "ra") | .gateway)'; }
no_router() { ! router_of "$1"; }

# port_counts PORT NAME LEAST: what a port of the gateway counts.
# shellcheck disable=SC2016 # jq's
port_counts() {
    "$verbline" show "$ns_gw" counters --all --json |
        jq -e --arg port "$1" --arg name "$2" --argjson least "$3" 'any(.[]; .owner == $port and .name == $name and .value >= $least)'
}

# all_up: the fabric and everything on it.
all_up() {
    fabric_start "t$$"
    network_up
}
