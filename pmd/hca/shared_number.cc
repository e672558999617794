// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/shared_number.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <variant>

#include <fmt/format.h>

#include "datapath/wire/bytes.h"
#include "datapath/wire/ipoib.h"

namespace verbline::pmd::hca {
namespace {

bool is_broadcast(const wire::Gid& group) {
    return wire::load16(group.bytes, 2) == wire::ipoib_ipv4_signature && wire::load32(group.bytes, 12) == 0xffff'ffff;
}

/// The group of a rule as an IPv4-mapped address (RFC 4291, 2.5.5.2), which KernelGroups takes.
wire::Gid mapped(const FlowMatch& group) {
    wire::Gid gid;
    wire::store16(gid.bytes, 10, 0xffff);
    wire::store32(gid.bytes, 12, static_cast<std::uint32_t>(std::get<wire::Ipv4Prefix>(group.destination).address));
    return gid;
}

}  // namespace

Result<std::unique_ptr<SharedNumber>> SharedNumber::find(const std::string& interface, const ibv_context& context,
                                                         std::uint8_t port, const PortFacts& facts,
                                                         const std::filesystem::path& sys) {
    const std::string device = context.device->name;
    // mlx4 makes such a queue pair when asked, but an ordinary one.
    if (facts.ethernet || driver_of(context) == "mlx4_core") {
        return failure(EOPNOTSUPP, fmt::format("port {} of RDMA device {} cannot share the number of {}: that takes an "
                                               "InfiniBand port of mlx5",
                                               port, device, interface));
    }
    const auto kernel = read_kernel_interface(interface, device, port, sys);
    if (!kernel) return std::unexpected(kernel.error());
    return std::unique_ptr<SharedNumber>(new SharedNumber(interface, device, port, *kernel));
}

Error SharedNumber::explain(const Error& refusal) const {
    const bool permission = refusal.code == EPERM || refusal.code == EACCES;
    const bool unknown = refusal.code == EOPNOTSUPP || refusal.code == ENOSYS || refusal.code == EINVAL;
    if (!permission && !unknown) return refusal;  // which an ordinary queue pair would have met as well
    return {refusal.code,
            fmt::format("RDMA device {} does not let us share the number of {}: {}; {}", device_, interface_,
                        std::strerror(refusal.code),
                        permission ? "run as root, or with CAP_NET_RAW" : "let the port have a number of its own")};
}

std::error_code SharedNumber::attach(const wire::Gid& group) {
    if (is_broadcast(group)) return {};
    const auto match = flow_of_group(group);
    if (!match) return {EOPNOTSUPP, std::generic_category()};
    if (const auto error = groups_.join(mapped(*match))) return error;
    const auto taken = rules_->add(*match);
    return taken ? std::error_code() : std::error_code(taken.error().code, std::generic_category());
}

std::error_code SharedNumber::detach(const wire::Gid& group) {
    const auto match = flow_of_group(group);
    if (!match) return {};
    rules_->remove(*match);
    return groups_.leave(mapped(*match));
}

}  // namespace verbline::pmd::hca
