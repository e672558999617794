# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Kea's DHCP servers in network namespaces. A test sources lib.sh first.

# kea_is_there: whether both servers are installed.
kea_is_there() { type -P kea-dhcp4 kea-dhcp6 | wc -l | grep -qx 2; }

# kea_server NAME NAMESPACE FAMILY JSON: a server of that family, 4 or 6; JSON: the interface and its subnet. It knows the clients of the
# port $kea_port by what the relay adds, with the enterprise number 32473, and has addresses for no others.
kea_server() {
    jq -n --arg family "$3" --arg port "$kea_port" --argjson own "$4" '{("Dhcp" + $family): ({
        "lease-database": {type: "memfile", persist: false},
        "client-classes": [{name: "of_port", test: (
            if $family == "4" then "relay4[1].hex == \u0027\($port)\u0027"
            else "relay6[0].option[18].hex == \u0027\($port)\u0027 and relay6[0].option[37].hex == concat(0x00007ed9, \u0027\($port)\u0027)" end)}],
        loggers: [{name: "kea-dhcp\($family)", severity: "INFO", output_options: [{output: "stdout", flush: true}]}]} * $own)}' >"$bed/$1.json"
    start "$1" ip netns exec "$2" env KEA_LOCKFILE_DIR=none KEA_PIDFILE_DIR="$bed" "kea-dhcp$3" -c "$bed/$1.json"
    await_line "$1" "DHCP$3_STARTED" 20
}

# kea_start NAMESPACE INTERFACE NETWORK IPV6-NETWORK PORT: both; they hear what is sent to the interface's addresses: nothing broadcast.
kea_start() {
    local kea_port=$5 ipv6
    ipv6=$(ip -n "$1" -6 -json address show dev "$2" scope global | jq -r '[.[].addr_info[]?.local][0]')
    kea_server "kea4-$1" "$1" 4 "$(jq -n --arg interface "$2" --arg net "$3" '{
        "interfaces-config": {interfaces: [$interface], "dhcp-socket-type": "udp"},
        subnet4: [{subnet: "\($net).0/24", "client-class": "of_port", pools: [{pool: "\($net).160 - \($net).190"}]}]}')"
    kea_server "kea6-$1" "$1" 6 "$(jq -n --arg interface "$2" --arg net "$4" --arg address "$ipv6" '{
        "server-id": {type: "LL", htype: 1, identifier: "020000000009", persist: false},
        "interfaces-config": {interfaces: ["\($interface)/\($address)"]},
        subnet6: [{subnet: "\($net)::/64", "client-class": "of_port", pools: [{pool: "\($net)::200 - \($net)::2ff"}]}]}')"
}
kea_stop() {
    process_stop "kea4-$1"
    process_stop "kea6-$1"
}
