// SPDX-License-Identifier: BSD-3-Clause
#include "tests/apps/libibverbs/abi/fake_device.h"

#include <algorithm>

#include "apps/libibverbs/abi/hooks.h"

using verbline::verbs::test::FakeDevice;

extern "C" {

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t /*port*/, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t /*flags*/, std::size_t /*size*/) {
    const auto& device = FakeDevice::of(context);
    if (index >= device.table_size) return EINVAL;
    const auto found = device.gids.find(index);
    if (found == device.gids.end()) return ENODATA;
    *entry = found->second;
    return 0;
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
    auto& device = FakeDevice::of(pd->context);
    device.made = *attributes;
    return &device.handle;
}

}  // extern "C"

int verbline::verbs::resolve_mac(ibv_context* /*context*/, const ibv_ah_attr* path, std::uint8_t* mac,
                                 std::uint16_t* vlan) {
    if (path->grh.sgid_index != 3) return EHOSTUNREACH;
    std::fill_n(mac, 6, path->grh.dgid.raw[15]);
    *vlan = 0xffff;
    return 0;
}
