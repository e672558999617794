# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# How long nobody answers, by pings every 10 ms. A test sources lib.sh first.

# pings_start NAMESPACE ADDRESS
pings_start() {
    start ping ip netns exec "$1" ping -n -D -i 0.01 "$2"
    expect "pings go through" within 5 replied 50
}
# pings_go_on COUNT: so many more are answered.
pings_go_on() { expect "pings go on" within 10 replied $(($(replies) + $1)); }
# pings_end WHAT MOST: the longest time between two replies is less than MOST milliseconds.
pings_end() {
    local gap
    pings_go_on 100
    process_stop ping
    gap=$(sed -n 's/^\[\([0-9.]*\)\].*bytes from.*/\1/p' "$bed/ping.log" |
        awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { printf "%d\n", most * 1000 }')
    printf '    %-44s %4d ms without a reply\n' "$1" "$gap"
    ((gap < $2)) || die "$1: $gap ms are too long" "$bed/ping.log"
}
replies() { grep -c 'bytes from' "$bed/ping.log"; }
replied() { (($(replies) >= $1)); }
