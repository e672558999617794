# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A machine within this one: its own processes, network, control groups and users, with systemd as its first process. Its files are
# those of this machine, and what is written there is gone with it.
#
#     / (read only) ── overlay ── $machine/files on a tmpfs ── chroot ── systemd

# machine_create: its files, at $machine_root; nothing runs yet. The test is skipped where this cannot be had.
machine_create() {
    local why=''
    machine=$bed/machine machine_root=$bed/machine/root
    mkdir -p "$machine"
    printf '%s\n' "$machine" "$machine_root" >>"$bed/mounts"
    if ! command -v /lib/systemd/systemd >/dev/null; then
        why="there is no systemd: install it"
    elif ! mount -t tmpfs tmpfs "$machine" 2>/dev/null; then
        why="a tmpfs cannot be mounted here"
    else
        mkdir -p "$machine"/{files,work,root}
        mount -t overlay overlay -o "lowerdir=/,upperdir=$machine/files,workdir=$machine/work" "$machine_root" 2>/dev/null ||
            why="an overlay cannot be mounted here"
    fi
    [[ -z $why ]] || { machine_remove && echo "$why" && exit 77; }
    # What this machine runs is not to run there.
    mkdir -p "$machine_root/etc/systemd/system"
    printf '[Unit]\nRequires=basic.target\nAfter=basic.target\n' >"$machine_root/etc/systemd/system/verbline-test.target"
}

machine_remove() {
    process_kill machine
    # Its processes go after the first one has.
    within 10 unmounted "$machine_root" >/dev/null || umount --lazy --recursive "$machine_root"
    within 10 unmounted "$machine" >/dev/null || umount --lazy "$machine"
}

unmounted() { ! mountpoint -q "$1" || umount -R "$1"; }

# machine_chroot COMMAND...: there, before it runs.
machine_chroot() {
    # shellcheck disable=SC2016 # that shell's arguments
    unshare --mount --propagation private bash -c '
        mount -t proc proc "$1/proc"; mount -t tmpfs tmpfs "$1/run"; mount --bind /dev "$1/dev"
        exec chroot "$1" /usr/bin/env -i DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"' - "$machine_root" "$@"
}

# machine_start: returns when its basic services run.
machine_start() {
    # shellcheck disable=SC2016 # that shell's arguments
    start machine unshare --mount --pid --fork --uts --ipc --cgroup --net --kill-child --propagation private bash -c '
        set -e
        cd "$1"
        for each in run tmp sys/fs/cgroup dev; do
            [[ $each != sys/* ]] || mount -t sysfs sysfs sys
            mount -t tmpfs tmpfs "$each"
        done
        mount -t cgroup2 cgroup2 sys/fs/cgroup
        mount -o remount,ro,bind sys
        mount -t proc proc proc
        mkdir -p dev/net dev/shm dev/pts
        for each in null zero full random urandom tty net/tun; do touch dev/$each && mount --bind /dev/$each dev/$each; done
        exec chroot . /usr/bin/env -i container=verbline-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            /lib/systemd/systemd --system --unit=verbline-test.target' - "$machine_root"
    within 30 machine_is_up >/dev/null || die "systemd does not come up in namespaces of its own" "$bed/machine.log"
    in_machine ip link set lo up
}
machine_is_up() { in_machine systemctl is-active verbline-test.target; }

# in_machine COMMAND...: there, while it runs.
in_machine() {
    local first
    first=$(pgrep -P "$(process_pid machine)" | head -n 1)
    timeout 60 nsenter --target "$first" --all --root --wd /usr/bin/env -i DEBIAN_FRONTEND=noninteractive TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# machine_journal UNIT: what it has said.
machine_journal() { in_machine journalctl --no-pager --output=short-full --unit "$1"; }
# machine_says UNIT PATTERN [SECONDS]
machine_says() {
    within "${3-10}" machine_has_said "$1" "$2" >/dev/null || { machine_journal "$1" && die "$1 has not said '$2'"; }
}
machine_has_said() { machine_journal "$1" | grep -qE -- "$2"; }

# unit_property UNIT PROPERTY
unit_property() { in_machine systemctl show --value --property "$2" "$1"; }
unit_is() { [[ $(unit_property "$1" "$2") == "$3" ]]; }
