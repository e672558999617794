// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Two connection managers that mean well and a network that does not: real MADs are lost, doubled, kept for later,
/// sent back to their sender or to the other side, claimed by a third port, and changed in a field or two, so that what
/// arrives is nearly always a message that makes sense. Users ask, answer, close and go away in between.
///
/// Nobody is told twice without having been drained; nothing grows past its limit; and when the users have gone and
/// time has passed, both managers are empty, whatever had come.

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "control/cm/manager.h"
#include "control/cm/message.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

constexpr std::size_t most_endpoints = 24, most_flights = 64, most_half_open = 12, most_closing = 12;
constexpr wire::CmServiceId service{0x0106'1c06};
constexpr unsigned sides = 2;
constexpr unsigned check_interval = 16;  ///< steps: reading all counters takes longer than most of them

wire::Gid gid(unsigned n) {
    return wire::Gid::of(0, wire::Guid{0x10 + n});
}
mad::GmpPeer peer(unsigned from) {
    return {.path = {.address = {.global = true, .dgid = gid(from), .hop_limit = 64}}};
}

struct Flight {
    unsigned from = 0, to = 0;
    mad::MadBuffer mad{};
};

class Network {
public:
    void put(const Flight& flight) {
        if (flights_.size() < most_flights) flights_.push_back(flight);
    }
    bool empty() const { return flights_.empty(); }
    Flight take(std::size_t at, bool keep) {
        const auto found = flights_.begin() + static_cast<std::ptrdiff_t>(at % flights_.size());
        const Flight flight = *found;
        if (!keep) flights_.erase(found);
        return flight;
    }
    void clear() { flights_.clear(); }

private:
    std::deque<Flight> flights_;
};

class Side final : public mad::GmpChannel {
public:
    Side(unsigned number, Network& network) : number_(number), network_(network) {
        manager_ = cm::Manager::create(
            cm::Manager::Options{
                .ca_guid = wire::Guid{0x1000 + number},
                .seed = number + 1,
                .on_ready = [this](cm::Endpoint& one) { expect(told_.insert(&one).second); },
                .gid_index =
                    [this](const wire::Gid& one) { return one == gid(number_) ? std::optional(0u) : std::nullopt; },
                .most_half_open = most_half_open,
                .most_closing = most_closing},
            *this);
    }
    void send(const mad::GmpPeer& to, mad::MadBytes mad) noexcept override {
        Flight flight{.from = number_, .to = to.path.address.dgid == gid(0) ? 0u : 1u};
        std::ranges::copy(mad, flight.mad.begin());
        expect(cm::ReceivedMessage::parse(flight.mad).has_value());
        network_.put(flight);
    }
    void receive(unsigned from, const mad::MadBuffer& mad, Time now) { manager_->receive(peer(from), mad, now); }

    void begin(fuzz::Input& input, Time now);
    void call(fuzz::Input& input, Time now);
    void drain(fuzz::Input& input, Time now) {
        if (!endpoints_.empty()) drain(endpoints_[input.byte() % endpoints_.size()], now);
    }
    void drain_all(Time now) {
        for (const auto& endpoint : std::vector(endpoints_)) drain(endpoint, now);
    }
    void drop(fuzz::Input& input);
    void check() const;
    void end(Time now);
    void tick(Time now) { manager_->tick(now); }

private:
    void drain(cm::EndpointPointer endpoint, Time now);
    void answer(cm::Endpoint& endpoint, unsigned how, Time now);
    void add(Result<cm::EndpointPointer> endpoint) {
        if (endpoint && *endpoint && endpoints_.size() < most_endpoints) endpoints_.push_back(std::move(*endpoint));
    }
    std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t found = 0;
        manager_->counters([&](std::string_view name, std::uint64_t value, std::string_view) {
            if (name == wanted) found = value;
        });
        return found;
    }

    unsigned number_;
    Network& network_;
    std::set<const cm::Endpoint*> told_;
    cm::Manager::Pointer manager_;
    std::vector<cm::EndpointPointer> endpoints_;
};

void Side::begin(fuzz::Input& input, Time now) {
    const auto what = input.byte();
    const auto other = gid(1 - number_);
    cm::ConnectionPath path{.remote_gid = other};
    path.local_gid = gid(number_);
    path.route.address = {.global = true, .dgid = other, .hop_limit = 64};
    path.packet_lifetime = what / 8 % 32;
    switch (what % 4) {
        case 0: return add(manager_->listen(service, ~std::uint64_t{0}, now));
        case 1: return add(manager_->resolve({.path = path, .service = service}, now));
        default:
            return add(manager_->connect({.primary = path,
                                          .service = service,
                                          .qpn = wire::Qpn{input.byte() % 8u + 2u},
                                          .remote_response_timeout = static_cast<std::uint8_t>(what / 8),
                                          .local_response_timeout = static_cast<std::uint8_t>(what / 8),
                                          .max_cm_retries = static_cast<std::uint8_t>(what % 3),
                                          .peer_to_peer = what % 4 == 3},
                                         now));
    }
}

void Side::answer(cm::Endpoint& endpoint, unsigned how, Time now) {
    switch (how % 12) {
        case 0:
        case 1: return (void)endpoint.reply({.qpn = wire::Qpn{how / 12 % 8 + 2}}, now);
        case 2:
        case 3: return (void)endpoint.ready_to_use({}, now);
        case 4: return (void)endpoint.reject({.reason = wire::CmRejectReason::consumer}, now);
        case 5: return (void)endpoint.decline(cm::Rejection{.reason = wire::CmRejectReason::no_resources}, now);
        case 6: return (void)endpoint.decline(cm::ServiceReply{.status = wire::SidrStatus::rejected}, now);
        case 7: return (void)endpoint.delay(how % 32, {}, now);
        case 8: return (void)endpoint.established(now);
        case 9: return (void)endpoint.disconnect({}, now);
        case 10: return (void)endpoint.load_alternate({}, {}, now);
        default: (void)endpoint.reply_alternate({}, now); return (void)endpoint.respond({.qpn = wire::Qpn{3}}, now);
    }
}

void Side::call(fuzz::Input& input, Time now) {
    if (endpoints_.empty()) return;
    auto& endpoint = *endpoints_[input.byte() % endpoints_.size()];
    answer(endpoint, input.byte(), now);
}

void Side::drain(cm::EndpointPointer endpoint, Time now) {
    while (auto event = endpoint->poll(now)) {
        if (auto* const request = std::get_if<cm::RequestReceived>(&*event)) {
            if (request->endpoint != endpoint) add(std::move(request->endpoint));
        } else if (auto* const question = std::get_if<cm::ServiceRequestReceived>(&*event)) {
            add(std::move(question->endpoint));
        }
    }
    told_.erase(endpoint.get());
}

void Side::drop(fuzz::Input& input) {
    if (endpoints_.empty()) return;
    const auto at = endpoints_.begin() + input.byte() % static_cast<std::ptrdiff_t>(endpoints_.size());
    told_.erase(at->get());
    endpoints_.erase(at);
}

void Side::check() const {
    const auto half_open = counter("half_open"), closing = counter("closing");
    expect(half_open <= most_half_open);
    expect(closing <= most_closing);
    // Each endpoint is a user's, or closes; nothing else has a place.
    expect(manager_->size() <= endpoints_.size() + closing);
}

void Side::end(Time now) {
    endpoints_.clear();
    for (int i = 0; i < 10'000 && manager_->deadline(); ++i) {
        now = std::max(now, *manager_->deadline());
        manager_->tick(now);
    }
    expect(manager_->size() == 0);
    expect(counter("half_open") == 0 && counter("closing") == 0);
}

/// A field of the message, or a byte of it; and never so that nobody would look at it.
void change(mad::MadBuffer& mad, fuzz::Input& input) {
    const auto at = mad.size() - wire::cm_message_size;
    const auto what = input.byte();
    switch (what % 4) {
        case 0: return wire::store16(mad, 16, static_cast<unsigned>(wire::CmAttribute::req) + what / 4 % 11);
        case 1: return wire::store32(mad, at + (what / 4 % 2) * 4, input.byte() % 4u);
        case 2: return wire::store8(mad, at + what / 4, input.byte());
        default: {
            auto& byte = mad[at + input.byte() % wire::cm_message_size];
            byte ^= static_cast<std::byte>(1u << what / 4 % 8);
        }
    }
}

void carry(Network& network, std::array<std::unique_ptr<Side>, sides>& all, fuzz::Input& input, Time now) {
    if (network.empty()) return;
    const auto how = input.byte();
    auto flight = network.take(input.byte(), how % 8 == 1);
    if (how % 8 == 2) std::swap(flight.from, flight.to);
    if (how % 8 == 3) flight.from = 7;  // whom nobody knows
    for (unsigned i = 0; how % 8 >= 6 && i <= how / 8 % 3; ++i) change(flight.mad, input);
    if (how % 8 == 4) return;  // lost
    all[flight.to % sides]->receive(flight.from, flight.mad, now);
}

void run(fuzz::Input input) {
    Network network;
    std::array<std::unique_ptr<Side>, sides> all;
    for (unsigned i = 0; i < sides; ++i) all[i] = std::make_unique<Side>(i, network);
    Time now = second;
    for (unsigned step = 0; !input.empty(); ++step) {
        const auto what = input.byte();
        auto& side = *all[what / 16 % sides];
        switch (what % 16) {
            case 0:
            case 1: side.begin(input, now); break;
            case 2:
            case 3:
            case 4: side.call(input, now); break;
            case 5: side.drain(input, now); break;
            case 6:
            case 7: side.drain_all(now); break;
            case 8: side.drop(input); break;
            case 9:
                now += Time{input.word()} * (what < 128 ? millisecond : microsecond);
                for (const auto& one : all) one->tick(now);
                break;
            default: carry(network, all, input, now);
        }
        if (step % check_interval != 0) continue;
        for (const auto& one : all) one->check();
    }
    for (const auto& one : all) one->check();
    for (const auto& one : all) one->end(now);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
