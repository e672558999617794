// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_users.h"

// What users answer, and what they do with a connection that stands.

namespace verbline::sim {

using Kind = CmWord::Kind;
using Said = CmWord::Said;

/// To a request or a reply: now or later, this or that.
void CmUsers::answer(CmUser& user) {
    if (scene_.random.chance(0.15)) delay(user);
    later(user, scene_.plan.thought, [this](CmUser& one) {
        if (!one.word.must_answer()) return;  // the peer has thought better of it
        if (scene_.random.chance(scene_.plan.drops / 2)) {
            ++scene_.summary.dropped;
            return drop(one);
        }
        if (scene_.random.chance(0.1)) return reject(one);
        if (one.word.is_requested()) return reply(one);
        ready_to_use(one);
    });
}

void CmUsers::delay(CmUser& user) {
    expect(user, "delay", user.endpoint->delay(static_cast<std::uint8_t>(18 + scene_.random.below(4)), {}, now()));
}

void CmUsers::reply(CmUser& user) {
    user.word.say(Said::reply);
    expect(user, "reply", user.endpoint->reply({.qpn = user.qpn, .psn = user.psn, .private_data = stamp(user)}, now()));
    if (!scene_.random.chance(0.2)) return;
    later(user, 2 * scene_.plan.thought, [this](CmUser& one) { notice_traffic(one); });
}

/// A message of the peer came on the queue pair before RTU did.
void CmUsers::notice_traffic(CmUser& user) {
    const auto& peer = scene_.user(user.peer);
    if (!user.word.is_replying() || !peer.endpoint || !peer.word.is_established() || peer.peer != user.number) return;
    expect(user, "established", user.endpoint->established(now()));
    user.word.say(Said::established);
    ++scene_.summary.established;
    live(user);
}

void CmUsers::ready_to_use(CmUser& user) {
    user.word.say(Said::ready);
    expect(user, "ready_to_use", user.endpoint->ready_to_use(stamp(user), now()));
    live(user);
}

void CmUsers::reject(CmUser& user) {
    user.word.say(Said::reject);
    expect(user, "reject",
           user.endpoint->reject({.reason = wire::CmRejectReason::consumer, .private_data = stamp(user)}, now()));
    if (scene_.random.chance(0.5)) drop(user);
}

/// Until the end, or shorter.
void CmUsers::live(CmUser& user) {
    auto& random = scene_.random;
    if (user.word.kind() == Kind::active && random.chance(0.2)) {
        later(user, scene_.plan.thought, [this](CmUser& one) { propose(one); });
    }
    if (!random.chance(0.5)) return;
    const bool silently = random.chance(scene_.plan.drops);
    later(user, 3 * scene_.plan.thought + second, [this, silently](CmUser& one) {
        if (!one.word.is_established()) return;
        if (!silently) return disconnect(one);
        ++scene_.summary.dropped;
        drop(one);
    });
}

void CmUsers::propose(CmUser& user) {
    // Before RTU has arrived it makes no sense to the peer.
    if (!user.word.is_established() || user.word.is_loading() || !mutual(user)) return;
    user.word.say(Said::load_alternate);
    const auto to = scene_.user(user.peer).node;
    auto path = make_request(user, to).primary;
    path.flow_label = user.number;
    expect(user, "load_alternate", user.endpoint->load_alternate(path, {}, now()));
}

void CmUsers::disconnect(CmUser& user) {
    if (user.word.is_established()) ++scene_.summary.disconnected;
    user.word.say(Said::disconnect);
    expect(user, "disconnect", user.endpoint->disconnect(stamp(user), now()));
}

bool CmUsers::mutual(const CmUser& user) {
    if (user.peer == 0) return false;
    const auto& peer = scene_.user(user.peer);
    if (!peer.endpoint || !peer.word.is_established() || peer.peer != user.number) return false;
    if (user.remote_qpn != peer.qpn || user.remote_psn != peer.psn || peer.remote_qpn != user.qpn ||
        peer.remote_psn != user.psn || user.remote != peer.local || peer.remote != user.local) {
        scene_.blame("users {} and {} do not agree", user.number, peer.number);
    }
    return true;
}

}  // namespace verbline::sim
