// SPDX-License-Identifier: BSD-3-Clause
// Two connection managers on two hosts of a simulated fabric with a real subnet manager: LIDs, no GRH.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "control/cm/manager.h"
#include "control/cm/message.h"
#include "control/mad/open.h"
#include "control/mad/transport_channel.h"
#include "tests/support/counter.h"
#include "tests/support/fabric.h"

namespace verbline::cm {
namespace {

constexpr wire::CmServiceId served_id{0x0106'1234};
constexpr std::uint64_t exact = ~std::uint64_t{0};

struct Host {
    Host(const std::string& spec, control::Loop& l, unsigned number) : loop(l) {
        auto opened = mad::open(spec, loop);
        if (!opened) throw std::runtime_error(opened.error().what);
        transport = std::move(*opened);
        channel = std::make_unique<mad::TransportChannel>(*transport, loop);
        manager = Manager::create(Manager::Options{.ca_guid = transport->port().guid,
                                                   .seed = 0x1000u * number,
                                                   .gid_index =
                                                       [this](const wire::Gid& gid) {
                                                           return gid == transport->port().gid() ? std::optional(0u)
                                                                                                 : std::nullopt;
                                                       }},
                                  *channel);
        channel->receive(wire::MadClass::communication,
                         [this](std::span<const mad::GmpArrival> burst) { manager->receive(burst, loop.now()); });
    }
    ~Host() { channel->receive(wire::MadClass::communication, {}); }

    Path path_to(const Host& other) const {
        const auto& here = transport->port();
        const auto& there = other.transport->port();
        Path path{.route = {.address = {.dlid = there.lid}, .mac = {}}};
        path.local_gid = here.gid(), path.remote_gid = there.gid();
        path.local_lid = here.lid, path.remote_lid = there.lid;
        path.subnet_local = true;
        return path;
    }
    std::uint64_t counter(std::string_view name) const { return verbline::test::counter(*manager, name); }

    control::Loop& loop;
    std::unique_ptr<mad::Transport> transport;
    std::unique_ptr<mad::TransportChannel> channel;
    Manager::Pointer manager;
};

class OverTransport : public testing::Test {
protected:
    /// The next event of this kind; nothing after five seconds.
    template <class Kind>
    std::optional<Kind> wait(Endpoint& endpoint) {
        for (const auto end = loop->now() + 5 * second; loop->now() < end; loop->run_once(5 * millisecond)) {
            auto event = endpoint.poll(loop->now());
            if (event && std::holds_alternative<Kind>(*event)) return std::get<Kind>(std::move(*event));
            if (event) ADD_FAILURE() << "another event: " << event->index();
        }
        return std::nullopt;
    }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    verbline::test::Fabric fabric{verbline::test::star(4)};
    Host a{fabric.spec("H2"), *loop, 1}, b{fabric.spec("H3"), *loop, 2};
};

TEST_F(OverTransport, ConnectsAndDisconnects) {
    const auto listener = *b.manager->listen(served_id, exact, loop->now());
    const auto active = *a.manager->connect(
        {.primary = a.path_to(b), .service = served_id, .qpn = wire::Qpn{5}, .private_data = {std::byte{1}}},
        loop->now());
    const auto asked = wait<RequestReceived>(*listener);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->request.primary.remote_lid, a.transport->port().lid);
    EXPECT_EQ(asked->from.path.address.dlid, a.transport->port().lid);
    const auto& passive = asked->endpoint;
    ASSERT_TRUE(passive->reply({.qpn = wire::Qpn{6}, .private_data = {std::byte{2}}}, loop->now()));
    const auto replied = wait<ReplyReceived>(*active);
    ASSERT_TRUE(replied);
    EXPECT_EQ(replied->reply.qpn, wire::Qpn{6});
    EXPECT_EQ(replied->reply.private_data.front(), std::byte{2});
    ASSERT_TRUE(active->ready_to_use({std::byte{3}}, loop->now()));
    const auto established = wait<Established>(*passive);
    ASSERT_TRUE(established);
    EXPECT_EQ(established->private_data.front(), std::byte{3});
    ASSERT_TRUE(active->disconnect({}, loop->now()));
    EXPECT_TRUE(wait<DisconnectRequested>(*passive));
    EXPECT_TRUE(wait<Disconnected>(*active));
    EXPECT_EQ(a.counter("rx_dropped_stranger") + b.counter("rx_dropped_stranger"), 0u);
    EXPECT_EQ(a.counter("rx_drep"), 1u);
}

TEST_F(OverTransport, IsRefusedWhereNobodyListens) {
    const auto active =
        *a.manager->connect({.primary = a.path_to(b), .service = served_id, .qpn = wire::Qpn{5}}, loop->now());
    const auto rejected = wait<Rejected>(*active);
    ASSERT_TRUE(rejected);
    EXPECT_EQ(rejected->rejection.reason, wire::CmRejectReason::invalid_service_id);
}

TEST_F(OverTransport, FindsADatagramService) {
    const auto listener = *b.manager->listen(served_id, exact, loop->now());
    const auto client = *a.manager->resolve({.path = a.path_to(b), .service = served_id}, loop->now());
    const auto asked = wait<ServiceRequestReceived>(*listener);
    ASSERT_TRUE(asked);
    ASSERT_TRUE(asked->endpoint->respond({.qpn = wire::Qpn{7}, .qkey = wire::QKey{8}}, loop->now()));
    const auto answer = wait<ServiceReplyReceived>(*client);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->reply.qpn, wire::Qpn{7});
    EXPECT_EQ(answer->reply.qkey, wire::QKey{8});
}

/// A third host says what the peer would.
TEST_F(OverTransport, AnotherPortCannotClose) {
    const auto listener = *b.manager->listen(served_id, exact, loop->now());
    const auto active =
        *a.manager->connect({.primary = a.path_to(b), .service = served_id, .qpn = wire::Qpn{5}}, loop->now());
    const auto asked = wait<RequestReceived>(*listener);
    ASSERT_TRUE(asked);
    ASSERT_TRUE(asked->endpoint->reply({.qpn = wire::Qpn{6}}, loop->now()));
    ASSERT_TRUE(wait<ReplyReceived>(*active));
    ASSERT_TRUE(active->ready_to_use({}, loop->now()));
    ASSERT_TRUE(wait<Established>(*asked->endpoint));

    const Host other(fabric.spec("H4"), *loop, 3);
    const wire::CmDreq dreq{.local_id = static_cast<std::uint32_t>(active->local_id()),
                            .remote_id = static_cast<std::uint32_t>(asked->endpoint->local_id()),
                            .remote_qpn = wire::Qpn{6}};
    other.channel->send({.path = other.path_to(b).route}, make_mad(dreq, 1));
    for (const auto end = loop->now() + 5 * second; loop->now() < end && b.counter("rx_dropped_stranger") == 0;) {
        loop->run_once(5 * millisecond);
        EXPECT_FALSE(asked->endpoint->poll(loop->now()));
    }
    EXPECT_EQ(b.counter("rx_dropped_stranger"), 1u);
    EXPECT_EQ(asked->endpoint->state(), ConnectionState::established);
}

}  // namespace
}  // namespace verbline::cm
