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
    if (lane.direct_news.empty()) return next_news(lane.control);
    auto first = std::move(lane.direct_news.front());
    lane.direct_news.erase(lane.direct_news.begin());
    return first;
}

void end_direct(const Lane& lane, DirectId link) {
    say(lane, DirectEnd{link});
}

}  // namespace verbline::hub
