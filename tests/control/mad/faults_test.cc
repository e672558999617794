// SPDX-License-Identifier: BSD-3-Clause
// A host of a simulated fabric while each of its calls fails once.
#include "tests/support/faults.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "control/mad/open.h"
#include "tests/support/fabric.h"

namespace verbline::mad::faults {
namespace {

using test::Outcome, test::WithoutFaults;

MadBuffer cm_mad() {
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::communication,
              .class_version = 2,
              .method = wire::MadMethod::send,
              .attribute = 0x10}
        .emit(std::span(mad).first<wire::Mad::size>());
    return mad;
}

std::uint64_t errors(const TransportCounters& counters) {
    return counters.tx_errors.value() + counters.tx_dropped_queue_full.value() + counters.tx_undeliverable.value();
}

/// A MAD to ourselves comes back or is counted; a port that went down because of it comes up again.
bool carries(Transport& transport, control::Loop& loop) {
    const auto before = errors(transport.counters());
    bool received = false;
    transport.receive(wire::MadClass::communication, [&](const MadAddress&, MadBytes) { received = true; });
    transport.send({.lid = transport.port().lid, .qpn = transport.port().qpn}, cm_mad(), 0);
    const auto end = loop.now() + 2 * second;
    while (!received && errors(transport.counters()) == before && transport.port().active() && loop.now() < end) {
        loop.run_once(5 * millisecond);
    }
    transport.receive(wire::MadClass::communication, {});
    return received || errors(transport.counters()) != before || !transport.port().active();
}

TEST(IbsimFaults, AttachesAndCarriesMadsOrSaysWhyNot) {
    const test::Fabric fabric(test::star(2));
    const auto tally = test::expect_survives_faults("ibsim", [&]() -> Outcome {
        auto loop = control::Loop::create();
        if (!loop) return loop.error();
        auto opened = open(fabric.spec("H2"), **loop);
        if (!opened) return opened.error();
        auto& transport = **opened;
        EXPECT_TRUE(carries(transport, **loop));
        transport.refresh();
        (*loop)->run_once(5 * millisecond);
        // What went wrong is over: it is as before.
        const WithoutFaults again;
        const auto end = (*loop)->now() + 2 * second;
        while (!transport.port().active() && (*loop)->now() < end) {
            transport.refresh();
            (*loop)->run_once(5 * millisecond);
        }
        EXPECT_TRUE(transport.port().active());
        const auto lost = errors(transport.counters());
        EXPECT_TRUE(carries(transport, **loop));
        EXPECT_EQ(errors(transport.counters()), lost);
        return {};
    });
    EXPECT_GT(tally.errors, 5u);
}

}  // namespace
}  // namespace verbline::mad::faults
