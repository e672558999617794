// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/xrc_relay.h"

#include <utility>

namespace verbline::node {
namespace {

link::MemberId member_of(const XrcRequest& request) {
    return link::member_of(wire::Qpn{request.shared_queue});  // numbered like queue pairs
}

constexpr bool is_ack(const wire::Aeth& aeth) {
    return aeth.kind == wire::AethKind::ack;
}

/// The NAKs after which a connection is over (IBTA volume 1, 9.7.5.2.2).
constexpr bool is_fatal(const wire::Aeth& aeth) {
    return aeth.kind == wire::AethKind::nak && aeth.value != static_cast<std::uint8_t>(wire::NakCode::psn_sequence);
}

}  // namespace

void XrcRelay::join(link::MemberId member, bool ready) {
    auto& leg = legs_.try_emplace(member, Leg{.next = first_}).first->second;
    leg.ready |= ready;
}

std::optional<XrcRelay::Decision> XrcRelay::leave(link::MemberId member) {
    if (legs_.erase(member) == 0) return std::nullopt;
    const auto* const span = current();
    const bool awaited = span != nullptr && span->member == member && !all_answered();
    // It may come back, with a leg that begins anew.
    for (std::size_t index = 0; index < spans_used_; ++index)
        if (at(index).member == member) at(index).member = link::node_itself;
    if (!awaited || failed()) return std::nullopt;
    // What was under way may have been executed, or not.
    expected_ = answered_;
    return fail(wire::NakCode::remote_operational);
}

XrcRelay::Decision XrcRelay::receive(const XrcRequest& request, bool may_hold) {
    if (failed()) return {.verdict = Verdict::drop};
    if (request.psn - expected_ < 0) return repeat(request);
    const auto behind_held = request.psn - (expected_ + held_psns_);
    if (behind_held < 0) return {.verdict = Verdict::drop};
    if (behind_held > 0) return report_gap(request.psn);
    gap_reported_ = false;
    if (held_ == 0) {
        const auto decision = admit(request);
        if (decision.verdict != Verdict::hold) return decision;
    }
    if (held_ == most_held || !may_hold) return {.verdict = Verdict::drop_full};
    ++held_;
    held_psns_ += request.psns;
    return {.verdict = Verdict::hold};
}

XrcRelay::Decision XrcRelay::release(const XrcRequest& oldest) {
    auto decision = failed() ? Decision{.verdict = Verdict::drop} : admit(oldest);
    if (decision.verdict == Verdict::hold) return decision;
    --held_;
    held_psns_ -= oldest.psns;
    return decision;
}

/// Of a request with the expected PSN.
XrcRelay::Decision XrcRelay::admit(const XrcRequest& request) {
    const auto member = member_of(request);
    auto* span = current();
    const bool same = span != nullptr && span->member == member && legs_.contains(member);
    // The packets of a message are for one queue (A14), and nothing comes between them.
    if (within_message_ && !same) return fail(wire::NakCode::invalid_request);
    if (!same) {
        if (!all_answered()) return {.verdict = Verdict::hold};
        const auto leg = legs_.find(member);
        if (leg == legs_.end()) return fail(wire::NakCode::invalid_request);
        if (!leg->second.ready) return {.verdict = Verdict::hold};
        begin_span(member);
        span = current();
    }
    return pass(*span, request);
}

XrcRelay::Decision XrcRelay::pass(Span& span, const XrcRequest& request) {
    const auto psn = span.leg_begin + span.psns;
    span.psns += request.psns;
    legs_.at(span.member).next = span.leg_begin + span.psns;
    expected_ = expected_ + request.psns;
    within_message_ = !request.last;
    return {.verdict = Verdict::pass, .member = span.member, .psn = psn};
}

void XrcRelay::begin_span(link::MemberId member) {
    if (spans_used_ == most_spans) {
        first_span_ = (first_span_ + 1) % most_spans;
        --spans_used_;
    }
    const auto& leg = legs_.at(member);
    at(spans_used_++) = {
        .member = member, .begin = expected_, .leg_begin = leg.next, .psns = 0, .msn = msn_, .leg_msn = leg.msn};
}

/// A duplicate: its leg recognises it, and answers again.
XrcRelay::Decision XrcRelay::repeat(const XrcRequest& request) const {
    for (auto index = spans_used_; index-- > 0;) {
        const auto& span = at(index);
        const auto within = request.psn - span.begin;
        if (within < 0) continue;
        if (!legs_.contains(span.member)) return {.verdict = Verdict::drop};
        return {.verdict = Verdict::pass,
                .member = span.member,
                .psn = span.leg_begin + static_cast<std::uint32_t>(within)};
    }
    // So old that its span is not known any more. All of it has been executed, and an ACK tells so.
    if (request.repeatable) return {.verdict = Verdict::drop};
    return tell(wire::AethKind::ack, wire::credits_invalid, answered_ + 0xff'ffff);
}

/// Once for each gap; PSNs that step back tell that what was sent again is lost again.
XrcRelay::Decision XrcRelay::report_gap(wire::Psn ahead) {
    const bool again = std::exchange(last_ahead_, ahead) - ahead >= 0;
    if (std::exchange(gap_reported_, true) && !again) return {.verdict = Verdict::drop};
    // A NAK acknowledges all before its PSN, of which some may not have been answered: those are to be sent again, too.
    return tell(wire::AethKind::nak, static_cast<std::uint8_t>(wire::NakCode::psn_sequence), answered_);
}

XrcRelay::Decision XrcRelay::fail(wire::NakCode code) {
    failure_ = code;
    return tell(wire::AethKind::nak, static_cast<std::uint8_t>(code), expected_);
}

XrcRelay::Decision XrcRelay::tell(wire::AethKind kind, std::uint8_t value, wire::Psn psn) const {
    return {.verdict = Verdict::answer, .psn = psn, .aeth = {.kind = kind, .value = value, .msn = msn_}};
}

std::optional<XrcRelay::Relayed> XrcRelay::answer(link::MemberId member, const XrcResponse& response) {
    if (failed()) return std::nullopt;
    for (auto index = spans_used_; index-- > 0;) {
        const auto& span = at(index);
        const auto within = response.psn - span.leg_begin;
        if (span.member != member || within < 0 || within >= static_cast<std::int32_t>(span.psns)) continue;
        const auto psn = span.begin + static_cast<std::uint32_t>(within);
        if (is_current(span)) {
            note_answer(span, response, psn);
        } else if (response.aeth && !is_ack(*response.aeth)) {
            return std::nullopt;  // late: what it refused was executed since
        }
        return Relayed{.psn = psn, .msn = response.aeth ? std::optional(msn_) : std::nullopt};
    }
    return std::nullopt;
}

void XrcRelay::note_answer(const Span& span, const XrcResponse& response, wire::Psn psn) {
    const auto through = !response.aeth || is_ack(*response.aeth) ? psn + 1 : psn;
    if (through - answered_ > 0) answered_ = through;
    if (!response.aeth) return;
    const auto msn_mask = 0xff'ffffu;
    const auto completed = (response.aeth->msn - span.leg_msn) & msn_mask;
    if (auto& leg = legs_.at(span.member); ((response.aeth->msn - leg.msn) & msn_mask) < 0x80'0000u) {
        leg.msn = response.aeth->msn;
        msn_ = (span.msn + completed) & msn_mask;
    }
    if (is_fatal(*response.aeth)) failure_ = static_cast<wire::NakCode>(response.aeth->value);
}

}  // namespace verbline::node
