# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A gateway with $shards shards, each on an lcore of its own. The lcores float over all CPUs, as the embedded ones do: there may be
# fewer CPUs than shards.

gateway_start() {
    local cpus
    cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    instance_start "$ns_gw" --lcores "(0-${shards:?})@($cpus)" --main-lcore 0 --no-huge --no-shconf --no-pci -m 512 \
        --log-level warning -- gateway "$bed/gateway.toml" "$@"
}
