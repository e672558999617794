// SPDX-License-Identifier: BSD-3-Clause
// DPDK's own memif on the other side.
#include <map>
#include <string>

#include <rte_ethdev.h>
#include <sys/socket.h>

#include "tests/pmd/memif/ends.h"
#include "tests/support/resources.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

struct Dpdk {
    Dpdk(const char* role, const std::string& path) {
        const auto arguments =
            std::string("role=") + role + ",socket=" + path + ",socket-abstract=no,bsize=2048,rsize=8";
        EXPECT_EQ(rte_eal_hotplug_add("vdev", "net_memif7", arguments.c_str()), 0);
        EXPECT_EQ(rte_eth_dev_get_port_by_name("net_memif7", &port), 0);
        const rte_eth_conf configuration{};
        EXPECT_EQ(rte_eth_dev_configure(port, 1, 1, &configuration), 0);
        EXPECT_EQ(rte_eth_rx_queue_setup(port, 0, 256, 0, nullptr, packet_pool()), 0);
        EXPECT_EQ(rte_eth_tx_queue_setup(port, 0, 256, 0, nullptr), 0);
    }
    ~Dpdk() {
        rte_eth_dev_stop(port);
        rte_eth_dev_close(port);
        rte_eal_hotplug_remove("vdev", "net_memif7");
    }
    bool link_up() const {
        rte_eth_link link{};
        return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    }
    std::uint16_t port = 0;
};

void exchange(NetDevice& ours, const Dpdk& theirs) {
    ASSERT_TRUE(wait_for([&] { return int{ours.link_up()} + int{theirs.link_up()} == 2; }));
    rte_mbuf* none = nullptr;
    ASSERT_EQ(rte_eth_rx_burst(theirs.port, 0, &none, 1), 0) << "offers its slots as a client";
    for (unsigned round = 0; round < 2000; ++round) {
        const auto there = test::pattern(60 + round % 2000, round), back = test::pattern(60 + round * 7 % 5000, round);
        ASSERT_TRUE(send(ours, there));
        rte_mbuf* packet = nullptr;
        ASSERT_TRUE(wait_for([&] { return rte_eth_rx_burst(theirs.port, 0, &packet, 1) == 1; }));
        ASSERT_EQ(test::bytes_of(Packet(packet)), there) << round;
        packet = make_packet(back).release();
        ASSERT_TRUE(wait_for([&] { return rte_eth_tx_burst(theirs.port, 0, &packet, 1) == 1; }));
        ASSERT_EQ(test::bytes_of(receive(ours)), back) << round;
    }
}

/// Descriptors of this process that are sockets and do not listen.
auto connections() {
    auto descriptors = test::Resources::now().descriptors;
    std::erase_if(descriptors, [](const auto& descriptor) {
        int listens = 0;
        socklen_t size = sizeof listens;
        return getsockopt(descriptor.first, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens != 0;
    });
    return descriptors;
}

/// What DPDK's driver and library keep until the process ends, a server its listening socket; the first port makes most
/// of it.
constexpr auto of_dpdk = "RG_HT_memif-sh;rte_eth_dev_data;allocations of rte_malloc;(socket:;[eventpoll]";

struct MemifDpdkTest : MemifTest {
    /// DPDK's interrupt thread closes a server's connection some time after the port is gone.
    void TearDown() override {
        EXPECT_TRUE(wait_for([&] { return connections() == before; })) << "DPDK keeps a connection open";
    }
    const std::map<int, std::string> before = connections();
};

TEST_F(MemifDpdkTest, ServesDpdksClient) {
    RecordProperty("left_behind", of_dpdk);
    const auto ours = open(server);
    const Dpdk theirs("client", server.path);
    ASSERT_EQ(rte_eth_dev_start(theirs.port), 0);
    exchange(*ours, theirs);
}

TEST_F(MemifDpdkTest, IsAClientOfDpdksServer) {
    RecordProperty("left_behind", of_dpdk);
    const Dpdk theirs("server", client.path);
    ASSERT_EQ(rte_eth_dev_start(theirs.port), 0);
    const auto ours = open(client);
    exchange(*ours, theirs);
}

}  // namespace
}  // namespace verbline::pmd
