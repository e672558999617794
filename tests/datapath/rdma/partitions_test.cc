// SPDX-License-Identifier: BSD-3-Clause
// A P_Key table that changes under queue pairs (IBTA volume 1, 10.9).
#include <gtest/gtest.h>

#include "tests/datapath/rdma/two_ends.h"

namespace verbline::rdma {
namespace {

using transport::QueuePairType;

class Partitions : public test::TwoEnds {
protected:
    static constexpr wire::PKey in_default{0xffff}, blue{0x8001}, limited{0x0001}, none{};

    Partitions() {
        set_tables(blue, blue);
        a.make(QueuePairType::rc), b.make(QueuePairType::rc);
        for (auto [end, peer] : {std::pair(&a, &b), std::pair(&b, &a)}) {
            // The P_Key is the table's, not that of the attributes.
            EXPECT_TRUE(end->pair->init({.access = test::every_access, .pkey = in_default, .pkey_index = 1}));
            EXPECT_TRUE(end->pair->ready_to_receive(
                {.remote = peer->pair->qpn(), .path = world.path(end->host, peer->host, 3), .first = wire::Psn(100)}));
            EXPECT_TRUE(end->pair->ready_to_send({.first = wire::Psn(100), .timeout = 14, .retries = 7}));
        }
    }
    void set_tables(wire::PKey at_first, wire::PKey at_second) {
        host_a.device().set_pkeys({in_default, at_first});
        host_b.device().set_pkeys({in_default, at_second});
    }
    bool arrives() {
        at_a.clear(), at_b.clear();
        b.receive(1, 0, 64);
        return post(a, {.operation = Operation::send}, 0, 64) && complete(1, 1) && at_a[0].status == Status::success;
    }
    bool is_counted() {
        const auto before = host_b.counter("rx_dropped_pkey");
        return world.run_until([&] { return host_b.counter("rx_dropped_pkey") > before; });
    }
};

TEST_F(Partitions, AreThoseOfTheTable) {
    EXPECT_TRUE(arrives());
    set_tables(limited, blue);
    EXPECT_TRUE(arrives()) << "a limited member is heard by a full one";
    EXPECT_EQ(host_b.counter("rx_dropped_pkey"), 0u);
}

TEST_F(Partitions, QueuePairsFollowTheirEntry) {
    for (const auto& [at_a_now, at_b_now] :
         {std::pair(blue, none), std::pair(none, blue), std::pair(limited, limited)}) {
        set_tables(at_a_now, at_b_now);
        b.receive(1, 0, 64);
        at_a.clear(), at_b.clear();
        ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
        EXPECT_TRUE(is_counted());
        set_tables(blue, blue);
        ASSERT_TRUE(complete(1, 1)) << "sent again in the partition that is back";
        EXPECT_EQ(at_a[0].status, Status::success);
    }
}

TEST_F(Partitions, AnIndexThatIsNotThereMatchesNothing) {
    host_b.device().set_pkeys({in_default});
    b.receive(1, 0, 64);
    ASSERT_TRUE(post(a, {.operation = Operation::send}, 0, 64));
    EXPECT_TRUE(is_counted());
}

}  // namespace
}  // namespace verbline::rdma
