// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A subnet administrator that answers anything, or is somebody else altogether: an agent with requests of every kind
/// out is given answers, Reports, foreign MADs and port events. Nobody is called back twice, and memory stays bounded.

#include <memory>

#include "control/sa/agent.h"
#include "tests/fuzz/datapath/packets.h"
#include "tests/support/fake_transport.h"
#include "tests/support/mad_response.h"

namespace verbline {
namespace {

using fuzz::expect;

wire::Gid gid(std::uint8_t n) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{n});
}
wire::Gid mgid(std::uint8_t n) {
    return wire::Gid::of(0xff12'401b'ffff'0000, wire::Guid{n});
}

struct World {
    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    test::FakeTransport transport;
    sa::Agent agent{transport, *loop};

    /// One of the requests out, answered with the fuzzer's status and record; sometimes not quite.
    void answer(fuzz::Input& input) {
        if (transport.sent.empty()) return;
        auto mad = transport.sent[input.byte() % transport.sent.size()].mad;
        const auto header = *wire::Mad::parse(mad);
        wire::store8(mad, 3, static_cast<std::uint8_t>(test::response_to(header.method)));
        wire::store16(mad, 4, input.byte() % 2 == 0 ? 0 : static_cast<std::uint64_t>(input.byte() % 8) << 8);
        const auto record = input.take(input.byte() % wire::sa_data_size);
        std::ranges::copy(record, mad.begin() + wire::sa_data_offset);
        transport.deliver(loop->now(), {.lid = wire::Lid{1}}, mad);
    }
    /// Any bytes as a MAD, from any LID.
    void intrude(fuzz::Input& input) {
        mad::MadBuffer mad{};
        const wire::Lid from{input.byte()};
        std::ranges::copy(input.take(wire::mad_size), mad.begin());
        transport.deliver(loop->now(), {.lid = from}, mad);
    }
    void report(fuzz::Input& input) {
        mad::MadBuffer mad{};
        const std::span<std::byte, wire::mad_size> bytes(mad);
        wire::Mad{.management_class = wire::MadClass::subnet_administration,
                  .class_version = wire::sa_class_version,
                  .method = wire::MadMethod::report,
                  .attribute = static_cast<std::uint16_t>(wire::SaAttribute::notice)}
            .emit(bytes.first<wire::Mad::size>());
        wire::Notice notice{.trap = static_cast<std::uint16_t>(64 + input.byte() % 4)};
        std::ranges::copy(gid(input.byte() % 8).bytes, notice.details.begin() + 6);
        notice.emit(bytes.subspan<wire::sa_data_offset, wire::Notice::size>());
        transport.deliver(loop->now(), {.lid = wire::Lid{1}}, mad);
    }
    void resolve(std::uint8_t n) {
        auto& paths = agent.paths();
        paths.resolve(paths.key(gid(n), wire::PKey{0xffff}), [once = false](const auto&) mutable {
            expect(!once);
            once = true;
        });
    }
};

void run(fuzz::Input input) {
    World world;
    auto& groups = world.agent.groups();
    while (!input.empty()) {
        const auto what = input.byte();
        switch (what % 8) {
            case 0: world.answer(input); break;
            case 1: world.answer(input); break;
            case 2: world.intrude(input); break;
            case 3: world.report(input); break;
            case 4: world.resolve(what / 8 % 8); break;
            case 5:
                groups.join(mgid(what / 64), sa::UserId{what / 8u % 4}, static_cast<sa::JoinStates>(1 << what / 32 % 4),
                            {}, [](const auto&) {});
                break;
            case 6: groups.leave(mgid(what / 64), sa::UserId{what / 8u % 4}); break;
            default: world.transport.raise(mad::PortEvent{static_cast<std::uint8_t>(what / 8 % 7)});
        }
        world.loop->run_once(0);
        expect(groups.show().size() <= 4);
        expect(world.agent.client().transactions().outstanding() <= mad::Transactions::max_outstanding);
        if (world.transport.sent.size() > 4096) world.transport.sent.clear();
    }
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
