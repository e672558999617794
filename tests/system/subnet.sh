# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of the subnet manager's absence share: who is a member of which group, and whether pings are lost. A test sources
# lib.sh first, and says in $sm_host where the subnet manager runs, if not on H1.

sm_host=H1

# The MCMemberRecord of one member, one answer: larger tables do not fit what ibsim carries.
is_member() { # MGID PORT-GID
    as_host "$sm_host" timeout 2 saquery --smkey 1 -m --mgid "$1" --gid "$2" | grep -q "PortGid.*${2#fe80::}"
}

# joined INSTANCE: lines "MGID PORT-GID" of what it has joined, in its own words.
joined() {
    local gid
    gid=$(show ports "$1" | jq -r '.[] | .link_address | select(test("gid")) | sub(".*gid "; "")')
    show multicast "$1" | jq -r --arg gid "$gid" '.[] | select(.joined != "") | "\(.mgid) \($gid)"'
}

all_are_members() {
    local mgid gid
    while read -r mgid gid; do is_member "$mgid" "$gid" || return 1; done <"$bed/joined"
}

# pings_begin NAME NAMESPACE ADDRESS / pings_lost NAME: a stream of echo requests, 50 a second, until it is told to end. The last one
# may still be on its way then: only the others can be lost.
pings_begin() { start "$1" ip netns exec "$2" ping -n -i 0.02 -W 1 "$3"; }
pings_lost() {
    local pid
    pid=$(process_pid "$1")
    kill -INT "$pid"
    await_end "$pid" 5
    awk '/icmp_seq=/ { split($0, of, "icmp_seq="); last = of[2] + 0; came++ } / packets transmitted/ { sent = $1 }
         END { print sent - came - (sent == last + 1) }' "$bed/$1.log"
}
