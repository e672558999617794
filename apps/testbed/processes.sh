# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A bed is a directory, $bed, that knows all that was made on its behalf, so that anyone can clear it away at any time, after a
# crash too:
#     NAME.pid      a process: "PID START-TIME"; the start time tells it from a later process of the same PID
#     NAME.log      what it printed
#     namespaces    names of network namespaces, one per line
#     mounts        mount points in the bed, one per line, in the order in which they were mounted
#     leftovers     paths outside the bed that a killed process leaves behind, one per line

# bed_open DIRECTORY: an empty bed owned by this script. What a dead owner left there is cleared away first.
bed_open() {
    bed=$1
    if process_pid owner >/dev/null; then
        die "$bed is in use by process $(process_pid owner): wait for it, or end it"
    fi
    bed_close "$bed"
    mkdir -p "$bed"
    process_remember owner $$
}

# bed_close DIRECTORY: ends its processes, deletes its namespaces and files. Does nothing twice.
bed_close() {
    local bed=$1 line
    [[ -d $bed ]] || return 0
    rm -f "$bed/owner.pid"
    processes_stop
    while read -r line; do ip netns delete "$line" 2>/dev/null || true; done < <(cat "$bed/namespaces" 2>/dev/null)
    while read -r line; do umount --lazy --recursive "$line" 2>/dev/null || true; done < <(tac "$bed/mounts" 2>/dev/null)
    while read -r line; do rm -rf -- "$line"; done < <(cat "$bed/leftovers" 2>/dev/null)
    rm -rf -- "$bed"
}

# bed_limit SECONDS: closes the bed then, whatever became of its owner.
# shellcheck disable=SC2016 # that shell's arguments
bed_limit() { start limit bash -c 'sleep "$1"; exec "$2" "$3"' limit "$1" "$root/apps/testbed/close" "$bed"; }

# start NAME COMMAND...: in the background, in a session of its own, so that no terminal's ^C reaches it before the owner's trap.
start() {
    local name=$1
    shift
    : >"$bed/$name.log" # now: the background may be late, and who waits for a line must not find it in the log of the one before
    setsid "$@" </dev/null >"$bed/$name.log" 2>&1 &
    process_remember "$name" $!
    disown # or bash would announce the end of each
}

process_remember() { printf '%d %s\n' "$2" "$(process_start_time "$2")" >"$bed/$1.pid"; }

# proc(5) stat field 22; what stands before the last ")" may hold blanks.
process_start_time() {
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    read -ra stat <<<"${stat##*) }"
    echo "${stat[19]}"
}

# process_pid NAME: its PID, if it is alive.
process_pid() {
    local pid started
    { read -r pid started <"$bed/$1.pid"; } 2>/dev/null || return 1
    [[ -n $started && $(process_start_time "$pid") == "$started" ]] || return 1
    printf '%d\n' "$pid"
}

# await_end PID SECONDS
await_end() { within "$2" process_is_gone "$1" >/dev/null; }
process_is_gone() { ! kill -0 "$1" 2>/dev/null; }

# process_await_end NAME SECONDS: it may have ended already.
process_await_end() {
    local pid
    ! pid=$(process_pid "$1") || await_end "$pid" "$2"
}

# signal_session SIGNAL PID: to the process and the children it has; an owner, not started here, has no session of its own.
signal_session() { kill -"$1" -- "-$2" 2>/dev/null || kill -"$1" "$2" 2>/dev/null || true; }

# process_kill NAME: SIGKILL, and it is gone.
process_kill() {
    local pid
    pid=$(process_pid "$1") || return 0
    signal_session KILL "$pid"
    await_end "$pid" 5 || true
}

# process_stop NAME: SIGTERM; SIGKILL after 5 s.
process_stop() {
    local pid
    pid=$(process_pid "$1") || return 0
    signal_session TERM "$pid"
    await_end "$pid" 5 || process_kill "$1"
    rm -f "$bed/$1.pid"
}

# processes_stop: all of the bed but the caller. The subnet manager goes last, so that the others can leave their groups, and
# by SIGKILL: it takes seconds over a SIGTERM and has nothing to lose.
processes_stop() {
    local name pid names=()
    for name in "$bed"/*.pid; do
        name=$(basename "$name" .pid)
        pid=$(process_pid "$name") || continue
        [[ $pid != "$$" && $name != opensm && $name != ibsim ]] || continue
        signal_session TERM "$pid"
        names+=("$name")
    done
    for name in "${names[@]}"; do process_stop "$name"; done
    process_kill opensm
    process_kill ibsim
}

# within SECONDS COMMAND...: until the command succeeds; prints the seconds it took.
within() {
    local limit=$1 began=${EPOCHREALTIME/[.,]/} tried silence
    shift
    # A pipe into which nobody writes: reading it is a pause without a process of its own, of which a busy machine has enough.
    exec {silence}<> <(:)
    while true; do
        tried=${EPOCHREALTIME/[.,]/}
        ! "$@" >/dev/null 2>&1 || break
        if ((${EPOCHREALTIME/[.,]/} - began >= limit * 1000000)); then
            exec {silence}>&-
            return 1
        fi
        pause "$silence" $((${EPOCHREALTIME/[.,]/} - tried))
    done
    exec {silence}>&-
    seconds_since "$began"
}

# pause DESCRIPTOR MICROSECONDS: 20 ms, or as long as that, so that what asks again and again takes half a processor at most.
pause() {
    local duration=$(($2 < 20000 ? 20000 : $2 > 500000 ? 500000 : $2))
    read -r -t "$(printf '0.%06d' "$duration")" -u "$1" _ || true
}

# await_line NAME PATTERN SECONDS: until process NAME prints a line that matches (an extended regular expression, as bash takes it).
await_line() {
    local name=$1 pattern=$2 seconds=$3
    await_line_in "$bed/$name.log" "$name" "$pattern" "$seconds" ||
        die "$name did not print '$pattern' within $seconds s" "$bed/$name.log"
}

# await_line_in FILE NAME PATTERN SECONDS: the same in FILE; gives up as soon as process NAME ends.
await_line_in() {
    local pid reader='' line='' found=1 valid=0
    matches "$3" '' || valid=$?
    ((valid < 2)) || die "'$3' is no regular expression: a brace that is meant is \\{"
    read -r pid _ <"$bed/$2.pid"
    within "$4" line_or_end "$1" "$pid" "$3" >/dev/null || true
    [[ -z $reader ]] || exec {reader}<&-
    return "$found"
}

# matches PATTERN LINE: 2 if it is no regular expression.
matches() { [[ $2 =~ $1 ]]; }

# line_or_end FILE PID PATTERN: reads what has come since; there is the line, or no process to write it. What is between two calls is
# in variables of await_line_in's.
line_or_end() {
    local more ended=1
    ! process_is_gone "$2" || ended=0 # what it has written is there by now
    [[ -n $reader ]] || { [[ -e $1 ]] && exec {reader}<"$1"; } || return "$ended"
    while IFS= read -r -u "$reader" more; do
        line+=$more
        ! matches "$3" "$line" || found=0
        line=''
        ((found)) || return 0
    done
    line+=$more
    ((ended)) || ! matches "$3" "$line" || found=0
    return "$ended"
}
