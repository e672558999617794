// SPDX-License-Identifier: BSD-3-Clause
// What members of a node on a soft fabric ask of its subnet.
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "control/hub/client.h"
#include "control/hub/conversation.h"

namespace verbline::hub {
namespace {

Result<std::optional<SubnetPort>> ask_subnet_port(const FileDescriptor& control, std::string_view who, News& news) {
    const auto answer = ask(control, AskSubnetPort{}, who, news);
    if (!answer && answer.error().code == EOPNOTSUPP) return std::nullopt;
    if (!answer) return std::unexpected(answer.error());
    if (!std::holds_alternative<Done>(*answer) || !news.subnet.port) return unexpected_answer(who);
    return std::exchange(news.subnet.port, std::nullopt);
}

}  // namespace

Result<std::optional<SubnetPort>> ask_subnet_port(const Lane& lane) {
    return ask_subnet_port(lane.control, peer(lane), lane.news);
}

Result<std::optional<SubnetPort>> ask_subnet_port(std::string_view node) {
    const auto control = connect_to(node, ServerKind::node);
    if (!control) return std::unexpected(control.error());
    News news;
    return ask_subnet_port(*control, fmt::format("node `{}`", node), news);
}

bool ask_subnet(const Lane& lane, const SubnetQuestion& question) {
    return std::visit([&](const auto& each) { return say(lane, each); }, question);
}

std::optional<SubnetPort> take_subnet_port(const Lane& lane) {
    receive_news(lane.control, lane.news);
    return std::exchange(lane.news.subnet.port, std::nullopt);
}

SubnetNews take_subnet_news(const Lane& lane) {
    receive_news(lane.control, lane.news);
    return std::exchange(lane.news.subnet, {});
}

}  // namespace verbline::hub
