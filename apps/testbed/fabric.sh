# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A software InfiniBand fabric in the bed: ibsim with one switch and the hosts H1 to H4, or a fat tree, and a real OpenSM on H1.
# IBSIM_SOCKNAME ($fabric) names it; its sockets are abstract, so they end with the process and are found in this network
# namespace only.

# umad2sim: the path of ibsim's preload library. A function: on a bare machine the package is installed after this file is read.
umad2sim() {
    local found=(/usr/lib/*/umad2sim/libumad2sim.so)
    [[ -e ${found[0]} ]] || die "there is no libumad2sim.so in /usr/lib: install the package ibsim-utils"
    printf '%s\n' "${found[0]}"
}

# fabric_start NAME [LEAVES SPINES HOSTS]: returns with the subnet up; leaves the seconds it took in $subnet_up_s. With three numbers
# it is a fat tree, HOSTS to a leaf.
fabric_start() {
    local began=${EPOCHREALTIME/[.,]/}
    fabric=$1
    fabric_write_files "${@:2}"
    # ibsim takes a whole core when its standard input is at its end: a FIFO opened for reading and writing never is.
    # shellcheck disable=SC2016 # that shell's arguments
    start ibsim env IBSIM_SOCKNAME="$fabric" bash -c 'exec ibsim -s -N 4096 -S 512 -P 40000 "$1" <>"$2"' ibsim "$bed/fabric.net" "$bed/ibsim.in"
    await_line ibsim 'simulator ready' 10
    fabric_sm_start
    # shellcheck disable=SC2034 # for the caller
    subnet_up_s=$(seconds_since "$began")
}

# star, fat_tree LEAVES SPINES HOSTS: the topology as ibsim reads it.
star() {
    local host
    echo 'Switch 4 "S1"'
    for host in 1 2 3 4; do echo "[$host] \"H$host\"[1] # \"H$host\" lid 0 4xSDR"; done
    for host in 1 2 3 4; do printf '\nHca 1 "H%d"\n[1] "S1"[%d] # "S1" lid 0 4xSDR\n' "$host" "$host"; done
}
fat_tree() {
    awk -v leaves="$1" -v spines="$2" -v hosts="$3" 'BEGIN {
        for (leaf = 1; leaf <= leaves; leaf++) {
            for (port = 1; port <= hosts; port++) printf "Hca 1 \"H%d\"\n[1] \"L%d\"[%d]\n\n", (leaf - 1) * hosts + port, leaf, port
            printf "Switch %d \"L%d\"\n", hosts + spines, leaf
            for (port = 1; port <= hosts; port++) printf "[%d] \"H%d\"[1]\n", port, (leaf - 1) * hosts + port
            for (spine = 1; spine <= spines; spine++) printf "[%d] \"C%d\"[%d]\n", hosts + spine, spine, leaf
            print ""
        }
        for (spine = 1; spine <= spines; spine++) {
            printf "Switch %d \"C%d\"\n", leaves, spine
            for (leaf = 1; leaf <= leaves; leaf++) printf "[%d] \"L%d\"[%d]\n", leaf, leaf, hosts + spine
            print ""
        }
    }'
}

# fabric_write_files [LEAVES SPINES HOSTS]
fabric_write_files() {
    mkfifo "$bed/ibsim.in"
    mkdir -p "$bed/opensm" "$bed/umad"
    if (($#)); then fat_tree "$@"; else star; fi >"$bed/fabric.net"
    # The `ipoib` flag makes the broadcast group ff12:401b:ffff::ffff:ffff that every IPoIB interface joins.
    echo 'Default=0x7fff, ipoib, defmember=full : ALL=full, ALL_SWITCHES=full, SELF=full;' >"$bed/partitions.conf"
    printf '%s\n' 'force_log_flush TRUE' 'sweep_interval 0' >"$bed/opensm.conf"
}

# as_host HOST COMMAND...: a libibumad program as a host of the fabric. umad2sim writes a false sysfs into the working directory,
# and would take the place of every file call in the shell that runs it: nothing but the program itself may load it.
as_host() {
    local library
    library=$(umad2sim)
    (cd "$bed/umad" && exec env IBSIM_SOCKNAME="$fabric" SIM_HOST="$1" LD_PRELOAD="$library" "${@:2}")
}

# fabric_console COMMAND: what ibsim's console answers.
fabric_console() {
    local from=$(($(stat -c %s "$bed/ibsim.log") + 1)) answer='' tries
    echo "$1" >"$bed/ibsim.in"
    for ((tries = 0; tries < 500; tries++)); do
        answer=$(tail -c "+$from" "$bed/ibsim.log")
        [[ $answer != *ok* ]] || break
        sleep 0.01
    done
    printf '%s\n' "$answer"
}

# fabric_forget NAME: frees the client slot of a killed process of the bed. ibsim has ten and keeps a dead client's.
fabric_forget() {
    local pid slot
    read -r pid _ 2>/dev/null <"$bed/$1.pid" || return 0
    slot=$(fabric_console attached | sed -n "s/.*Client \([0-9]*\): pid $pid .*/\1/p")
    [[ -z $slot ]] || fabric_console "X $slot" >/dev/null
}

# opensm_start NAME HOST CONFIGURATION: its log is opensm.log in the bed's directory NAME.
opensm_start() {
    local library
    library=$(umad2sim)
    fabric_forget "$1"
    mkdir -p "$bed/$1"
    rm -f "$bed/$1/opensm.log" # of an earlier one: its SUBNET UP is not this one's
    start "$1" env -C "$bed/umad" OSM_TMP_DIR="$bed/$1" OSM_CACHE_DIR="$bed/$1" \
        IBSIM_SOCKNAME="$fabric" SIM_HOST="$2" LD_PRELOAD="$library" \
        opensm -F "$3" -f "$bed/$1/opensm.log" -P "$bed/partitions.conf"
}

# fabric_sm_start: OpenSM on H1, until it has brought the subnet up.
fabric_sm_start() {
    opensm_start opensm H1 "$bed/opensm.conf"
    await_line_in "$bed/opensm/opensm.log" opensm 'SUBNET UP' 30 ||
        die "OpenSM did not bring the subnet up within 30 s" "$bed/opensm.log"
}

# fabric_standby_start HOST: another OpenSM, until it waits for the first to fail, of which it takes two unanswered questions.
fabric_standby_start() {
    { cat "$bed/opensm.conf" && printf '%s\n' 'sminfo_polling_timeout 500' 'polling_retry_number 2'; } >"$bed/standby.conf"
    opensm_start standby "$1" "$bed/standby.conf"
    await_line_in "$bed/standby/opensm.log" standby 'Entering STANDBY state' 30 ||
        die "OpenSM on $1 did not become a standby within 30 s" "$bed/standby.log"
}
