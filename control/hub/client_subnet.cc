// SPDX-License-Identifier: BSD-3-Clause
// What members of a node on a soft fabric ask of its subnet.
#include <cerrno>
#include <utility>

#include "control/hub/client.h"
#include "control/hub/conversation.h"

namespace verbline::hub {

Result<std::optional<SubnetPort>> ask_subnet_port(const Lane& lane) {
    if (const auto asked = ask_for_done(lane, AskSubnetPort{}); !asked) {
        if (asked.error().code == EOPNOTSUPP) return std::nullopt;
        return std::unexpected(asked.error());
    }
    if (!lane.news.subnet.port) return unexpected_answer(peer(lane));
    return std::exchange(lane.news.subnet.port, std::nullopt);
}

bool ask_subnet(const Lane& lane, const SubnetQuestion& question) {
    return std::visit([&](const auto& each) { return say(lane, each); }, question);
}

SubnetNews take_subnet_news(const Lane& lane) {
    receive_news(lane.control, lane.news);
    return std::exchange(lane.news.subnet, {});
}

}  // namespace verbline::hub
