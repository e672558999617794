// SPDX-License-Identifier: BSD-3-Clause
// XRC domains and targets that members of a node share.
#include <utility>

#include "control/hub/client.h"
#include "control/hub/conversation.h"

namespace verbline::hub {

Result<XrcDomainId> open_xrc_domain(const Lane& lane, int file, const OpenXrcDomain& how) {
    const auto answer = ask_for<XrcDomainOpened>(lane, how, file);
    if (!answer) return std::unexpected(answer.error());
    return answer->domain;
}

Result<void> close_xrc_domain(const Lane& lane, XrcDomainId domain) {
    return ask_for_done(lane, CloseXrcDomain{domain});
}

Result<wire::Qpn> create_xrc_target(const Lane& lane, XrcDomainId domain) {
    const auto answer = ask_for<XrcTargetMade>(lane, CreateXrcTarget{domain});
    if (!answer) return std::unexpected(answer.error());
    return answer->qpn;
}

Result<void> open_xrc_target(const Lane& lane, XrcDomainId domain, wire::Qpn target) {
    return ask_for_done(lane, OpenXrcTarget{domain, target});
}

Result<void> close_xrc_target(const Lane& lane, wire::Qpn target) {
    return ask_for_done(lane, CloseXrcTarget{target});
}

Result<void> set_xrc_target(const Lane& lane, const XrcTarget& target) {
    return ask_for_done(lane, target);
}

std::vector<XrcTarget> take_xrc_targets(const Lane& lane) {
    receive_news(lane.control, lane.news);
    return std::exchange(lane.news.xrc_targets, {});
}

void tell_xrc_target_taken(const Lane& lane, const XrcTarget& target) {
    say(lane, XrcTargetTaken{target.qpn, target.change});
}

}  // namespace verbline::hub
