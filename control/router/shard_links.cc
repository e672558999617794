// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/shard_links.h"

namespace verbline::router {

Result<std::unique_ptr<ShardLinks>> ShardLinks::create(control::Loop& loop, const std::string& name,
                                                       std::uint16_t count, const ShardLink::Handler& handler) {
    const std::vector<int> anywhere(count, pmd::any_numa_socket);
    return create(loop, name, anywhere, handler);
}

Result<std::unique_ptr<ShardLinks>> ShardLinks::create(control::Loop& loop, const std::string& name,
                                                       std::span<const int> sockets,
                                                       const ShardLink::Handler& handler) {
    std::vector<std::unique_ptr<ShardLink>> links;
    for (const int socket : sockets) {
        auto link = ShardLink::create(loop, name + std::to_string(links.size()), handler, socket);
        if (!link) return std::unexpected(link.error());
        links.push_back(std::move(*link));
    }
    return std::unique_ptr<ShardLinks>(new ShardLinks(std::move(links)));
}

}  // namespace verbline::router
