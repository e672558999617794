// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <endian.h>

#include "apps/libibverbs/ucma/socket_address.h"
#include "datapath/link/ip_gid.h"
#include "tests/apps/libibverbs/ucma/commands_fixture.h"

namespace verbline::verbs {
namespace {

using rdmacm::SocketAddress;
using testing::_;
using testing::Return;

SocketAddress ipv4(unsigned last, std::uint16_t port) {
    return {.family = rdmacm::Family::ipv4, .gid = link::gid_of(wire::ipv4(10, 9, 0, last)), .port = port};
}

TEST_F(Commands, BindAnAddress) {
    EXPECT_CALL(service, bind(id, ipv4(1, 7174), now)).Times(2);
    rdma_ucm_bind_ip old{};
    old.id = 7;
    old.addr = to_ip_storage(ipv4(1, 7174));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_BIND_IP, old), 0);
    rdma_ucm_bind input{.id = 7, .addr_size = 16, .reserved = 0, .addr = to_storage(ipv4(1, 7174))};
    EXPECT_EQ(run(RDMA_USER_CM_CMD_BIND, input), 0);
    input.addr_size = 28;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_BIND, input), EINVAL);
    input.addr_size = 16, input.reserved = 1;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_BIND, input), EINVAL);
    old.addr.sin6_family = infiniband_family;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_BIND_IP, old), EINVAL) << "it has no room for one";
}

TEST_F(Commands, ResolveWithAndWithoutASource) {
    rdma_ucm_resolve_addr input{};
    input.id = 7, input.timeout_ms = 2000;
    input.dst_size = 16, input.dst_addr = to_storage(ipv4(2, 7174));
    EXPECT_CALL(service, resolve_address(id, std::optional<SocketAddress>(), ipv4(2, 7174), 2 * second, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_RESOLVE_ADDR, input), 0);
    input.src_size = 16, input.src_addr = to_storage(ipv4(1, 0));
    EXPECT_CALL(service, resolve_address(id, std::optional(ipv4(1, 0)), ipv4(2, 7174), 2 * second, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_RESOLVE_ADDR, input), 0);
    input.dst_size = 0;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_RESOLVE_ADDR, input), EINVAL);

    rdma_ucm_resolve_ip old{};
    old.id = 7, old.timeout_ms = 1;
    old.dst_addr = to_ip_storage(ipv4(2, 1));
    EXPECT_CALL(service, resolve_address(id, std::optional<SocketAddress>(), ipv4(2, 1), millisecond, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_RESOLVE_IP, old), 0);
}

TEST_F(Commands, ResolveARoute) {
    EXPECT_CALL(service, resolve_route(id, second, now)).WillOnce(Return(failure(EINVAL, "")));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = 7, .timeout_ms = 1000}), EINVAL);
}

TEST_F(Commands, QueryAddressesGidsAndPaths) {
    const rdmacm::ResolvedRoute route{.source = ipv4(1, 10),
                                      .destination = ipv4(2, 20),
                                      .paths = {wire::PathRecord{.destination_gid = ipv4(2, 0).gid, .hop_limit = 64}},
                                      .source_gid = ipv4(1, 0).gid,
                                      .destination_gid = ipv4(2, 0).gid,
                                      .pkey = wire::PKey{0x8001},
                                      .space = rdmacm::PortSpace::tcp};
    EXPECT_CALL(service, route(id)).WillRepeatedly(Return(route));
    rdma_ucm_query_addr_resp answer{};
    rdma_ucm_query input{.response = address_of(answer), .id = 7, .option = RDMA_USER_CM_QUERY_ADDR};
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY, input, sizeof answer), 0);
    EXPECT_EQ(*to_address(answer.dst_addr, answer.dst_size), ipv4(2, 20));
    EXPECT_EQ(answer.port_num, 0) << "not bound to a device";

    input.option = RDMA_USER_CM_QUERY_GID;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY, input, sizeof answer), 0);
    const auto source = to_address(answer.src_addr, answer.src_size).value();
    EXPECT_EQ(source.gid, ipv4(1, 0).gid);
    EXPECT_EQ(source.service_id, 0x0106'000au) << "annex A11: the space, the port";
    EXPECT_EQ(to_address(answer.dst_addr, answer.dst_size)->service_id, 0x0106'0014u);
    EXPECT_EQ(source.pkey, wire::PKey{0x8001});
    EXPECT_EQ(be16toh(answer.pkey), 0x8001) << "in network byte order";

    constexpr auto head = sizeof(rdma_ucm_query_path_resp), one = sizeof(ib_path_rec_data);
    std::array<std::uint32_t, (head + 2 * one) / 4> records{};
    const auto flags = [&](std::size_t i) { return records[(head + i * one) / 4]; };
    input.option = RDMA_USER_CM_QUERY_PATH, input.response = address_of(records);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY, input, head), 0) << "no room for any of them";
    EXPECT_EQ(records[0], 1u) << "of how many there are";
    EXPECT_EQ(flags(0), 0u);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY, input, sizeof records), 0);
    EXPECT_NE(flags(0), 0u);
    EXPECT_EQ(flags(1), 0u);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY, input, 1), ENOSPC);
    input.option = 3;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY, input, sizeof records), ENOSYS);
}

TEST_F(Commands, QueryARouteAsOldProgramsDo) {
    rdma_ucm_query_route_resp answer{};
    const rdma_ucm_query input{.response = address_of(answer), .id = 7};
    EXPECT_CALL(service, route(id))
        .WillOnce(Return(rdmacm::ResolvedRoute{.source = ipv4(1, 10), .destination = ipv4(2, 20)}))
        .WillOnce(Return(failure(ENOENT, "")));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY_ROUTE, input, sizeof answer, 12), 0);
    EXPECT_EQ(be16toh(answer.dst_addr.sin6_port), 20) << "which is where that of IPv4 is";
    EXPECT_EQ(run(RDMA_USER_CM_CMD_QUERY_ROUTE, input, sizeof answer), ENOENT);
}

}  // namespace
}  // namespace verbline::verbs
