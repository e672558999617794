// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/request_table.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace verbline::verbs {
namespace {

/// For an acknowledgement, where the program gives no time: as the kernel, which does not know the path's either.
constexpr Time longest_acknowledgement = 2 * second;

Time timeout_of(const Outgoing& message) {
    return Time{message.timeout_ms} * millisecond;
}

mad::MadBuffer single_mad(const Outgoing& message) {
    mad::MadBuffer mad{};
    std::copy_n(message.mad.begin(), std::min(message.mad.size(), mad.size()), mad.begin());
    return mad;
}

}  // namespace

Result<void> RequestTable::add(const RequestKey& key, const MadAgent& agent, Outgoing message, bool segmented, Time now,
                               Actions& out) {
    if (requests_.contains(key)) return failure(EINVAL, "the same request is under way");
    if (requests_.size() >= most) return failure(ENOMEM, "too many requests");
    Request request{
        .file = agent.file, .qpn = agent.registration.qpn, .message = std::move(message), .segments = std::nullopt};
    request.retries_left = request.message.retries;
    RmppSender::Segments segments;
    if (segmented) {
        const auto asked = timeout_of(request.message);
        const auto timeout = asked == 0 ? longest_acknowledgement : std::min(asked, longest_acknowledgement);
        constexpr unsigned retries = 3;  // of segments, where the program allows none of the request
        request.segments.emplace(request.message.mad, timeout, std::max<unsigned>(request.message.retries, retries));
        request.segments->start(now, segments);
        request.due = request.segments->due();
    } else {
        segments.push_back(single_mad(request.message));
        request.due = now + timeout_of(request.message);
    }
    transmit(request, segments, out);
    if (segmented || request.message.timeout_ms != 0) requests_.emplace(key, std::move(request));
    return {};
}

void RequestTable::transmit(const Request& request, const RmppSender::Segments& segments, Actions& out) {
    for (const auto& segment : segments)
        out.transmissions.push_back({.qpn = request.qpn,
                                     .to = request.message.to,
                                     .mad = segment,
                                     .reply_within = timeout_of(request.message)});
}

bool RequestTable::answered(const RequestKey& key) {
    return requests_.erase(key) != 0;
}

void RequestTable::progressed(const RequestKey& key, Time until) {
    const auto found = requests_.find(key);
    if (found == requests_.end()) return;
    found->second.due = until;
    found->second.retries_left = 0;
}

/// Returns false if nothing is left to do.
bool RequestTable::advance(Request& request, RmppSender::State state, Time now, Actions& out) {
    if (state == RmppSender::State::failed) {
        expire(request, out);
        return false;
    }
    request.due = request.segments->due();
    if (state == RmppSender::State::sending) return true;
    request.segments.reset();
    request.due = now + timeout_of(request.message);
    request.retries_left = 0;  // the far end has it
    return request.message.timeout_ms != 0;
}

void RequestTable::acknowledged(const RequestKey& key, const wire::Rmpp& answer, Time now, Actions& out) {
    const auto found = requests_.find(key);
    if (found == requests_.end() || !found->second.segments) return;
    RmppSender::Segments segments;
    const auto state = found->second.segments->answered(answer, now, segments);
    transmit(found->second, segments, out);
    if (!advance(found->second, state, now, out)) requests_.erase(found);
}

/// The kernel hands the program the MAD's header alone (IB_MGMT_MAD_HDR), with the status of the failure.
void RequestTable::expire(const Request& request, Actions& out) {
    const auto& message = request.message;
    out.expired.push_back({.file = request.file,
                           .message = {.agent = message.agent,
                                       .status = ETIMEDOUT,
                                       .timeout_ms = message.timeout_ms,
                                       .retries = message.retries,
                                       .from = message.to,
                                       .mad = {message.mad.begin(),
                                               message.mad.begin() + static_cast<std::ptrdiff_t>(wire::Mad::size)}}});
}

void RequestTable::tick(Time now, Actions& out) {
    for (auto at = requests_.begin(); at != requests_.end();) {
        auto& request = at->second;
        bool stays = true;
        RmppSender::Segments segments;
        if (now < request.due) {
        } else if (request.segments) {
            const auto state = request.segments->tick(now, segments);
            stays = advance(request, state, now, out);
        } else if (request.retries_left > 0) {
            --request.retries_left;
            request.due = now + timeout_of(request.message);
            segments.push_back(single_mad(request.message));
        } else {
            expire(request, out);
            stays = false;
        }
        transmit(request, segments, out);
        at = stays ? std::next(at) : requests_.erase(at);
    }
}

std::optional<Time> RequestTable::deadline() const {
    if (requests_.empty()) return std::nullopt;
    return std::ranges::min_element(requests_, {}, [](const auto& each) { return each.second.due; })->second.due;
}

void RequestTable::remove(AgentTid agent) {
    std::erase_if(requests_, [&](const auto& each) { return each.first.agent == agent; });
}

}  // namespace verbline::verbs
