// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What users do with their endpoints: they ask, listen, poll when told, sooner or later, answer this or that, change
/// their minds; and what they check while they do it.

#include <functional>

#include "tests/sim/cm_node.h"

namespace verbline::sim {

class CmUsers {
public:
    explicit CmUsers(CmScene& scene) : scene_(scene) {}

    // What begins something.

    void listen(unsigned node);
    /// A connection, a pair of peers, or a question for a datagram service.
    void begin(unsigned node);

    /// It has been told that there is something.
    void told(CmUser& user);
    /// Polls until there is nothing.
    void drain(CmUser& user);
    void disconnect(CmUser& user);
    void drop(CmUser& user) { scene_.nodes[user.node]->drop(user); }

    /// Both know each other, agree in everything, and are established.
    bool mutual(const CmUser& user);

private:
    // cm_users_ask.cc
    void connect(unsigned from, unsigned to, wire::CmServiceId service, bool peer_to_peer);
    void resolve(unsigned from, unsigned to);
    cm::Request make_request(const CmUser& user, unsigned to);
    void plan_change_of_mind(CmUser& user);
    void make_mistake(CmUser& user);

    // cm_users_hear.cc
    void hear(CmUser& user, cm::EndpointEvent& event);
    void hear_request(CmUser& listener, cm::RequestReceived& event);
    void hear_question(CmUser& listener, cm::ServiceRequestReceived& event);
    void hear_reply(CmUser& user, const cm::ReplyReceived& event);
    void hear_established(CmUser& user, const cm::Established& event);
    void hear_answer(CmUser& user, const cm::ServiceReplyReceived& event);
    void hear_end(CmUser& user, const cm::EndpointEvent& event);
    void hear_unanswered(const CmUser& user, const cm::Unanswered& event);
    void hear_proposal(CmUser& user);

    // cm_users_answer.cc
    void answer(CmUser& user);
    void reply(CmUser& user);
    void ready_to_use(CmUser& user);
    void reject(CmUser& user);
    void delay(CmUser& user);
    void live(CmUser& user);
    void notice_traffic(CmUser& user);
    void propose(CmUser& user);

    cm::PrivateData stamp(const CmUser& user) const;
    void expect(const CmUser& user, const char* call, const Result<void>& result);
    /// Later, if it still has its endpoint then.
    void later(CmUser& user, Time most, std::function<void(CmUser&)> act);
    CmNode& node(const CmUser& user) { return *scene_.nodes[user.node]; }
    Time now() const { return scene_.agenda.now(); }

    CmScene& scene_;
};

/// The two numbers that private data carries: whose it is, and whose it answers; 0: none.
struct CmStamp {
    unsigned own = 0, other = 0;
};
CmStamp read_stamp(const cm::PrivateData& data);

/// Of a pair of nodes that ask each other; every other id below 0x1000 has listeners.
constexpr wire::CmServiceId peer_service{0x5000};

}  // namespace verbline::sim
