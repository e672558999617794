# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A guest with the kernel's soft-RoCE (rdma_rxe), on a tap interface in a network namespace. A test sources lib.sh first.
#
#     guest 10.77.0.1, fd77::1, rxe0 --- rxetap, the namespace's kernel has 10.77.0.254
#
# The kernel is User Mode Linux with rxe built in where there is one ($RXE_UML, or ../shared/peers/rxe beside the project): it boots
# in a second, on any machine. Else it is the distribution's, in QEMU without virtualisation: ten seconds.

guest_address=10.77.0.1 tap_address=10.77.0.254 guest_tap=rxetap
guest_programs="ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw"

# guest_kernel: chooses one; sets guest_uml or guest_release. Ends the script with status 77 if there is none.
guest_kernel() {
    local program given=${RXE_UML:-$root/../shared/peers/rxe/linux.uml.zst}
    # shellcheck disable=SC2086 # several words
    for program in busybox cpio rdma ethtool $guest_programs; do
        type -P "$program" >/dev/null || skip "there is no $program: install busybox-static, cpio, iproute2, ethtool, ibverbs-utils, perftest"
    done
    guest_uml='' guest_release=-
    if [[ -z ${RXE_QEMU-} && -e $given ]] && type -P zstd >/dev/null; then
        guest_uml=$bed/linux
        zstd -q -d -f "$given" -o "$guest_uml" && chmod 755 "$guest_uml"
        g++ -std=c++23 -O1 -shared -fPIC -o "$bed/whole_xstate.so" "$root/tests/system/rxe/whole_xstate.cc"
        return
    fi
    type -P qemu-system-x86_64 >/dev/null || skip "there is neither User Mode Linux with rxe nor QEMU: install qemu-system-x86"
    guest_release=$(find /lib/modules -name 'rdma_rxe.ko*' -printf '%P\n' | cut -d/ -f1 | sort -V | tail -n 1)
    [[ -n $guest_release && -e /boot/vmlinuz-$guest_release ]] ||
        skip "no kernel with the module rdma_rxe is installed: install linux-image-amd64"
}

# guest_tun: the kernel has tun interfaces, or its module, $RXE_TUN, is in $guest_modules, words for `image`. Else ends the script with
# status 77.
guest_tun() {
    local module=${RXE_TUN:-$root/../shared/peers/rxe/tun.ko}
    guest_modules=()
    [[ -n $guest_uml ]] || return 0
    [[ ! -e $module ]] || guest_modules=("/modules/1-tun.ko=$module")
    ((${#guest_modules[@]})) || grep -qa 'Universal TUN/TAP device driver' "$guest_uml" ||
        skip "the guest's kernel has no tun interfaces: build it with CONFIG_TUN=y, or name its module by RXE_TUN"
}

skip() { echo "$1" && exit 77; }

# guest_network NAMESPACE: one with the tap interface.
guest_network() {
    guest_namespace=$1
    namespace_create "$1"
    ip netns exec "$1" sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
    ip -n "$1" tuntap add "$guest_tap" mode tap
    ip -n "$1" link set "$guest_tap" mtu 9000 up
    ip -n "$1" address add "$tap_address/24" dev "$guest_tap"
}

# guest_start NAME: the image is $bed/image.
guest_start() {
    local name=$1 words="panic=-1 quiet"
    if [[ -n $guest_uml ]]; then
        # shellcheck disable=SC2086
        TMPDIR=/dev/shm start "$name" ip netns exec "$guest_namespace" env "LD_PRELOAD=$bed/whole_xstate.so" "$guest_uml" mem=512M "initrd=$bed/image" con=null con0=null,fd:1 \
            "vec0:transport=tap,ifname=$guest_tap,depth=128,gro=0,mtu=9000" $words
    else
        start "$name" ip netns exec "$guest_namespace" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -machine q35 -m 768 -smp 1 \
            -nodefaults -no-user-config -display none -no-reboot -serial stdio \
            -kernel "/boot/vmlinuz-$guest_release" -initrd "$bed/image" -append "console=ttyS0 mitigations=off $words" \
            -netdev "tap,id=net,ifname=$guest_tap,script=no,downscript=no,vhost=off" -device virtio-net-pci,netdev=net,romfile=,host_mtu=9000
    fi
    await_line "$name" '^ready' 60
    within 10 in_guest true >/dev/null || die "the guest does not answer" "$bed/$name.log"
    # User Mode Linux may not notice a frame until the next one comes (README.md): so one comes every 50 ms.
    [[ -z $guest_uml ]] || start "$name-wake" ip netns exec "$guest_namespace" ping -q -i 0.05 "$guest_address"
}

# in_guest COMMAND: of one line; prints what it printed, has its status.
in_guest() {
    # shellcheck disable=SC2016 # that shell's
    ip netns exec "$guest_namespace" timeout 70 bash -c 'exec 3<>/dev/tcp/$1/77 && printf "%s\n" "$2" >&3 && cat <&3' in_guest "$guest_address" "$1" |
        awk '{ if (held) print line; line = $0; held = 1 } END { if (line !~ /^status [0-9]+$/) { print line; exit 125 } exit substr(line, 8) }'
}

# guest_mtu BYTES: less than the 9000 that its interface begins with, or less than before; rxe's path MTU follows.
guest_mtu() { in_guest "ip link set eth0 mtu $1"; }
