// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An XRC target queue pair that processes of a node share (IBTA volume 1, annex A14): which of them a request is for,
/// under which PSN, and what their answers mean to the peer.
///
///                        ┌──── XrcRelay ────┐  leg of member 5: SRQ 5/1 ... PSNs of its own
///     peer's XRC         │ PSN, MSN of the  │──>  an XRC target in that process, which executes, answers ACK, NAK,
///     initiator <──────> │ connection       │<──  RNR NAK and READ responses
///                        │                  │
///                        └──────────────────┘  leg of member 6: SRQ 6/1 ...
///
/// The number of the shared receive queue, in each request packet, names the member (link/member.h); the order is the
/// connection's. Each member has an ordinary XRC target of the same QPN, its leg, which knows nothing of the others.
/// Requests for one member in a row are a span: their PSNs on the leg differ from the connection's by a constant, and
/// so do MSNs. All else is the leg's: receive requests, keys, duplicates, READs, atomics.
///
/// A span begins when all before it has been answered: so messages arrive in order even across processes, an answer
/// of one acknowledges nothing of another (9.7.5.1), and of NAKs and RNR NAKs only the numbers have to be changed.
/// Until then requests are held, in order, by the caller. The peer repeats what is lost on either way, and by its span
/// a duplicate finds its leg again, whose answer to it is the one that was lost.
///
/// A pure state machine.

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "datapath/link/member.h"
#include "datapath/wire/aeth.h"
#include "datapath/wire/types.h"

namespace verbline::node {

/// A request packet to the target, as its headers tell.
struct XrcRequest {
    wire::Psn psn;
    std::uint32_t psns = 1;          ///< that it takes: those of its response, for a READ
    std::uint32_t shared_queue = 0;  ///< of its XRCETH
    bool last = true;                ///< of its message
    bool repeatable = false;         ///< a READ or an atomic, whose response no ACK replaces
};

/// A leg's answer. READ responses in the middle have no AETH.
struct XrcResponse {
    wire::Psn psn;
    std::optional<wire::Aeth> aeth;
};

class XrcRelay {
public:
    static constexpr std::size_t most_held = 256;  ///< requests

    enum class Verdict : std::uint8_t {
        pass,       ///< to the member
        hold,       ///< behind those held already; `release` gives the order to send it
        drop,       ///< a duplicate of one held, behind a gap that was reported, or after the target's failure
        drop_full,  ///< too many are held
        answer,     ///< dropped, and the peer gets this answer
    };
    struct Decision {
        Verdict verdict{};
        link::MemberId member{};  ///< pass
        wire::Psn psn;            ///< pass: on the leg; answer: the connection's
        wire::Aeth aeth;          ///< answer
    };
    /// An answer of a leg as the peer gets it.
    struct Relayed {
        wire::Psn psn;
        std::optional<std::uint32_t> msn;  ///< none where there is no AETH
    };

    /// `first`: the PSN expected in the first request.
    explicit XrcRelay(wire::Psn first) : first_(first), expected_(first), answered_(first) {}

    // After each of `join`, `leave` and `answer` the oldest request held may have its turn: `release`.

    /// A member has a leg, which expects `first`, too. Until it is `ready` requests for it are held.
    void join(link::MemberId member, bool ready);
    /// The member is gone. If requests were under way to it the peer gets this answer, and the connection is over.
    std::optional<Decision> leave(link::MemberId member);

    /// `may_hold`: the caller has room for one more.
    Decision receive(const XrcRequest& request, bool may_hold = true);
    /// None: it answers nothing that was asked.
    std::optional<Relayed> answer(link::MemberId member, const XrcResponse& response);
    /// The oldest request held: `hold` if it has to wait, else it is held no more, and the next one may be asked for.
    Decision release(const XrcRequest& oldest);

    bool has(link::MemberId member) const { return legs_.contains(member); }
    bool failed() const { return failure_.has_value(); }
    /// The NAK that ended the connection.
    wire::NakCode failure() const { return failure_.value_or(wire::NakCode::invalid_request); }

private:
    static constexpr std::size_t most_spans = 256;

    struct Leg {
        wire::Psn next;         ///< PSN of its next request
        std::uint32_t msn = 0;  ///< as of its last answer
        bool ready = false;
    };
    /// Requests in a row for one member.
    struct Span {
        link::MemberId member{};
        wire::Psn begin, leg_begin;
        std::uint32_t psns = 0;
        std::uint32_t msn = 0, leg_msn = 0;  ///< when it began
    };

    Decision admit(const XrcRequest& request);
    Decision pass(Span& span, const XrcRequest& request);
    Decision repeat(const XrcRequest& request) const;
    Decision report_gap(wire::Psn ahead);
    Decision fail(wire::NakCode code);
    Decision tell(wire::AethKind kind, std::uint8_t value, wire::Psn psn) const;
    void begin_span(link::MemberId member);
    bool all_answered() const { return answered_ - expected_ == 0; }
    bool is_current(const Span& span) const { return spans_used_ != 0 && &span == &at(spans_used_ - 1); }
    const Span& at(std::size_t index) const { return spans_[(first_span_ + index) % most_spans]; }
    Span& at(std::size_t index) { return spans_[(first_span_ + index) % most_spans]; }
    Span* current() { return spans_used_ != 0 ? &at(spans_used_ - 1) : nullptr; }
    void note_answer(const Span& span, const XrcResponse& response, wire::Psn psn);

    wire::Psn first_;
    wire::Psn expected_;  ///< of the next request that is not held
    wire::Psn answered_;  ///< all before it
    std::uint32_t held_psns_ = 0;
    std::size_t held_ = 0;
    std::uint32_t msn_ = 0;
    bool within_message_ = false;
    bool gap_reported_ = false;
    wire::Psn last_ahead_;  ///< the latest behind a gap
    std::optional<wire::NakCode> failure_;
    std::map<link::MemberId, Leg> legs_;
    std::array<Span, most_spans> spans_{};  ///< a ring
    std::size_t first_span_ = 0, spans_used_ = 0;
};

}  // namespace verbline::node
