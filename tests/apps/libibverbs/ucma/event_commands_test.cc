// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/socket_address.h"
#include "datapath/link/ip_gid.h"
#include "tests/apps/libibverbs/ucma/commands_fixture.h"

namespace verbline::verbs {
namespace {

using rdmacm::CmEvent;
using rdmacm::EventKind;
using testing::_;
using testing::Return;

class EventCommands : public Commands {
protected:
    int get(rdma_ucm_event_resp& answer, std::size_t room = sizeof(rdma_ucm_event_resp)) {
        return run(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{.response = address_of(answer)}, room);
    }
    void wait(const CmEvent& event) {
        events.events.push_back(event);
        EXPECT_CALL(service, take_event(testing::Ref(events))).WillOnce(Return(event));
    }
};

TEST_F(EventCommands, TellOfConnections) {
    rdma_ucm_event_resp answer{};
    EXPECT_EQ(get(answer), EAGAIN);
    wait({.kind = EventKind::rejected,
          .id = id,
          .user = 0x1234'5678'9abc,
          .status = 28,
          .connect = {.responder_resources = 4, .private_data = {std::byte{9}}}});
    EXPECT_EQ(get(answer), 0);
    EXPECT_EQ(answer.uid, 0x1234'5678'9abcu);
    EXPECT_EQ(answer.id, 7u);
    EXPECT_EQ(answer.event, 8u) << "RDMA_CM_EVENT_REJECTED";
    EXPECT_EQ(answer.status, 28u);
    EXPECT_EQ(answer.param.conn.private_data_len, 1);
    EXPECT_EQ(answer.param.conn.private_data[0], 9);
    EXPECT_EQ(answer.param.conn.responder_resources, 4);
}

TEST_F(EventCommands, TellOfDatagramPeersAndGroups) {
    rdma_ucm_event_resp answer{};
    wait({.kind = EventKind::multicast_join,
          .id = id,
          .user = 1,
          .group = rdmacm::GroupNumber{3},
          .datagram = true,
          .ud = {.qpn = wire::Qpn{0xffffff}, .qkey = wire::QKey{0x1234567}, .path = {.gid_index = 3}}});
    EXPECT_EQ(get(answer), 0);
    EXPECT_EQ(answer.id, 3u) << "the group's number";
    EXPECT_EQ(answer.param.ud.qp_num, 0xffffffu);
    EXPECT_EQ(answer.param.ud.qkey, 0x1234567u);
    EXPECT_EQ(answer.param.ud.ah_attr.port_num, 1);
}

TEST_F(EventCommands, KeepAnEventThatTheProgramCannotTake) {
    events.events.push_back({});
    rdma_ucm_event_resp answer{};
    EXPECT_EQ(run(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{.response = nowhere}, sizeof answer), EFAULT);
    EXPECT_EQ(get(answer, 64), ENOSPC);
}

TEST_F(EventCommands, FitIntoTheRoomOfOldPrograms) {
    struct {
        rdma_ucm_event_resp answer;
    } old;
    std::memset(&old, 0x55, sizeof old);
    wait({.kind = EventKind::established, .id = id});
    constexpr auto room = offsetof(rdma_ucm_event_resp, reserved);
    EXPECT_EQ(get(old.answer, room), 0);
    EXPECT_EQ(old.answer.event, 9u);
    EXPECT_EQ(old.answer.reserved, 0x5555'5555u) << "nothing is written behind it";
}

TEST_F(EventCommands, JoinAndLeaveGroups) {
    const rdmacm::SocketAddress group{.family = rdmacm::Family::ipv4, .gid = link::gid_of(wire::ipv4(239, 1, 1, 1))};
    rdma_ucm_create_id_resp answer{};
    rdma_ucm_join_mcast input{.response = address_of(answer),
                              .uid = 5,
                              .id = 7,
                              .addr_size = 16,
                              .join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
                              .addr = to_storage(group)};
    EXPECT_CALL(service, join(id, 5, group, true, now)).WillOnce(Return(rdmacm::GroupNumber{11}));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_JOIN_MCAST, input, sizeof answer), 0);
    EXPECT_EQ(answer.id, 11u);
    input.join_flags = 2;
    EXPECT_EQ(run(RDMA_USER_CM_CMD_JOIN_MCAST, input, sizeof answer), EINVAL);

    rdma_ucm_join_ip_mcast old{};
    old.response = nowhere, old.uid = 5, old.id = 7, old.addr = to_ip_storage(group);
    EXPECT_CALL(service, join(id, 5, group, false, now)).WillOnce(Return(rdmacm::GroupNumber{12}));
    EXPECT_CALL(service, leave(rdmacm::GroupNumber{12}, now)).WillOnce(Return(0));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_JOIN_IP_MCAST, old, sizeof answer), EFAULT);

    rdma_ucm_destroy_id_resp left{};
    EXPECT_CALL(service, leave(rdmacm::GroupNumber{11}, now)).WillOnce(Return(1));
    EXPECT_EQ(
        run(RDMA_USER_CM_CMD_LEAVE_MCAST, rdma_ucm_destroy_id{.response = address_of(left), .id = 11}, sizeof left), 0);
    EXPECT_EQ(left.events_reported, 1u);
}

}  // namespace
}  // namespace verbline::verbs
