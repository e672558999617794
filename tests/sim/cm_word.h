// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The language of an endpoint: which events may follow each other, given what its user has said. What is heard twice,
/// too early or after the end is no word of it; and who rests has heard all that had to come.

#include <cstdint>
#include <string_view>

#include "control/cm/event.h"
#include "control/cm/state.h"

namespace verbline::sim {

class CmWord {
public:
    enum class Kind : std::uint8_t { active, passive, peer, client, server, listener };
    enum class Said : std::uint8_t { reply, ready, reject, established, disconnect, load_alternate };

    explicit CmWord(Kind kind) : kind_(kind), stage_(kind == Kind::passive ? Stage::requested : Stage::asked) {}

    /// Why it may not come now; empty: it may.
    std::string_view hear(const cm::EndpointEvent& event);
    void say(Said said);

    Kind kind() const { return kind_; }
    bool is_established() const { return stage_ == Stage::established; }
    bool is_ended() const { return stage_ == Stage::ended; }
    bool must_answer() const { return stage_ == Stage::requested || stage_ == Stage::replied; }
    bool is_requested() const { return stage_ == Stage::requested; }
    bool is_replying() const { return stage_ == Stage::replying; }
    bool is_loading() const { return loading_; }
    bool is_leaving() const { return stage_ == Stage::leaving; }
    /// Another one for each other future.
    unsigned number() const {
        return static_cast<unsigned>(kind_) << 6 | static_cast<unsigned>(stage_) << 2 | loading_ << 1 |
               may_stay_silent_;
    }
    /// Nothing more has to come.
    bool rests() const;
    /// The machine's state that goes with rest.
    bool rests_in(cm::ConnectionState state) const;

private:
    enum class Stage : std::uint8_t { asked, requested, replied, replying, established, leaving, closing, ended };

    std::string_view hear_one(const cm::RequestReceived& event);
    std::string_view hear_one(const cm::ServiceRequestReceived& event);
    std::string_view hear_one(const cm::ReplyReceived& event);
    std::string_view hear_one(const cm::ServiceReplyReceived& event);
    std::string_view hear_one(const cm::Established& event);
    std::string_view hear_one(const cm::Delayed& event);
    std::string_view hear_one(const cm::Rejected& event);
    std::string_view hear_one(const cm::DisconnectRequested& event);
    std::string_view hear_one(const cm::Disconnected& event);
    std::string_view hear_one(const cm::TimewaitExited& event);
    std::string_view hear_one(const cm::Unanswered& event);
    std::string_view hear_one(const cm::AlternateRequested& event);
    std::string_view hear_one(const cm::AlternateReplied& event);
    std::string_view move(bool allowed, Stage next, std::string_view otherwise);
    bool connects() const { return kind_ == Kind::active || kind_ == Kind::peer; }

    Kind kind_;
    Stage stage_;
    bool loading_ = false;          ///< an alternate path is proposed
    bool may_stay_silent_ = false;  ///< it closed without TIMEWAIT, or with
};

std::string_view name(const cm::EndpointEvent& event);

}  // namespace verbline::sim
