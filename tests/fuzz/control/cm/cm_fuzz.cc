// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A connection manager among peers that send anything: MADs of every kind to endpoints in every state, foreign ids,
/// our own messages sent back, at any time, while users call what they like and go away. Nobody is told twice without
/// having been drained, and when all users are gone and time has passed nothing is left.

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "control/cm/manager.h"
#include "control/cm/message.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

constexpr std::size_t most_endpoints = 32, most_sent = 16;
constexpr wire::CmServiceId service{0x100};

wire::Gid gid(std::uint8_t n) {
    return wire::Gid::of(0, wire::Guid{n});
}

class World final : public mad::GmpChannel {
public:
    void send(const mad::GmpPeer&, mad::MadBytes mad) noexcept override {
        auto& kept = sent_.emplace_back();
        std::ranges::copy(mad, kept.begin());
        expect(cm::ReceivedMessage::parse(kept).has_value());
        if (sent_.size() > most_sent) sent_.erase(sent_.begin());
    }

    void run(fuzz::Input& input);
    void end();

private:
    void receive(fuzz::Input& input);
    void receive_to_somebody(fuzz::Input& input);
    void receive_echo(fuzz::Input& input);
    void begin(fuzz::Input& input);
    void call(cm::Endpoint& endpoint, fuzz::Input& input);
    void drain(cm::Endpoint& endpoint);
    void add(Result<cm::EndpointPointer> endpoint) {
        if (endpoint && endpoints_.size() < most_endpoints) endpoints_.push_back(std::move(*endpoint));
    }
    cm::EndpointPointer* pick(fuzz::Input& input) {
        return endpoints_.empty() ? nullptr : &endpoints_[input.byte() % endpoints_.size()];
    }
    void deliver(std::uint8_t from, const mad::MadBuffer& mad) {
        manager_->receive({.path = {.address = {.global = true, .dgid = gid(from), .hop_limit = 64}}}, mad, now_);
    }

    Time now_ = second;
    std::vector<mad::MadBuffer> sent_;
    std::set<const cm::Endpoint*> told_;
    cm::Manager::Pointer manager_ = cm::Manager::create(
        cm::Manager::Options{.ca_guid = wire::Guid{1},
                             .on_ready = [this](cm::Endpoint& one) { expect(told_.insert(&one).second); }},
        *this);
    std::vector<cm::EndpointPointer> endpoints_;
};

/// Any bytes.
void World::receive(fuzz::Input& input) {
    mad::MadBuffer mad{};
    std::ranges::copy(input.take(mad.size()), mad.begin());
    deliver(1, mad);
}

/// A message for one of our endpoints, of any content.
void World::receive_to_somebody(fuzz::Input& input) {
    mad::MadBuffer mad{};
    const auto attribute =
        static_cast<std::uint16_t>(static_cast<unsigned>(wire::CmAttribute::req) + input.byte() % 11);
    const auto* const endpoint = pick(input);
    const std::uint8_t sender = input.byte();
    std::ranges::copy(input.take(wire::cm_message_size), mad.end() - wire::cm_message_size);
    cm::write_header(wire::CmAttribute{attribute}, sender % 4, mad);
    const auto at = mad.size() - wire::cm_message_size;
    const bool known = endpoint != nullptr && sender % 2 == 0 && (*endpoint)->remote_id() != cm::CommunicationId{};
    wire::store32(mad, at, known ? static_cast<std::uint32_t>((*endpoint)->remote_id()) : sender % 8);
    if (wire::CmAttribute{attribute} == wire::CmAttribute::req) {
        wire::store64(mad, at + 8, static_cast<std::uint64_t>(service) + sender % 2);
    } else if (endpoint != nullptr) {
        wire::store32(mad, at + 4, static_cast<std::uint32_t>((*endpoint)->local_id()));
    }
    deliver(sender % 2, mad);
}

/// One of ours comes back, as another kind and with the ids the other way round, which is what an answer is.
void World::receive_echo(fuzz::Input& input) {
    if (sent_.empty()) return;
    auto mad = sent_[input.byte() % sent_.size()];
    const auto what = input.byte();
    if (what % 16 < 11) wire::store16(mad, 16, static_cast<unsigned>(wire::CmAttribute::req) + what % 16u);
    const auto at = mad.size() - wire::cm_message_size;
    if (what >= 16) {
        const auto own = wire::load32(mad, at);
        wire::store32(mad, at, wire::load32(mad, at + 4) == 0 ? what : wire::load32(mad, at + 4));
        wire::store32(mad, at + 4, own);
    }
    deliver(what % 2, mad);
}

void World::begin(fuzz::Input& input) {
    const auto what = input.byte();
    cm::ConnectionPath path{.remote_gid = gid(what / 8 % 2)};
    path.local_gid = gid(1);
    path.route.address = {.global = true, .dgid = path.remote_gid, .hop_limit = 64};
    const wire::CmServiceId id{static_cast<std::uint64_t>(service) + what / 16 % 2};
    switch (what % 3) {
        case 0: return add(manager_->listen(id, what < 128 ? ~std::uint64_t{0} : ~std::uint64_t{1}, now_));
        case 1: return add(manager_->resolve({.path = path, .service = id}, now_));
        default:
            return add(manager_->connect({.primary = path,
                                          .service = id,
                                          .qpn = wire::Qpn{what},
                                          .remote_response_timeout = static_cast<std::uint8_t>(what % 32),
                                          .max_cm_retries = static_cast<std::uint8_t>(what % 4),
                                          .peer_to_peer = what >= 128},
                                         now_));
    }
}

void World::call(cm::Endpoint& endpoint, fuzz::Input& input) {
    const auto what = input.byte();
    const cm::PrivateData data(input.byte());
    switch (what % 9) {
        case 0: return (void)endpoint.reply({.qpn = wire::Qpn{what}, .private_data = data}, now_);
        case 1: return (void)endpoint.ready_to_use(data, now_);
        case 2: return (void)endpoint.reject({.information = data, .private_data = data}, now_);
        case 3: return (void)endpoint.delay(what % 32, data, now_);
        case 4: return (void)endpoint.established(now_);
        case 5: return (void)endpoint.disconnect(data, now_);
        case 6: return (void)endpoint.load_alternate({}, data, now_);
        case 7: return (void)endpoint.reply_alternate({.information = data, .private_data = data}, now_);
        default: return (void)endpoint.respond({.information = data, .private_data = data}, now_);
    }
}

void World::drain(cm::Endpoint& endpoint) {
    const cm::EndpointPointer* const self = &*std::ranges::find(endpoints_, &endpoint, &cm::EndpointPointer::get);
    const auto kept = *self;  // what is accepted below may move the others
    while (auto event = kept->poll(now_)) {
        auto* const request = std::get_if<cm::RequestReceived>(&*event);
        auto* const question = std::get_if<cm::ServiceRequestReceived>(&*event);
        if (request != nullptr && request->endpoint != kept) add(std::move(request->endpoint));
        if (question != nullptr) add(std::move(question->endpoint));
    }
    told_.erase(kept.get());
}

void World::run(fuzz::Input& input) {
    while (!input.empty()) {
        switch (input.byte() % 10) {
            case 0: receive(input); break;
            case 1:
            case 2: receive_to_somebody(input); break;
            case 3: receive_echo(input); break;
            case 4: begin(input); break;
            case 5:
                if (auto* const endpoint = pick(input)) call(**endpoint, input);
                break;
            case 6:
            case 7:
                if (auto* const endpoint = pick(input)) drain(**endpoint);
                break;
            case 8:
                now_ += Time{input.word()} * millisecond;
                manager_->tick(now_);
                break;
            default:
                if (auto* const endpoint = pick(input)) {
                    told_.erase(endpoint->get());
                    endpoints_.erase(endpoints_.begin() + (endpoint - endpoints_.data()));
                }
        }
        expect(manager_->show().size() == manager_->size());
    }
}

void World::end() {
    endpoints_.clear();
    for (int i = 0; i < 10'000 && manager_->deadline(); ++i) {
        now_ = std::max(now_, *manager_->deadline());
        manager_->tick(now_);
    }
    expect(manager_->size() == 0);
    expect(!manager_->deadline());
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::fuzz::Input input(std::as_bytes(std::span(data, size)));
    verbline::World world;
    world.run(input);
    world.end();
    return 0;
}
