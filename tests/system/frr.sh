# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# FRR's daemons in network namespaces. A test sources lib.sh first.

frr=$(mktemp -d) # not in the bed: /run/verbline may be root's alone
chmod 755 "$frr"
echo "$frr" >>"$bed/leftovers"

# frr_start NAME NAMESPACE DAEMON OPTION...: a daemon of FRR; $frr/NAME.conf is its configuration. It runs as the user frr.
frr_start() {
    local name=$1 daemon=$3 own=$frr/$1
    install -d -o frr -g frr "$own"
    rm -f "$own/$daemon.pid" # of one that was killed
    start "$name-$daemon" ip netns exec "$2" timeout -k 5 300 "/usr/lib/frr/$daemon" -f "$frr/$name.conf" -i "$own/$daemon.pid" \
        --vty_socket "$own" -z "$own/zserv.api" -A 127.0.0.1 -P 0 --log stdout --log-level informational "${@:4}"
    expect "$name: $daemon is up" within 20 test -s "$own/$daemon.pid"
    echo "/var/tmp/frr/$daemon.$(<"$own/$daemon.pid")" >>"$bed/leftovers" # where it keeps what it would say of a crash
}

# frr_do NAME COMMAND...: what one would type at its terminal, each in turn.
frr_do() {
    local name=$1 command words=()
    shift
    for command in "$@"; do words+=(-c "$command"); done
    timeout 10 vtysh --vty_socket "$frr/$name" "${words[@]}"
}
