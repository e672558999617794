# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Debian packages, from the one list in apps/packages.txt.

# missing_packages USE...: those of the list for these uses that are not installed.
missing_packages() {
    local uses="$*" list
    list=$(awk -v uses=" $uses " '/^[^#]/ && index(uses, " " $1 " ") { print $2 }' "$root/apps/packages.txt")
    # shellcheck disable=SC2086 # one word per package
    comm -23 <(sort <<<"$list") <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $list 2>/dev/null |
        awk '$1 == "installed" { print $2 }' | sort -u)
}

# install_packages USE...: installs what is missing; asks apt for nothing when nothing is.
install_packages() {
    local missing log
    missing=$(missing_packages "$@")
    [[ -n $missing ]] || return 0
    ((EUID == 0)) || die "these packages are missing and installing them needs root: ${missing//$'\n'/ }"
    note "installing ${missing//$'\n'/ }"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing; } \
        >"$log" 2>&1 </dev/null; then
        die "apt-get could not install them: see its messages, mend it and run this again" "$log"
    fi
    rm -f "$log"
}
