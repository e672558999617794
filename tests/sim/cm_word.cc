// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_word.h"

#include <array>
#include <utility>
#include <variant>

namespace verbline::sim {

using cm::ConnectionState;

std::string_view name(const cm::EndpointEvent& event) {
    constexpr std::array<std::string_view, std::variant_size_v<cm::EndpointEvent>> names{
        "RequestReceived", "ServiceRequestReceived",
        "ReplyReceived",   "ServiceReplyReceived",
        "Established",     "Delayed",
        "Rejected",        "DisconnectRequested",
        "Disconnected",    "TimewaitExited",
        "Unanswered",      "AlternateRequested",
        "AlternateReplied"};
    return names[event.index()];
}

std::string_view CmWord::hear(const cm::EndpointEvent& event) {
    return std::visit([this](const auto& one) { return hear_one(one); }, event);
}

void CmWord::say(Said said) {
    switch (said) {
        case Said::reply: stage_ = Stage::replying; break;
        case Said::ready:
        case Said::established: stage_ = Stage::established; break;
        case Said::reject: stage_ = Stage::ended; break;
        case Said::disconnect:
            if (stage_ == Stage::established) stage_ = Stage::leaving;
            loading_ = false;
            break;
        case Said::load_alternate: loading_ = true; break;
    }
}

bool CmWord::rests() const {
    if (kind_ == Kind::listener || kind_ == Kind::server) return true;
    if (stage_ == Stage::established) return !loading_;
    return stage_ == Stage::ended || (stage_ == Stage::closing && may_stay_silent_);
}

bool CmWord::rests_in(ConnectionState state) const {
    if (kind_ == Kind::listener) return state == ConnectionState::listen;
    if (kind_ == Kind::server) return state == ConnectionState::idle || state == ConnectionState::sidr_req_received;
    return state == (stage_ == Stage::established ? ConnectionState::established : ConnectionState::idle);
}

std::string_view CmWord::move(bool allowed, Stage next, std::string_view otherwise) {
    if (!allowed) return otherwise;
    stage_ = next;
    if (next == Stage::closing) loading_ = false;
    return {};
}

std::string_view CmWord::hear_one(const cm::RequestReceived&) {
    if (kind_ == Kind::listener) return {};
    return move(kind_ == Kind::peer && stage_ == Stage::asked, Stage::requested, "no peer that waits");
}
std::string_view CmWord::hear_one(const cm::ServiceRequestReceived&) {
    return kind_ == Kind::listener ? "" : "no listener";
}
std::string_view CmWord::hear_one(const cm::ReplyReceived&) {
    return move(connects() && stage_ == Stage::asked, Stage::replied, "nothing is asked, or it was answered");
}
std::string_view CmWord::hear_one(const cm::ServiceReplyReceived&) {
    return move(kind_ == Kind::client && stage_ == Stage::asked, Stage::ended, "nothing is asked, or it was answered");
}
std::string_view CmWord::hear_one(const cm::Established&) {
    return move(stage_ == Stage::replying, Stage::established, "nothing was accepted, or it is established already");
}
std::string_view CmWord::hear_one(const cm::Delayed&) {
    const bool asks = stage_ == Stage::asked && connects();
    return asks || stage_ == Stage::replying || (stage_ == Stage::established && loading_) ? "" : "nothing to wait for";
}

std::string_view CmWord::hear_one(const cm::Rejected& event) {
    // A queue pair that shows up anew ends what is not established without TIMEWAIT.
    may_stay_silent_ = event.rejection.reason == wire::CmRejectReason::stale_connection;
    const bool used = stage_ == Stage::replied || stage_ == Stage::established;
    const bool asks = stage_ == Stage::asked && connects();
    return move(used || asks || stage_ == Stage::requested || stage_ == Stage::replying,
                used ? Stage::closing : Stage::ended, "it is over already");
}
std::string_view CmWord::hear_one(const cm::DisconnectRequested&) {
    const bool open = stage_ == Stage::replying || stage_ == Stage::replied || stage_ == Stage::established;
    return move(open, Stage::closing, "it is not open");
}
std::string_view CmWord::hear_one(const cm::Disconnected&) {
    // Established: it was found stale, and closed itself.
    return move(stage_ == Stage::leaving || stage_ == Stage::established, Stage::closing, "nobody disconnects");
}
std::string_view CmWord::hear_one(const cm::TimewaitExited&) {
    return move(stage_ == Stage::closing, Stage::ended, "it is not closing");
}

std::string_view CmWord::hear_one(const cm::Unanswered& event) {
    using What = cm::Unanswered::What;
    constexpr std::string_view otherwise = "nothing of this kind is waited for";
    switch (event.what) {
        case What::request: return move(connects() && stage_ == Stage::asked, Stage::ended, otherwise);
        case What::reply: return move(stage_ == Stage::replying, Stage::ended, otherwise);
        case What::service_request:
            return move(kind_ == Kind::client && stage_ == Stage::asked, Stage::ended, otherwise);
        case What::alternate_path: return move(std::exchange(loading_, false), stage_, otherwise);
    }
    return "of no kind";
}

std::string_view CmWord::hear_one(const cm::AlternateRequested&) {
    return stage_ == Stage::established && !loading_ ? "" : "it is not established, or proposes a path itself";
}
std::string_view CmWord::hear_one(const cm::AlternateReplied&) {
    return move(stage_ == Stage::established && std::exchange(loading_, false), stage_, "no path is proposed");
}

}  // namespace verbline::sim
