# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of a gateway's reload share. A test sources lib.sh first; with $shards set, the gateway has as many shards.

[[ -z ${shards-} ]] || source "$(dirname "${BASH_SOURCE[0]}")/shards.sh"
port=9100 client=$(dirname "$0")/dhcp_client.py

# reload: the gateway reads $bed/gateway.toml again. said PATTERN: what it has said since.
reload() {
    said_before=$(wc -l <"$bed/$ns_gw.log")
    kill -HUP "$(process_pid "$ns_gw")"
}
has_said() { tail -n +$((said_before + 1)) "$bed/$ns_gw.log" | grep -qE -- "$1"; }
said() { within 10 has_said "$1" >/dev/null || die "the gateway has not said '$1'" "$bed/$ns_gw.log"; }

# with LINE...: the file, with these lines behind its ports.
with() {
    gateway_config >"$bed/gateway.toml"
    printf '%s\n' "$@" >>"$bed/gateway.toml"
}
# port_with PORT LINE...: with these lines in that port's part of the file.
port_with() {
    local address=$gateway_lan_address
    [[ $1 == lan ]] || address=$gateway_ib_address
    for line in "${@:2}"; do sed -i "s|^address = .*\"$address/24\".*|&\n$line|" "$bed/gateway.toml"; done
}
# address_too ADDRESS NEW...: the port that has the one in the file has the others as well.
address_too() {
    local each
    for each in "${@:2}"; do sed -i "s|\"$1/24\"|&, \"$each\"|" "$bed/gateway.toml"; done
}

port_has_no_counter() { ! port_counts "$1" "$2" 0; }
does_not_answer() { ! answers "$@"; }
kernel_state() { ip -n "$ns_gw" -brief address show && ip -n "$ns_gw" route show && ip -n "$ns_gw" -6 route show; }
unchanged() { kernel_state | diff "$bed/before" -; }

# transfer_begin [SECONDS]: one TCP connection across the gateway, in use until transfer_end, which sees that all of it arrived. SECONDS:
# between its blocks.
transfer_begin() {
    start echo ip netns exec "$ns_a" "$(dirname "$0")/tcp_echo.py" serve "$a_address" "$port"
    await_line echo '^ready$' 10
    start transfer ip netns exec "$ns_lan" "$(dirname "$0")/tcp_echo.py" send "$a_address" "$port" "$bed/enough" "$@"
    await_line transfer '^started$' 10
}
transfer_end() {
    touch "$bed/enough"
    await_line transfer '^[0-9]{6,} bytes, as sent$' 30
    echo "ok: arrived whole: $(tail -n 1 "$bed/transfer.log")"
    rm "$bed/enough"
    reload
    said 'nothing to change$'
    echo "ok: the same file again changes nothing"
}
