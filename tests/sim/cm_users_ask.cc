// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tests/sim/cm_users.h"

// What users begin, and how they change their minds.

namespace verbline::sim {

using Kind = CmWord::Kind;

namespace {

/// Few, so that askers find listeners; not all.
wire::CmServiceId some_service(Random& random) {
    return wire::CmServiceId{0x100 + random.below(2) * 0x10 + random.below(2)};
}

}  // namespace

CmStamp read_stamp(const cm::PrivateData& data) {
    if (data.size() < 8) return {};
    return {static_cast<unsigned>(wire::load32(data, 0)), static_cast<unsigned>(wire::load32(data, 4))};
}

cm::PrivateData CmUsers::stamp(const CmUser& user) const {
    cm::PrivateData data(8);
    wire::store32(data, 0, user.number);
    wire::store32(data, 4, user.peer);
    return data;
}

void CmUsers::later(CmUser& user, Time most, std::function<void(CmUser&)> act) {
    scene_.agenda.after(scene_.about(most), [this, &user, act = std::move(act)] {
        if (!user.endpoint) return;
        act(user);
        if (user.endpoint) node(user).watch();
    });
}

void CmUsers::expect(const CmUser& user, const char* call, const Result<void>& result) {
    scene_.say("user {} calls {}{}", user.number, call, result ? "" : ", which fails");
    if (!result) scene_.blame("user {} may call {}, but: {}", user.number, call, result.error().what);
}

void CmUsers::listen(unsigned number) {
    auto& random = scene_.random;
    const auto service = some_service(random);
    const auto mask = random.chance(0.3) ? ~std::uint64_t{0xf} : ~std::uint64_t{0};
    auto endpoint = scene_.nodes[number]->manager().listen(service, mask, now());
    if (!endpoint) return;  // another one has these ids
    auto& user = scene_.add_user(number, Kind::listener);
    scene_.say("user {} on node {} listens for {:x}", user.number, number, static_cast<std::uint64_t>(service));
    scene_.nodes[number]->belongs(user, *endpoint);
    if (!scene_.plan.listeners_leave) return;
    later(user, scene_.plan.busy, [this](CmUser& one) {
        if (!scene_.healed) drop(one);
    });
}

void CmUsers::begin(unsigned from) {
    auto& random = scene_.random;
    const auto nodes = scene_.nodes.size();
    const auto to = static_cast<unsigned>((from + 1 + random.below(nodes - 1)) % nodes);
    const auto service = some_service(random);
    if (random.chance(0.15)) return resolve(from, to);
    if (!random.chance(0.25)) return connect(from, to, service, false);
    const wire::CmServiceId peers{static_cast<std::uint64_t>(peer_service) + random.below(2)};
    connect(from, to, peers, true);
    scene_.agenda.after(scene_.about(2 * scene_.plan.thought),
                        [this, from, to, peers] { connect(to, from, peers, true); });
}

cm::Request CmUsers::make_request(const CmUser& user, unsigned to) {
    auto& random = scene_.random;
    const auto small = static_cast<std::uint8_t>(random.below(5));
    cm::Request request{.service = user.service,
                        .transport = user.transport,
                        .qpn = user.qpn,
                        .psn = user.psn,
                        .remote_response_timeout = static_cast<std::uint8_t>(16 + small),
                        .local_response_timeout = static_cast<std::uint8_t>(16 + random.below(5)),
                        .private_data = stamp(user)};
    if (scene_.plan.harsh) request.max_cm_retries = static_cast<std::uint8_t>(random.below(6));
    request.primary.packet_lifetime = random.chance(0.5) ? 16 : 18;
    request.primary.local_gid = gid_of(user.node);
    request.primary.remote_gid = gid_of(to);
    request.primary.route.address = {.global = true, .dgid = gid_of(to), .hop_limit = 64};
    return request;
}

void CmUsers::connect(unsigned from, unsigned to, wire::CmServiceId service, bool peer_to_peer) {
    auto& random = scene_.random;
    auto& user = scene_.add_user(from, peer_to_peer ? Kind::peer : Kind::active);
    user.qpn = scene_.nodes[from]->take_qpn();
    user.psn = wire::Psn(static_cast<std::uint32_t>(random.next()));
    user.service = service;
    user.transport = random.chance(0.2) ? cm::Transport::xrc : cm::Transport::rc;
    auto request = make_request(user, to);
    request.peer_to_peer = peer_to_peer;
    auto endpoint = scene_.nodes[from]->manager().connect(request, now());
    if (!endpoint) {
        if (!peer_to_peer) scene_.blame("user {} cannot connect: {}", user.number, endpoint.error().what);
        scene_.nodes[from]->watch();
        return;
    }
    scene_.say("user {} on node {} connects to node {} for {:x}{}, queue pair {:x}", user.number, from, to,
               static_cast<std::uint64_t>(service), peer_to_peer ? " as a peer" : "",
               static_cast<std::uint32_t>(user.qpn));
    ++scene_.summary.connects;
    scene_.nodes[from]->belongs(user, *endpoint);
    plan_change_of_mind(user);
}

void CmUsers::resolve(unsigned from, unsigned to) {
    auto& random = scene_.random;
    auto& user = scene_.add_user(from, Kind::client);
    user.service = some_service(random);
    const auto path = make_request(user, to).primary;
    auto endpoint = scene_.nodes[from]->manager().resolve(
        {.path = path, .service = user.service, .response_timeout = 18, .private_data = stamp(user)}, now());
    if (!endpoint) return scene_.blame("user {} cannot resolve: {}", user.number, endpoint.error().what);
    scene_.say("user {} on node {} asks node {}", user.number, from, to);
    scene_.nodes[from]->belongs(user, *endpoint);
    plan_change_of_mind(user);
}

void CmUsers::plan_change_of_mind(CmUser& user) {
    if (scene_.random.chance(scene_.plan.mistakes)) {
        later(user, 4 * scene_.plan.thought + second, [this](CmUser& one) { make_mistake(one); });
    }
    if (!scene_.random.chance(scene_.plan.drops)) return;
    later(user, 4 * scene_.plan.thought + 10 * millisecond, [this](CmUser& one) {
        ++scene_.summary.dropped;
        drop(one);
    });
}

/// What cannot be done now is refused, and changes nothing.
void CmUsers::make_mistake(CmUser& user) {
    using enum cm::ConnectionState;
    auto& endpoint = *user.endpoint;
    const auto state = endpoint.state();
    const auto refuse = [&](bool may, const char* call, const auto& act) {
        if (may) return;
        if (act()) scene_.blame("user {} may not call {} in state {}", user.number, call, static_cast<int>(state));
        if (endpoint.state() != state) scene_.blame("user {}: a call that fails moves it", user.number);
    };
    const bool asked = state == req_received || state == mra_req_sent,
               told = state == rep_received || state == mra_rep_sent;
    refuse(asked, "reply", [&] { return endpoint.reply({}, now()); });
    refuse(told, "ready_to_use", [&] { return endpoint.ready_to_use({}, now()); });
    refuse(asked || told, "reject", [&] { return endpoint.reject({}, now()); });
    refuse(state == sidr_req_received, "respond", [&] { return endpoint.respond({}, now()); });
    refuse(state == established || state == dreq_sent || state == timewait, "disconnect",
           [&] { return endpoint.disconnect({}, now()); });
    refuse(state == established, "load_alternate", [&] { return endpoint.load_alternate({}, {}, now()); });
}

}  // namespace verbline::sim
