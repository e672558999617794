# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the scripts tell the person who runs them. Colours on a terminal only.

if [[ -t 1 ]]; then
    bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'
else
    bold='' green='' red='' dim='' plain=''
fi

# step TEXT: what is being done now.
step() { printf '%s==>%s %s\n' "$bold$green" "$plain" "$*"; }

# note TEXT: a detail of the step.
note() { printf '    %s\n' "$*"; }

# die TEXT [LOG]: one line of what happened and what to do, the end of LOG if given; the caller's EXIT trap cleans up.
die() {
    printf '%serror:%s %s\n' "$bold$red" "$plain" "$1" >&2
    if [[ -s ${2-} ]]; then
        printf '%s--- the end of %s%s\n' "$dim" "$2" "$plain" >&2
        tail -n 20 -- "$2" >&2
    fi
    exit 1
}

need_root() { ((EUID == 0)) || die "this needs root for network namespaces and tap interfaces: run it with sudo"; }

# seconds_since MICROSECONDS: from a value of ${EPOCHREALTIME/[.,]/} to now, as seconds with three digits.
seconds_since() {
    local now=${EPOCHREALTIME/[.,]/}
    printf '%d.%03d' $(((now - $1) / 1000000)) $(((now - $1) / 1000 % 1000))
}

# ninja_with_progress DIRECTORY LOG TARGET...: builds, and prints every fortieth step.
ninja_with_progress() {
    local directory=$1 log=$2
    shift 2
    ninja -C "$directory" "$@" 2>&1 | tee "$log" | awk 'NR % 40 == 0 { print "    " $1, $2, $3, $4; fflush() }'
}
