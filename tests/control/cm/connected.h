// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A connection to begin a test with.

#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {

/// Node 0 has connected to node 1.
struct Connected {
    World world{2};
    EndpointPointer listener = *world.manager(1).listen(service, ~std::uint64_t{0}, world.now);
    EndpointPointer active, passive;

    Connected() {
        active = *world.manager(0).connect(world.request(0, 1), world.now);
        world.deliver_all();
        passive = next<RequestReceived>(*listener, world.now)->endpoint;
        EXPECT_TRUE(passive->reply({.qpn = wire::Qpn{0x200}}, world.now));
        world.deliver_all();
        EXPECT_TRUE(next<ReplyReceived>(*active, world.now));
        EXPECT_TRUE(active->ready_to_use({}, world.now));
        world.deliver_all();
        EXPECT_TRUE(next<Established>(*passive, world.now));
    }
};

}  // namespace verbline::cm::test
