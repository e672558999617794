// SPDX-License-Identifier: BSD-3-Clause
// Direct links: the hub answers these requests by DirectNews.
#include <utility>

#include <sys/socket.h>

#include "control/hub/client.h"
#include "control/hub/conversation.h"
#include "control/hub/protocol.h"

namespace verbline::hub {
namespace {

bool say(const Lane& lane, const Message& message) {
    const auto bytes = encode(message);
    const auto sends = [&] {
        return send(lane.control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    return uninterrupted(sends) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

bool ask_direct(const Lane& lane, wire::MacAddress peer) {
    return say(lane, Direct{peer});
}

std::optional<DirectNews> take_direct_news(const Lane& lane) {
    auto& direct = lane.news.direct;
    if (direct.empty()) receive_news(lane.control, lane.news);
    if (direct.empty()) return std::nullopt;
    auto first = std::move(direct.front());
    direct.erase(direct.begin());
    return first;
}

void end_direct(const Lane& lane, DirectId link) {
    say(lane, DirectEnd{link});
}

}  // namespace verbline::hub
