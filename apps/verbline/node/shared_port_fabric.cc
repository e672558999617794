// SPDX-License-Identifier: BSD-3-Clause
// A node's port on a soft fabric.
#include <algorithm>
#include <utility>

#include <rte_mbuf.h>

#include "apps/verbline/node/shared_port.h"

namespace verbline::cli {

Result<std::unique_ptr<pmd::NetDevice>> SharedPort::open_fabric(const NodeOptions& options) {
    auto side = FabricSide::open(*options.fabric, options.addresses, loop_, pool_);
    if (!side) return std::unexpected(side.error());
    fabric_side_ = std::move(*side);
    identity_ = {.mac = fabric_side_->mac(), .addresses = fabric_side_->addresses(), .fabric = options.fabric};
    return fabric_side_->take_device();
}

Result<void> SharedPort::serve_fabric() {
    return fabric_side_->serve(
        {.send = [this](wire::Bytes frame) { return send(frame); },
         .tell = [this](hub::LaneId member, const hub::Message& what) { server_->tell_subnet(member, what); },
         .changed =
             [this] {
                 if (fabric_side_->serving()) server_->tell_subnet_port();
             },
         .moved = [this] { take_fabric_mac(); },
         .gone =
             [this](const std::string& why) {
                 if (gone_) gone_(why);
             }});
}

/// The MAC address follows from the LID. On the fabric the link has one queue, and so one port.
void SharedPort::take_fabric_mac() {
    identity_.mac = fabric_side_->mac();
    wire_->set_port(identity_.mac);
    for (const auto& [member, port] : members_) port->set_port(identity_.mac);
    gsi_->set_mac(identity_.mac);
    server_->set_mac(identity_.mac);
    if (changed_) changed_();
}

bool SharedPort::send(wire::Bytes bytes) {
    auto* const frame = rte_pktmbuf_alloc(pool_);
    auto* const at = frame == nullptr ? nullptr : rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size()));
    if (at == nullptr) {
        rte_pktmbuf_free(frame);
        return false;
    }
    std::ranges::copy(bytes, reinterpret_cast<std::byte*>(at));
    inject(std::nullopt, frame);
    return true;
}

}  // namespace verbline::cli
