# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of multicast by verbs share: verbs_multicast.cc's roles. A test sources lib.sh first, and may set $multicast_in
# to the words that enter a network namespace.

multicast_in=()

# multicast_program: $bed/multicast.
multicast_program() { c++ -std=c++20 -O1 -I"$root" -o "$bed/multicast" "$(dirname "$0")/verbs_multicast.cc" -libverbs; }

# listener NAME ROLE TOPIC LAST DEVICE GID-INDEX RUN-ARGUMENT...: in the background, returns when it listens.
listener() {
    start "$1" "${multicast_in[@]}" timeout 30 "$verbline" run "${@:7}" -- "$bed/multicast" "$2" "$5" "$6" "$3" "$4"
    await_line "$1" '^ready$' 20
}

# talk TOPIC LAST DEVICE GID-INDEX RUN-ARGUMENT...: the sender.
talk() {
    "${multicast_in[@]}" timeout 30 "$verbline" run "${@:5}" -- "$bed/multicast" sender "$3" "$4" "$1" "$2" >"$bed/sender.log" 2>&1 ||
        die "the sender failed" "$bed/sender.log"
    said sender 'the sender itself: nothing'
    said sender 'beside the sender: all, once each'
}

# said NAME LINE: that is what it has heard.
said() {
    process_await_end "$1" 25 || die "$1 did not end" "$bed/$1.log"
    expect "$1, $2" grep -qxF -- "$2" "$bed/$1.log"
}
