// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "datapath/wire/text.h"

namespace verbline::pmd::hca {
namespace {

/// The list of devices that the library found, which it takes back.
class DeviceList {
public:
    explicit DeviceList(const Verbs& verbs) : verbs_(verbs), devices_(verbs.get_device_list(&count_)) {}
    DeviceList(const DeviceList&) = delete;
    DeviceList& operator=(const DeviceList&) = delete;
    ~DeviceList() {
        if (devices_ != nullptr) verbs_.free_device_list(devices_);
    }
    std::span<ibv_device*> get() const {
        return devices_ == nullptr ? std::span<ibv_device*>() : std::span(devices_, static_cast<std::size_t>(count_));
    }

private:
    const Verbs& verbs_;
    int count_ = 0;
    ibv_device** devices_;
};

std::vector<std::string> names_of(const DeviceList& list) {
    std::vector<std::string> names;
    for (const auto* const device : list.get()) names.emplace_back(device->name);
    return names;
}

wire::Gid gid_of(const ibv_gid& raw) {
    wire::Gid gid;
    std::memcpy(gid.bytes.data(), raw.raw, gid.bytes.size());
    return gid;
}

/// The GID whose packets are RoCE v2 over IPv6 between hosts of one link, from which both ends derive each other's
/// Ethernet addresses.
void take_link_local_gid(const Verbs& verbs, ibv_context& context, std::uint8_t port, int entries, PortFacts& facts) {
    for (int index = 0; verbs.query_gid_ex != nullptr && index < std::min(entries, 256); ++index) {
        ibv_gid_entry entry{};
        if (verbs.query_gid_ex(&context, port, static_cast<std::uint32_t>(index), &entry, 0, sizeof entry) != 0)
            continue;
        const auto gid = gid_of(entry.gid);
        if (entry.gid_type != IBV_GID_TYPE_ROCE_V2 || gid.prefix() != wire::default_subnet_prefix) continue;
        facts.gid = gid;
        facts.gid_index = static_cast<std::uint8_t>(index);
        facts.interface = entry.ndev_ifindex;
        return;
    }
}

}  // namespace

std::vector<std::string> device_names(const Verbs& verbs) {
    return names_of(DeviceList(verbs));
}

Result<Owned<ibv_context>> open_context(const Verbs& verbs, const std::string& name) {
    const DeviceList list(verbs);
    const auto devices = list.get();
    const auto found = std::ranges::find_if(devices, [&](const auto* device) { return name == device->name; });
    if (found == devices.end()) {
        if (devices.empty()) {
            return failure(ENODEV, fmt::format("there is no RDMA device {}, nor any other: load the adapter's driver "
                                               "and ib_uverbs",
                                               name));
        }
        return failure(ENODEV,
                       fmt::format("there is no RDMA device {}; there are {}", name, fmt::join(names_of(list), ", ")));
    }
    Owned<ibv_context> context(verbs.open_device(*found), {verbs.close_device});
    if (context) return context;
    const int error = verbs.error();
    if (error == EACCES || error == EPERM) {
        return failure(error, fmt::format("no permission to open RDMA device {}: run as root, or give this user "
                                          "/dev/infiniband/{}",
                                          name, (*found)->dev_name));
    }
    return failure(error, fmt::format("cannot open RDMA device {}: {}", name, std::strerror(error)));
}

Result<PortFacts> read_port(const Verbs& verbs, ibv_context& context, std::uint8_t port) {
    ibv_port_attr attributes{};
    // The exported call fills what its first version had, which is all that is needed.
    auto* const first = reinterpret_cast<_compat_ibv_port_attr*>(&attributes);
    if (const int error = verbs.query_port(&context, port, first); error != 0) {
        return failure(error, fmt::format("RDMA device {} does not answer for port {}: {}", context.device->name, port,
                                          std::strerror(error)));
    }
    PortFacts facts{.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
                    .state = attributes.state,
                    .mtu = attributes.active_mtu == 0 ? 0 : 128u << attributes.active_mtu,
                    .lid = wire::Lid{attributes.lid},
                    .pkeys = attributes.pkey_tbl_len};
    if (facts.ethernet) {
        take_link_local_gid(verbs, context, port, attributes.gid_tbl_len, facts);
        return facts;
    }
    ibv_gid first_gid{};
    if (verbs.query_gid(&context, port, 0, &first_gid) == 0) facts.gid = gid_of(first_gid);
    return facts;
}

std::optional<std::uint16_t> find_pkey(const Verbs& verbs, ibv_context& context, std::uint8_t port,
                                       const PortFacts& facts, wire::PKey wanted) {
    std::optional<std::uint16_t> other;
    for (std::uint16_t index = 0; index < facts.pkeys; ++index) {
        __be16 entry = 0;
        if (verbs.query_pkey(&context, port, index, &entry) != 0) continue;
        const wire::PKey pkey{ntohs(entry)};
        if (pkey == wanted) return index;
        if (partition(pkey) == partition(wanted) && !other) other = index;
    }
    return other;
}

std::string pkey_table(const Verbs& verbs, ibv_context& context, std::uint8_t port, const PortFacts& facts) {
    std::string text;
    for (std::uint16_t index = 0; index < facts.pkeys; ++index) {
        __be16 entry = 0;
        if (verbs.query_pkey(&context, port, index, &entry) != 0 || entry == 0) continue;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", wire::to_string(wire::PKey{ntohs(entry)}));
    }
    return text.empty() ? "none" : text;
}

std::string driver_of(const ibv_context& context) {
    std::error_code error;
    const auto link =
        std::filesystem::read_symlink(std::filesystem::path(context.device->ibdev_path) / "device" / "driver", error);
    return error ? std::string() : link.filename().string();
}

}  // namespace verbline::pmd::hca
