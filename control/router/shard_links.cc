// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/shard_links.h"

namespace verbline::router {

Result<std::unique_ptr<ShardLinks>> ShardLinks::create(control::Loop& loop, const std::string& name,
                                                       std::uint16_t count, const ShardLink::Handler& handler) {
    std::vector<std::unique_ptr<ShardLink>> links;
    for (std::uint16_t i = 0; i < count; ++i) {
        auto link = ShardLink::create(loop, name + std::to_string(i), handler);
        if (!link) return std::unexpected(link.error());
        links.push_back(std::move(*link));
    }
    return std::unique_ptr<ShardLinks>(new ShardLinks(std::move(links)));
}

void ShardLinks::send(const Transmit& packet) {
    links_[static_cast<std::size_t>(packet.port) % links_.size()]->send(packet);
}

}  // namespace verbline::router
