// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// What reaches a MAD transport: datagrams of a simulator, port attributes, answers to our requests, and what the user
/// writes. Every request ends once, however wild the answers; every MAD makes a frame that a capture can hold.

#include <set>
#include <string_view>
#include <variant>

#include "control/mad/captured_frame.h"
#include "control/mad/ibsim_protocol.h"
#include "control/mad/open.h"
#include "control/mad/transactions.h"
#include "datapath/wire/ib_packet.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

void read_datagram(wire::Bytes bytes) {
    const auto datagram = mad::ibsim::Datagram::parse(bytes);
    if (!datagram) return;
    const auto again = mad::ibsim::Datagram::parse(datagram->bytes());
    expect(again && again->bytes() == datagram->bytes());
    const mad::MadAddress far{.lid = datagram->slid, .qpn = datagram->sqpn};
    expect(wire::verify(mad::make_frame(mad::Direction::received, datagram->mad, far, {})) == wire::IbCheck::ok);
}

void read_port(wire::Bytes bytes) {
    mad::PortFacts facts;
    mad::append_pkeys(bytes, facts);
    expect(facts.pkeys.size() == bytes.size() / 2);
    if (const auto info = wire::PortInfo::parse(bytes)) {
        const auto before = facts;
        mad::apply(*info, facts);
        expect(mad::changes(facts, facts).empty());
        expect(mad::changes(before, facts).empty());  // never looked at before
    }
}

/// A small MAD of the fuzzer's, near enough to an answer.
mad::MadBuffer some_mad(fuzz::Input& input) {
    mad::MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::subnet_administration,
              .method = wire::MadMethod{input.byte()},
              .status = input.byte(),
              .transaction = input.byte(),
              .attribute = static_cast<std::uint16_t>(input.byte() % 4)}
        .emit(std::span(mad).first<wire::Mad::size>());
    return mad;
}

void converse(fuzz::Input& input) {
    mad::Transactions engine(0);
    mad::Transactions::Actions actions;
    std::set<mad::Ticket> waiting;
    Time now = 0;
    const auto play = [&] {
        for (const auto& action : std::exchange(actions, {})) {
            if (const auto* done = std::get_if<mad::Transactions::Done>(&action)) {
                expect(waiting.erase(done->ticket) == 1);
            }
        }
        expect(engine.outstanding() <= mad::Transactions::max_outstanding);
        expect(engine.outstanding() + engine.queued() == waiting.size());
    };
    while (!input.empty()) {
        switch (input.byte() % 3) {
            case 0: {
                const mad::Patience patience{
                    .timeout = 1 + input.byte(), .limit = 1 + input.byte(), .retries = input.byte() % 4u};
                for (int n = input.byte(); n >= 0; --n) {
                    if (const auto ticket = engine.start(some_mad(input), {}, patience, now, actions)) {
                        waiting.insert(*ticket);
                    }
                }
                break;
            }
            case 1: engine.received(some_mad(input), now, actions); break;
            default: now += input.word();
        }
        engine.tick(now, actions);
        expect(!engine.deadline() || *engine.deadline() > now);
        play();
    }
    while (engine.deadline()) {
        engine.tick(*engine.deadline(), actions);
        play();
    }
    expect(waiting.empty());
}

void run(wire::Bytes bytes) {
    read_datagram(bytes);
    read_port(bytes);
    if (const auto spec = mad::parse_spec({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); !spec) {
        expect(!spec.error().what.empty());
    }
    fuzz::Input input(bytes);
    converse(input);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(std::as_bytes(std::span(data, size)));
    return 0;
}
