// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_users.h"

// What users are told, and whether it can be true.

namespace verbline::sim {

using Kind = CmWord::Kind;

void CmUsers::told(CmUser& user) {
    if (std::exchange(user.lazy, true)) return;
    later(user, scene_.plan.laziness, [this](CmUser& one) { drain(one); });
}

void CmUsers::drain(CmUser& user) {
    user.lazy = false;
    // Its own answer to an event may drop the endpoint.
    while (user.endpoint) {
        const Time behind = scene_.random.chance(0.5) ? scene_.about(scene_.plan.skew) : 0;
        auto event = user.endpoint->poll(now() - behind);
        if (!event) {
            user.told = false;
            break;
        }
        hear(user, *event);
    }
    node(user).watch();
}

void CmUsers::hear(CmUser& user, cm::EndpointEvent& event) {
    scene_.say("user {} hears {}", user.number, name(event));
    if (const auto wrong = user.word.hear(event); !wrong.empty()) {
        return scene_.blame("user {} hears {}: {}", user.number, name(event), wrong);
    }
    user.remote = user.endpoint->remote_id();
    if (auto* const request = std::get_if<cm::RequestReceived>(&event)) return hear_request(user, *request);
    if (auto* const question = std::get_if<cm::ServiceRequestReceived>(&event)) return hear_question(user, *question);
    if (const auto* const reply = std::get_if<cm::ReplyReceived>(&event)) return hear_reply(user, *reply);
    if (const auto* const made = std::get_if<cm::Established>(&event)) return hear_established(user, *made);
    if (const auto* const answer = std::get_if<cm::ServiceReplyReceived>(&event)) return hear_answer(user, *answer);
    if (std::holds_alternative<cm::AlternateRequested>(event)) return hear_proposal(user);
    if (const auto* const nobody = std::get_if<cm::Unanswered>(&event)) hear_unanswered(user, *nobody);
    if (!std::holds_alternative<cm::Delayed>(event)) hear_end(user, event);
}

/// `listener` is the endpoint itself if that is a peer who becomes passive.
void CmUsers::hear_request(CmUser& listener, cm::RequestReceived& event) {
    const bool match = listener.word.kind() == Kind::peer;
    if (match != (event.endpoint == listener.endpoint)) return scene_.blame("a request with a wrong endpoint");
    auto& user = match ? listener : scene_.add_user(listener.node, Kind::passive);
    const auto& request = event.request;
    const auto asker = read_stamp(request.private_data).own;
    if (asker == 0 || asker > scene_.users.size()) return scene_.blame("a request of nobody");
    const auto& active = scene_.user(asker);
    if (request.qpn != active.qpn || request.psn != active.psn || request.transport != active.transport ||
        request.service != active.service || request.primary.local_gid != gid_of(user.node) ||
        request.primary.remote_gid != gid_of(active.node)) {
        return scene_.blame("user {} is not asked what user {} has asked", user.number, asker);
    }
    user.peer = asker;
    user.remote_qpn = request.qpn;
    user.remote_psn = request.psn;
    user.transport = request.transport;
    if (!match) {
        node(user).belongs(user, std::move(event.endpoint));
        user.qpn = node(user).take_qpn();
        user.psn = wire::Psn(static_cast<std::uint32_t>(scene_.random.next()));
    }
    user.remote = user.endpoint->remote_id();
    scene_.say("user {} on node {} is asked by user {}", user.number, user.node, asker);
    plan_change_of_mind(user);
    answer(user);
}

void CmUsers::hear_question(CmUser& listener, cm::ServiceRequestReceived& event) {
    auto& user = scene_.add_user(listener.node, Kind::server);
    const auto asker = read_stamp(event.request.private_data).own;
    if (asker == 0 || asker > scene_.users.size() || scene_.user(asker).service != event.request.service) {
        return scene_.blame("a question of nobody");
    }
    user.peer = asker;
    user.qpn = wire::Qpn{user.number};
    node(user).belongs(user, std::move(event.endpoint));
    later(user, scene_.plan.thought, [this](CmUser& server) {
        if (!scene_.random.chance(0.3)) {
            expect(server, "respond",
                   server.endpoint->respond({.qpn = server.qpn, .private_data = stamp(server)}, now()));
        }
        drop(server);
    });
}

void CmUsers::hear_answer(CmUser& user, const cm::ServiceReplyReceived& event) {
    ++scene_.summary.resolved;
    const auto from = read_stamp(event.reply.private_data);
    if (event.reply.status != wire::SidrStatus::valid || scene_.plan.amnesia) return;
    if (from.other != user.number || event.reply.qpn != wire::Qpn{from.own}) {
        scene_.blame("user {} is answered what it has not asked", user.number);
    }
}

void CmUsers::hear_reply(CmUser& user, const cm::ReplyReceived& event) {
    const auto from = read_stamp(event.reply.private_data);
    if (from.other != user.number && !scene_.plan.amnesia) {
        return scene_.blame("user {} hears a reply to user {}", user.number, from.other);
    }
    user.peer = from.own;
    const auto& passive = scene_.user(user.peer);
    user.remote_qpn = event.reply.qpn;
    user.remote_psn = event.reply.psn;
    if ((event.reply.qpn != passive.qpn || event.reply.psn != passive.psn) && !scene_.plan.amnesia) {
        return scene_.blame("user {} is not told what user {} has replied", user.number, user.peer);
    }
    answer(user);
}

void CmUsers::hear_established(CmUser& user, const cm::Established& event) {
    ++scene_.summary.established;
    const auto from = read_stamp(event.private_data);
    // A repeated RTU carries none.
    if (from.own != 0 && (from.own != user.peer || from.other != user.number) && !scene_.plan.amnesia) {
        return scene_.blame("user {} is established by user {}", user.number, from.own);
    }
    live(user);
}

void CmUsers::hear_unanswered(const CmUser& user, const cm::Unanswered& event) {
    ++scene_.summary.unanswered;
    if (!scene_.plan.calm() || user.word.kind() == Kind::peer) return;
    scene_.blame("user {} is not answered, though the network loses little ({})", user.number,
                 static_cast<int>(event.what));
}

void CmUsers::hear_end(CmUser& user, const cm::EndpointEvent& event) {
    if (std::holds_alternative<cm::Rejected>(event)) ++scene_.summary.rejected;
    if (std::holds_alternative<cm::AlternateReplied>(event)) ++scene_.summary.paths;
    if (const auto* const end = std::get_if<cm::Disconnected>(&event)) {
        if (end->timed_out && scene_.plan.calm()) scene_.blame("user {}: nobody answers its DREQ", user.number);
    }
    if (user.word.is_ended()) {
        // From now on the queue pair's number may be used again.
        node(user).give_back(user.qpn);
        return drop(user);
    }
    if (scene_.random.chance(scene_.plan.drops)) return drop(user);
    // Done already, which is as good as if it had to be done.
    if (std::holds_alternative<cm::DisconnectRequested>(event) && scene_.random.chance(0.5)) disconnect(user);
}

void CmUsers::hear_proposal(CmUser& user) {
    later(user, scene_.plan.thought, [this](CmUser& one) {
        if (!one.word.is_established()) return;
        auto& endpoint = *one.endpoint;
        if (scene_.random.chance(0.2)) expect(one, "delay", endpoint.delay(20, {}, now()));
        expect(one, "reply_alternate", endpoint.reply_alternate({.status = wire::AprStatus::loaded}, now()));
    });
}

}  // namespace verbline::sim
