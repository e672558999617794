// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// QP1 of a node whose members, and whose peers on the wire, send anything, while members come and go: nothing is
/// delivered to a member that is not there, no member speaks for another, and when all have left and time has passed
/// nothing is remembered. Frames of any bytes are opened, and answered if they are whole.

#include <set>

#include "control/node/gsi_router.h"
#include "datapath/link/arrival.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using link::MemberId;

constexpr std::uint16_t most_members = 4;

class World {
public:
    void play(fuzz::Input& input) {
        while (!input.empty()) {
            switch (input.byte() % 8) {
                case 0: members_.insert(member(input)); break;
                case 1: leave(member(input)); break;
                case 2: holder_ = member(input); break;
                case 3: pass(input.byte() * node::ConnectionTracker::teardown_interval / 16); break;
                default: receive(input); break;
            }
        }
        while (!members_.empty()) leave(*members_.begin());
        for (unsigned i = 0; i <= node::ConnectionTracker::teardown_attempts; ++i)
            pass(node::ConnectionTracker::teardown_interval);
        expect(router_.size() == 0 && !router_.deadline());
        for (std::uint16_t i = 1; i <= most_members; ++i) expect(!router_.closing(MemberId{i}));
    }

private:
    static MemberId member(fuzz::Input& input) { return MemberId{std::uint16_t(1 + input.byte() % most_members)}; }
    /// Of few ids, so that messages meet.
    static std::uint32_t id(fuzz::Input& input) {
        const auto number = input.byte();
        return cm::ids_of(MemberId{std::uint16_t(number % 6)}).id(number / 6 % 4);
    }

    void receive(fuzz::Input& input) {
        mad::MadBuffer mad{};
        const auto attribute = static_cast<wire::CmAttribute>(0x10 + input.byte() % 11);
        cm::write_header(attribute, input.byte(), mad);
        wire::store32(mad, wire::Mad::size, id(input));
        wire::store32(mad, wire::Mad::size + 4, id(input));
        wire::store64(mad, wire::Mad::size + 8, input.byte() % 4);  // the service, of those that have one
        const auto message = cm::ReceivedMessage::parse(mad).value();
        const auto from = input.byte() % 2 == 0 || members_.empty() ? node::PeerMember() : *members_.begin();
        const bool to_wire = from && input.byte() % 2 == 0;
        const auto verdict = router_.route({.from = from, .to_wire = to_wire, .headers = headers_, .message = message});
        if (const auto* const to = std::get_if<node::GsiRouter::Deliver>(&verdict)) {
            expect(!to_wire && members_.contains(to->to));
        }
        if (std::holds_alternative<node::GsiRouter::Transmit>(verdict)) expect(to_wire);
        if (const auto* const answer = std::get_if<node::GsiRouter::Answer>(&verdict)) {
            expect(!to_wire && cm::ReceivedMessage::parse(answer->mad).has_value());
        }
    }
    void leave(MemberId member) {
        if (members_.erase(member) == 0) return;
        check(router_.leave(member, now_));
    }
    void pass(Time time) {
        now_ += time;
        check(router_.tick(now_));
        if (const auto due = router_.deadline()) expect(*due > now_);
    }
    static void check(const std::vector<node::Teardown>& teardowns) {
        for (const auto& each : teardowns) expect(cm::ReceivedMessage::parse(each.mad).has_value());
    }

    Time now_ = second;
    std::set<MemberId> members_;
    std::optional<MemberId> holder_;
    node::GsiHeaders headers_{.carrier = link::Carrier::roce_v1, .covered_at = 14, .network_at = 14, .size = 74};
    node::GsiRouter router_{{.holder = [this](const node::RequestTarget& target) -> std::optional<MemberId> {
                                 return target.service == wire::CmServiceId{1} ? holder_ : std::nullopt;
                             },
                             .attached = [this](MemberId member) { return members_.contains(member); }}};
};

void open(wire::Bytes frame) {
    const auto opened = node::open_gsi_frame(frame);
    if (!opened) return;
    const auto back = node::reversed(opened->headers);
    std::vector<std::byte> answer(back.frame_size());
    node::write_gsi_frame(back, opened->mad, answer);
    expect(node::open_gsi_frame(answer).has_value());
    expect(node::reversed(back).bytes == opened->headers.bytes);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    verbline::open(bytes);
    verbline::fuzz::Input input(bytes);
    verbline::World().play(input);
    return 0;
}
