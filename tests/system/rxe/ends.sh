# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Rows of a table with two ends, of which one is ours, under `verbline run`, and the other is in the guest, on rxe. A test sources
# guest.sh first, and says by ready_here and ready_there when a server waits for its client; $pid is the server's, or that of who
# waits for it in the guest.

# Where our GIDs are: ours alone, beside those that the kernel's end of the tap has; or the kernel's.
own=(--link "eth:$guest_tap" --ip 10.77.0.99/24 --ip fd77::99/64)
# shellcheck disable=SC2034 # for the test
kernels=(--link "eth:$guest_tap")

# What a program says that does not end by it.
complaint='invalid data|Unable to|Couldn.t|Failed|failed|Completion with|nable to|mismatch|bogus'

# run_ours LINK-OPTION... -- WORD..., run_rxe WORD...: one end of the row, for $limit seconds.
run_ours() { exec ip netns exec "$guest_namespace" timeout "$limit" "$verbline" run --ns none "$@" >"$bed/ours.log" 2>&1; }
run_rxe() { in_guest "timeout $limit $*" >"$bed/rxe.log" 2>&1; }

# both_ends SERVER OUR-WORDS RXE-WORDS LINK-OPTION...: runs the row with ours or rxe as the server; prints the two statuses, the
# server's first.
both_ends() {
    local server=$1 ours=$2 rxe=$3 pid served=0 asked=0
    shift 3
    # shellcheck disable=SC2086 # several words
    if [[ $server == ours ]]; then
        run_ours "$@" -- $ours &
        pid=$!
        ! until_ready ready_here || run_rxe "$rxe" || asked=$?
    else
        run_rxe "$rxe" &
        pid=$!
        ! until_ready ready_there || (run_ours "$@" -- $ours) || asked=$?
    fi
    [[ -z ${endless-} && $asked == 0 ]] || stop_server "$server" "${rxe%% *}"
    wait "$pid" || served=$?
    echo "$served $asked"
}

# until_ready COMMAND: or the server has ended.
until_ready() { within 15 eval "$1 || ! kill -0 $pid" >/dev/null; }

# stop_server SERVER PROGRAM: one that never ends, or waits for a client that failed. Its status is then that of `timeout`, or of the
# signal.
stop_server() { if [[ $1 == ours ]]; then kill "$pid" 2>/dev/null || true; else in_guest "killall $2" >/dev/null || true; fi; }

# both_say STATUSES: what is printed of a row that failed.
both_say() {
    echo "        the server ended with ${1/ /, the client with }"
    sed 's/^/        ours: /' "$bed/ours.log"
    sed 's/^/        rxe:  /' "$bed/rxe.log"
}
