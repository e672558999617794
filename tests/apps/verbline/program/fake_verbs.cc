// SPDX-License-Identifier: BSD-3-Clause
// The part of a libibverbs.so.1 that `verbline devinfo` uses: two devices, the second of which cannot be opened if
// FAKE_VERBS_BROKEN is set.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <infiniband/verbs.h>

#undef ibv_query_port

namespace {

verbs_context context;
std::array<ibv_device, 2> devices;

int query_device(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes, std::size_t size) {
    if (size < sizeof *attributes) return EINVAL;
    std::strcpy(attributes->orig_attr.fw_ver, "fake");
    attributes->orig_attr.phys_port_cnt = 1;
    return 0;
}

int query_port(ibv_context*, std::uint8_t port, ibv_port_attr* attributes, std::size_t) {
    if (port != 1) return EINVAL;
    attributes->state = IBV_PORT_ACTIVE;
    return 0;
}

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
    std::strcpy(devices[0].name, "verbline0");
    std::strcpy(devices[1].name, "verbline_ib0");
    *count = 2;
    auto** list = new ibv_device*[3]{&devices[0], &devices[1], nullptr};
    return list;
}

void ibv_free_device_list(ibv_device** list) {
    delete[] list;
}

ibv_context* ibv_open_device(ibv_device* device) {
    if (device == &devices[1] && std::getenv("FAKE_VERBS_BROKEN") != nullptr) {
        errno = ENODEV;
        return nullptr;
    }
    context = {};
    context.sz = sizeof context;
    context.query_device_ex = query_device;
    context.query_port = query_port;
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.context.device = device;
    context.context.num_comp_vectors = 1;
    return &context.context;
}

int ibv_close_device(ibv_context*) {
    return 0;
}

ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t count, std::uint32_t, std::size_t) {
    if (count < 2) return -EINVAL;
    entries[0] = {.gid = {}, .gid_index = 0, .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2, .ndev_ifindex = 0};
    entries[1] = entries[0];
    entries[1].port_num = 2;  // of no port that there is
    return 2;
}

int ibv_read_sysfs_file(const char*, const char* file, char* text, std::size_t size) {
    return std::strcmp(file, "board_id") == 0 ? std::snprintf(text, size, "fake board") : -1;
}

int verbline_describe(ibv_context*, char* text, std::size_t size) {
    // Longer than the caller's first try.
    const auto padding = std::string(2000, 'x');
    return std::snprintf(text, size, R"({"link": "hub:lab", "counters": {"rx_packets": 3}, "padding": "%s"})",
                         padding.c_str()) +
           1;
}
}
