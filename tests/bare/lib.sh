# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A machine on which nothing is installed: a fresh Debian 12 root with this machine's own apt sources, in namespaces of its own, with a
# fresh clone of the project in it. The root is made once and kept in build-bare; each test starts from it unchanged, through an
# overlay. The network is this machine's, as packages come over it.
#
#     build-bare/root    the root as mmdebstrap made it
#     build-bare/run/    of the test that runs: root (merged), upper, work

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../apps/testbed/testbed.sh"

bare=${VERBLINE_BARE:-$root/build-bare}
user=ordinary user_id=1000
machine=$bare/run/root

need_root
[[ -x $(command -v mmdebstrap) ]] || { echo "there is no mmdebstrap: install the package of that name" && exit 77; }

# make_root: the base system, what fetches packages by https, git, and nothing else.
make_root() {
    local sources=$bare/sources
    [[ ! -e $bare/root/.complete ]] || return 0
    rm -rf "$bare/root"
    mkdir -p "$bare"
    cat /etc/apt/sources.list.d/*.sources >"$sources" 2>/dev/null || cat /etc/apt/sources.list >"$sources"
    mmdebstrap --variant=minbase --include=ca-certificates,git bookworm "$bare/root" "$sources" >"$bare/log" 2>&1 ||
        die "mmdebstrap could not make a Debian root" "$bare/log"
    # Proxies and the like; keys are in the sources.
    cp -r /etc/apt/apt.conf.d/. "$bare/root/etc/apt/apt.conf.d/"
    rm -rf "$bare/root/var/lib/apt/lists"/*
    chroot "$bare/root" useradd --create-home --home-dir "/srv/$user" --uid "$user_id" --shell /bin/bash "$user"
    touch "$bare/root/.complete"
}

# end_machine: takes down what machine_start made, also what a killed test left.
end_machine() {
    local mounted
    mounted=$(findmnt -rno TARGET | awk -v under="$machine" 'index($0, under) == 1' | sort -r)
    [[ -z $mounted ]] || xargs -rd '\n' umount -l <<<"$mounted"
    rm -rf "$bare/run"
}

# clone DIRECTORY OWNER: the project as it is in the working tree, with its history.
clone() {
    git -c safe.directory='*' clone -q "$root" "$machine/$1"
    git -c safe.directory='*' -C "$root" ls-files -co --exclude-standard | while read -r file; do [[ ! -e $root/$file ]] || echo "$file"; done |
        tar -C "$root" -c -T - | tar -C "$machine/$1" -x --no-same-owner
    chroot "$machine" chown -R "$2:$2" "/$1"
}

# machine_start: a fresh machine, with the project cloned by root into /srv/verbline and by the user into /srv/ordinary/verbline.
machine_start() {
    make_root
    end_machine
    mkdir -p "$bare/run"/{upper,work,root}
    trap end_machine EXIT
    trap 'exit 130' INT TERM HUP
    mount -t overlay overlay -o "lowerdir=$bare/root,upperdir=$bare/run/upper,workdir=$bare/run/work" "$machine"
    cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
    clone srv/verbline root
    clone "srv/$user/verbline" "$user"
}

# on_machine COMMAND: a line of shell as root, on the machine, in /srv/verbline. Processes that it leaves end with it; files stay.
# shellcheck disable=SC2016 # those shells' arguments
on_machine() {
    unshare --mount --pid --fork --kill-child --uts --ipc --propagation private bash -euc '
        mount -t proc proc "$1/proc"
        mount -t sysfs sysfs "$1/sys"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs tmpfs "$1/run"
        mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
        hostname bare
        # No chroot, in which nobody could make a user namespace.
        cd "$1"
        pivot_root . mnt
        umount -l /mnt
        shift
        exec "$@"' bash "$machine" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        bash -euc 'cd /srv/verbline && eval "$1"' bash "$1"
}

# as_user COMMAND: for a line of on_machine: the words that run COMMAND, a line of shell, as the ordinary user in the user's own clone.
as_user() {
    printf 'cd /srv/%s/verbline && setpriv --reuid %s --regid %s --clear-groups env -i HOME=/srv/%s PATH=/usr/bin:/bin bash -euc %q' \
        "$user" "$user" "$user" "$user" "$1"
}
