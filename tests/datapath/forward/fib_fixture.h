// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A route table of IPv4 in which tests look addresses up.

#include <memory>
#include <utility>

#include <rte_rcu_qsbr.h>

#include <gtest/gtest.h>

#include "datapath/forward/fib.h"
#include "tests/support/fib_readers.h"

namespace verbline::forward::fibs {

using wire::ipv4;
using wire::Ipv4Address;

inline NextHop via(unsigned n) {
    return {NextHop::Kind::via, InterfaceId{static_cast<std::uint16_t>(n % 3)}, Ipv4Address{0x0a00'0000 + n}};
}
constexpr NextHop on_link{NextHop::Kind::on_link, InterfaceId{1}};
constexpr NextHop local{NextHop::Kind::local};

class FibTest : public testing::Test {
protected:
    std::unique_ptr<Fib> make(const Fib::Config& config = {}) {
        auto fib = Fib::create(config, *readers_);
        EXPECT_TRUE(fib) << fib.error().what;
        return std::move(*fib);
    }
    static NextHop lookup(const Fib& fib, Ipv4Address address) {
        Fib::Index hop{};
        fib.lookup({&address, 1}, {&hop, 1});
        return fib.next_hop(hop);
    }

    test::FibReaders owned_readers_ = test::fib_readers(4);
    rte_rcu_qsbr* readers_ = owned_readers_.get();
};

inline int code(const Result<void>& result) {
    return result ? 0 : result.error().code;
}

}  // namespace verbline::forward::fibs
