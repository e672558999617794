// SPDX-License-Identifier: BSD-3-Clause
// Direct links: the hub answers these requests by DirectNews.
#include <utility>

#include "control/hub/client.h"
#include "control/hub/conversation.h"

namespace verbline::hub {
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
