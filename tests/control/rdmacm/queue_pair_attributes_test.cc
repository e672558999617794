// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/queue_pair_attributes.h"

#include <infiniband/verbs.h>

#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using transport::QueuePairState;

constexpr std::uint32_t bits(unsigned mask) {
    return mask;
}

struct QueuePairValues : testing::Test {
    Network network;
    Host &client = network.host(0), &server = network.host(1);
    IdNumber active{}, passive{};

    QueuePairAttributes of(Host& host, IdNumber id, QueuePairState state) {
        auto attributes = host.service->init_queue_pair(id, state);
        EXPECT_TRUE(attributes) << attributes.error().what;
        return attributes.value_or(QueuePairAttributes{});
    }
    void request(QueuePairType active_type, QueuePairType passive_type) {
        const auto listener = server.service->create_id(server.queue, 77, PortSpace::tcp, passive_type);
        ASSERT_TRUE(server.service->bind(listener, any4(service_port), network.now));
        ASSERT_TRUE(server.service->listen(listener, 0, network.now));
        active = client.service->create_id(client.queue, 11, PortSpace::tcp, active_type);
        ASSERT_TRUE(client.service->resolve_address(active, std::nullopt, ipv4(10, 0, 0, 2, service_port), second,
                                                    network.now));
        client.expect(EventKind::address_resolved);
        ASSERT_TRUE(client.service->resolve_route(active, second, network.now));
        client.expect(EventKind::route_resolved);
        const ConnectParameters parameters{.qpn = wire::Qpn{0x111},
                                           .responder_resources = 4,
                                           .initiator_depth = 2,
                                           .retry_count = 5,
                                           .rnr_retry_count = 6};
        ASSERT_TRUE(client.service->connect(active, parameters, network.now));
        network.settle();
        passive = server.expect(EventKind::connect_request).id;
    }
    void accept() {
        const ConnectParameters parameters{
            .qpn = wire::Qpn{0x222}, .responder_resources = 2, .initiator_depth = 3, .rnr_retry_count = 1};
        ASSERT_TRUE(server.service->accept(passive, 22, parameters, network.now));
        network.settle();
        client.expect(EventKind::connect_response);
    }
};

TEST(QueuePairMask, HasTheVerbsBits) {
    EXPECT_EQ(attribute::state, bits(IBV_QP_STATE));
    EXPECT_EQ(attribute::access_flags, bits(IBV_QP_ACCESS_FLAGS));
    EXPECT_EQ(attribute::pkey_index, bits(IBV_QP_PKEY_INDEX));
    EXPECT_EQ(attribute::port, bits(IBV_QP_PORT));
    EXPECT_EQ(attribute::qkey, bits(IBV_QP_QKEY));
    EXPECT_EQ(attribute::path, bits(IBV_QP_AV));
    EXPECT_EQ(attribute::mtu, bits(IBV_QP_PATH_MTU));
    EXPECT_EQ(attribute::timeout, bits(IBV_QP_TIMEOUT));
    EXPECT_EQ(attribute::retry_count, bits(IBV_QP_RETRY_CNT));
    EXPECT_EQ(attribute::rnr_retry, bits(IBV_QP_RNR_RETRY));
    EXPECT_EQ(attribute::receive_psn, bits(IBV_QP_RQ_PSN));
    EXPECT_EQ(attribute::max_reads, bits(IBV_QP_MAX_QP_RD_ATOMIC));
    EXPECT_EQ(attribute::min_rnr_timer, bits(IBV_QP_MIN_RNR_TIMER));
    EXPECT_EQ(attribute::send_psn, bits(IBV_QP_SQ_PSN));
    EXPECT_EQ(attribute::max_destination_reads, bits(IBV_QP_MAX_DEST_RD_ATOMIC));
    EXPECT_EQ(attribute::destination, bits(IBV_QP_DEST_QPN));
    EXPECT_EQ(access_flag::remote_write, bits(IBV_ACCESS_REMOTE_WRITE));
    EXPECT_EQ(access_flag::remote_read, bits(IBV_ACCESS_REMOTE_READ));
    EXPECT_EQ(access_flag::remote_atomic, bits(IBV_ACCESS_REMOTE_ATOMIC));
}

TEST_F(QueuePairValues, BeforeThereIsAConnection) {
    const auto id = client.service->create_id(client.queue, 11, PortSpace::tcp, QueuePairType::rc);
    EXPECT_EQ(client.service->init_queue_pair(id, QueuePairState::init).error().code, EINVAL) << "no port";
    ASSERT_TRUE(client.service->bind(id, ipv4(10, 0, 0, 1), network.now));
    const auto init = of(client, id, QueuePairState::init);
    EXPECT_EQ(init.mask, bits(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    EXPECT_EQ(init.access_flags, 0u) << "nothing is agreed";
}

TEST_F(QueuePairValues, OfTheActiveSide) {
    request(QueuePairType::rc, QueuePairType::rc);
    const auto init = of(client, active, QueuePairState::init);
    EXPECT_EQ(init.access_flags, bits(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
    EXPECT_EQ(client.service->init_queue_pair(active, QueuePairState::rtr).error().code, EINVAL)
        << "the peer has not answered";
    accept();
    const auto rtr = of(client, active, QueuePairState::rtr);
    EXPECT_EQ(rtr.mask, bits(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
    EXPECT_EQ(rtr.destination, wire::Qpn{0x222});
    EXPECT_EQ(rtr.mtu, 4);
    EXPECT_EQ(rtr.max_destination_reads, 3) << "what the peer begins";
    EXPECT_EQ(rtr.min_rnr_timer, 0);
    EXPECT_EQ(rtr.path.gid_index, 3u);
    EXPECT_EQ(rtr.path.address.dgid, gid4(10, 0, 0, 2));
    EXPECT_EQ(rtr.path.mac, link::mac_of_link_local(server.port().facts().port_gid));
    const auto rts = of(client, active, QueuePairState::rts);
    EXPECT_EQ(rts.mask, bits(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT));
    EXPECT_EQ(rts.retry_count, 5);
    EXPECT_EQ(rts.rnr_retry, 1) << "the peer's answer";
    EXPECT_EQ(rts.max_reads, 2) << "what the peer answers";
    EXPECT_EQ(rts.timeout, 19) << "twice the lifetime of a packet; the peer's delay is small beside it";
}

TEST_F(QueuePairValues, OfThePassiveSide) {
    request(QueuePairType::rc, QueuePairType::rc);
    const auto before = of(server, passive, QueuePairState::rts);
    EXPECT_EQ(before.max_reads, 4) << "as the peer asks";
    EXPECT_EQ(before.timeout, 19);
    EXPECT_EQ(before.retry_count, 5);
    EXPECT_EQ(before.rnr_retry, 6);
    EXPECT_EQ(of(server, passive, QueuePairState::rtr).max_destination_reads, 2);
    EXPECT_EQ(of(server, passive, QueuePairState::rtr).destination, wire::Qpn{0x111});
    accept();
    EXPECT_EQ(of(server, passive, QueuePairState::rts).max_reads, 3) << "as accepted";
    // Each end receives what the other sends.
    EXPECT_EQ(of(server, passive, QueuePairState::rtr).receive_psn, of(client, active, QueuePairState::rts).send_psn);
    EXPECT_EQ(of(client, active, QueuePairState::rtr).receive_psn, of(server, passive, QueuePairState::rts).send_psn);
    EXPECT_NE(of(client, active, QueuePairState::rtr).receive_psn,
              of(server, passive, QueuePairState::rtr).receive_psn);
}

TEST_F(QueuePairValues, TheUsersTimeoutGoesFirst) {
    request(QueuePairType::rc, QueuePairType::rc);
    accept();
    ASSERT_TRUE(client.service->set_option(active, Service::Option::ack_timeout, 9));
    EXPECT_EQ(of(client, active, QueuePairState::rts).timeout, 9);
}

TEST_F(QueuePairValues, UcHasNoReadsAndNoRetries) {
    request(QueuePairType::uc, QueuePairType::uc);
    accept();
    EXPECT_EQ(of(client, active, QueuePairState::rtr).mask,
              bits(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
    EXPECT_EQ(of(client, active, QueuePairState::rts).mask, bits(IBV_QP_STATE | IBV_QP_SQ_PSN));
    EXPECT_EQ(client.service->set_option(active, Service::Option::ack_timeout, 9).error().code, EINVAL);
}

TEST_F(QueuePairValues, XrcIsHalfOnEachSide) {
    request(QueuePairType::xrc_initiator, QueuePairType::xrc_target);
    accept();
    EXPECT_EQ(of(client, active, QueuePairState::rtr).mask & (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0u);
    EXPECT_EQ(of(client, active, QueuePairState::rts).mask,
              bits(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                   IBV_QP_TIMEOUT));
    EXPECT_NE(of(server, passive, QueuePairState::rtr).mask & IBV_QP_MAX_DEST_RD_ATOMIC, 0u);
    EXPECT_EQ(of(server, passive, QueuePairState::rts).mask, bits(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT));
}

TEST_F(QueuePairValues, UdIsAlwaysTheSame) {
    const auto id = client.service->create_id(client.queue, 11, PortSpace::udp, QueuePairType::ud);
    ASSERT_TRUE(client.service->bind(id, ipv4(10, 0, 0, 1), network.now));
    for (const auto state : {QueuePairState::init, QueuePairState::rtr, QueuePairState::rts}) {
        const auto attributes = of(client, id, state);
        EXPECT_EQ(attributes.state, state);
        EXPECT_EQ(attributes.mask, bits(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
        EXPECT_EQ(attributes.qkey, wire::QKey{0x01234567});
    }
}

}  // namespace
}  // namespace verbline::rdmacm
