// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two hosts with an end each: what most tests of verbs' semantics begin with.

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/sim/world.h"
#include "tests/support/eal.h"
#include "tests/support/rdma_end.h"

namespace verbline::test {

class TwoEnds : public testing::Test {
protected:
    using Request = transport::SendRequest;
    using Operation = transport::SendOperation;
    using Status = transport::Status;
    using EventKind = transport::AsyncEventKind;

    void connect(transport::QueuePairType type = transport::QueuePairType::rc, const Connection& how = {}) {
        a.make(type), b.make(type);
        test::connect(world, a, b, how);
    }

    /// Waits until each side has completed so much in all.
    bool complete(std::size_t count_a, std::size_t count_b = 0) {
        return world.run_until([&] {
            std::ranges::copy(a.poll(), std::back_inserter(at_a));
            std::ranges::copy(b.poll(), std::back_inserter(at_b));
            return at_a.size() >= count_a && at_b.size() >= count_b;
        });
    }

    /// Posts a request over the end's bytes [offset, offset + length), signalled unless flags say otherwise.
    bool post(End& end, Request request, std::size_t offset, std::uint32_t length,
              std::uint8_t flags = transport::send_signalled) {
        const auto segment = end.segment(offset, length);
        if (length != 0) request.segments = {&segment, 1};
        request.flags = flags;
        return end.pair->post(request).has_value();
    }
    Request to(const End& end, std::size_t offset, Operation operation, std::uint64_t id = 0) const {
        return {.id = id, .operation = operation, .remote_address = end.address(offset), .rkey = end.region->rkey()};
    }

    static std::size_t count(sim::Host& host, EventKind kind) {
        return static_cast<std::size_t>(std::ranges::count(host.events(), kind, &transport::AsyncEvent::kind));
    }
    /// The last of its kind.
    static transport::AsyncEvent last(sim::Host& host, EventKind kind) {
        transport::AsyncEvent found;
        for (const auto& event : host.events()) {
            if (event.kind == kind) found = event;
        }
        return found;
    }
    static bool equal(const End& x, std::size_t x_at, const End& y, std::size_t y_at, std::size_t size) {
        return std::memcmp(x.data.data() + x_at, y.data.data() + y_at, size) == 0;
    }

    sim::World world{sim::Seed{1}, *packet_pool()};
    sim::Host& host_a = world.add_host();
    sim::Host& host_b = world.add_host();
    End a{host_a}, b{host_b};
    std::vector<transport::Completion> at_a, at_b;
};

}  // namespace verbline::test
