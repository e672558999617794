# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Machines with an engine of containers, podman: namespaces of processes and mounts, and the network that is given. All that an engine has
# is in the bed, and all that it runs ends with it. Its images are of the build that is tested: its program and library with the libraries
# that they need, and programs of rdma-core and perftest, in place of packages on Debian's image.

engine_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # as Debian's image has it

# engine_start MACHINE NAMESPACE: the machine's network is that namespace, and /run/verbline/hub its own. Ends the script with status 77
# where no container can run.
engine_start() {
    local name=$1 where=$bed/$1 program
    for program in podman runc docker-compose catatonit; do
        type -P "$program" >/dev/null || { echo "there is no $program: install it" && exit 77; }
    done
    mkdir -p "$where/hub" /run/verbline/hub
    # For more open files than this machine has it would need CAP_SYS_RESOURCE.
    cat >"$where/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "$where/engine"
volume_path = "$where/volumes"
[network]
network_backend = "cni"
network_config_dir = "$where/networks"
END
    printf '[storage]\ndriver = "overlay"\ngraphroot = "%s"\nrunroot = "%s"\n' "$where/storage" "$where/run" >"$where/storage.conf"
    # shellcheck disable=SC2016 # that shell's arguments
    CONTAINERS_CONF=$where/containers.conf CONTAINERS_STORAGE_CONF=$where/storage.conf start "$name" nsenter "--net=/run/netns/$2" \
        unshare --mount --pid --ipc --uts --fork --kill-child --mount-proc --propagation private bash -c '
            mount --bind "$1/hub" /run/verbline/hub && podman system service --time 0 "unix://$1/engine.sock"' - "$where"
    within 10 test -S "$where/engine.sock" >/dev/null || { echo "podman does not start here: $(tail -n 1 "$bed/$name.log")" && exit 77; }
    engine_image "$name" verbline '["verbline"]' 0
    engine_image "$name" verbline-programs '["verbline", "run"]' 1000
    on "$name" run --rm --network none verbline --version >"$bed/first.log" 2>&1 ||
        { echo "podman runs no containers here: $(tail -n 1 "$bed/first.log")" && exit 77; }
}

# on MACHINE WORD...: podman's.
on() { timeout -k 2 60 podman --remote --url "unix://$bed/$1/engine.sock" "${@:2}"; }

# compose MACHINE WORD...: docker-compose's, in the machine's $project.
compose() {
    DOCKER_HOST=unix://$bed/$1/engine.sock timeout -k 2 60 docker-compose --project-directory "$project" --project-name "$prefix" \
        -f "$project/compose.yaml" "${@:2}"
}

# engines_stop MACHINE...: and what is in their containers.
engines_stop() {
    local name
    for name in "$@"; do process_kill "$name"; done
    # Control groups are the whole machine's; those in which something runs stay.
    find /sys/fs/cgroup -depth -type d -path '*/libpod_parent*' -exec rmdir {} + 2>/dev/null || true
}

# engine_image MACHINE NAME ENTRYPOINT USER
engine_image() {
    [[ -e $bed/image.tar ]] || engine_files
    on "$1" import --quiet --change "ENV PATH=$engine_path" --change "ENTRYPOINT $3" --change "USER $4" "$bed/image.tar" "$2" >"$bed/first.log" 2>&1 ||
        { echo "podman imports no image here: $(tail -n 1 "$bed/first.log")" && exit 77; }
    on "$1" tag "$2" "registry.example/$2" # as the manifests name it
}

engine_files() {
    local build=${verbline%/apps/verbline/verbline} tree=$bed/tree prefix libdir file
    prefix=$(build_option "$build" prefix) libdir=$(build_option "$build" libdir)
    mkdir -p "$tree"/{dev,etc,proc,run,sys,tmp,var}
    chmod 1777 "$tree/tmp"
    ln -s /run "$tree/var/run"
    add_with_libraries "$verbline" "$prefix/bin/verbline"
    add_with_libraries "$build/apps/libibverbs/libibverbs.so.1" "$prefix/$libdir/verbline/libibverbs.so.1"
    for file in /usr/lib/*/dpdk/pmds-*/librte_{mempool_ring,net_af_packet}.so*; do add_with_libraries "$file" "$file"; done
    for file in rping ib_send_bw; do add_with_libraries "$(type -P "$file")" "/usr/bin/$file"; done
    tar -C "$tree" -cf "$bed/image.tar" .
    rm -rf "$tree"
}
