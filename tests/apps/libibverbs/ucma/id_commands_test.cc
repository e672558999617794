// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/values.h"
#include "tests/apps/libibverbs/ucma/commands_fixture.h"

namespace verbline::verbs {
namespace {

using rdmacm::PortSpace;
using rdmacm::QueuePairType;
using testing::_;
using testing::Return;
using testing::SizeIs;

TEST_F(Commands, CreateAnId) {
    rdma_ucm_create_id_resp answer{};
    const rdma_ucm_create_id input{.uid = 99, .response = address_of(answer), .ps = RDMA_PS_UDP};
    EXPECT_CALL(service, create_id(testing::Ref(events), 99, PortSpace::udp, QueuePairType::ud)).WillOnce(Return(id));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CREATE_ID, input, sizeof answer), 0);
    EXPECT_EQ(answer.id, 7u);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CREATE_ID, input, sizeof answer - 1), ENOSPC);
}

TEST_F(Commands, CreateIdsOfSpacesAndTypesThatThereAre) {
    rdma_ucm_create_id_resp answer{};
    const auto create = [&](std::uint16_t space, std::uint8_t type) {
        return run(RDMA_USER_CM_CMD_CREATE_ID,
                   rdma_ucm_create_id{.uid = 0, .response = address_of(answer), .ps = space, .qp_type = type},
                   sizeof answer);
    };
    EXPECT_CALL(service, create_id(_, 0, PortSpace::tcp, QueuePairType::rc)).WillOnce(Return(id));
    EXPECT_EQ(create(RDMA_PS_TCP, 200), 0) << "the space says it";
    EXPECT_CALL(service, create_id(_, 0, PortSpace::ib, QueuePairType::xrc_target)).WillOnce(Return(id));
    EXPECT_EQ(create(RDMA_PS_IB, 10), 0);
    EXPECT_EQ(create(RDMA_PS_IB, 8), EINVAL) << "raw packets";
    EXPECT_EQ(create(0x0107, 2), EINVAL);
}

TEST_F(Commands, DestroyNewIdIfResponseIsUnwritable) {
    EXPECT_CALL(service, create_id).WillOnce(Return(id));
    EXPECT_CALL(service, destroy_id(id, now)).WillOnce(Return(0));
    const rdma_ucm_create_id input{.uid = 99, .response = nowhere, .ps = RDMA_PS_TCP};
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CREATE_ID, input, sizeof(rdma_ucm_create_id_resp)), EFAULT);
}

TEST_F(Commands, DestroyAnIdAndSayHowManyEventsItHad) {
    rdma_ucm_destroy_id_resp answer{};
    const rdma_ucm_destroy_id input{.response = address_of(answer), .id = 7};
    EXPECT_CALL(service, destroy_id(id, now)).WillOnce(Return(3)).WillOnce(Return(failure(ENOENT, "")));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_DESTROY_ID, input, sizeof answer), 0);
    EXPECT_EQ(answer.events_reported, 3u);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_DESTROY_ID, input, sizeof answer), ENOENT);
}

TEST_F(Commands, MigrateFromADescriptorOfOurs) {
    rdma_ucm_migrate_resp answer{};
    const rdma_ucm_migrate_id input{.response = address_of(answer), .id = 7, .fd = 5};
    EXPECT_EQ(run(RDMA_USER_CM_CMD_MIGRATE_ID, input, sizeof answer), EINVAL);
    target.other = &other;
    EXPECT_CALL(service, migrate(id, testing::Ref(events))).WillOnce(Return(2));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_MIGRATE_ID, input, sizeof answer), 0);
    EXPECT_EQ(answer.events_reported, 2u);
}

TEST_F(Commands, SetOptionsOfTheRightLength) {
    using Option = rdmacm::Service::Option;
    const std::uint32_t value = 0x0301;
    const auto set = [&](std::uint32_t name, std::uint32_t length, std::uint64_t at) {
        return run(
            RDMA_USER_CM_CMD_SET_OPTION,
            rdma_ucm_set_option{.optval = at, .id = 7, .level = RDMA_OPTION_ID, .optname = name, .optlen = length});
    };
    EXPECT_CALL(service, set_option(id, Option::type_of_service, 1));
    EXPECT_EQ(set(RDMA_OPTION_ID_TOS, 1, address_of(value)), 0);
    EXPECT_CALL(service, set_option(id, Option::reuse_address, 1));
    EXPECT_EQ(set(RDMA_OPTION_ID_REUSEADDR, 4, address_of(value)), 0);
    EXPECT_CALL(service, set_option(id, Option::ack_timeout, 1));
    EXPECT_EQ(set(RDMA_OPTION_ID_ACK_TIMEOUT, 1, address_of(value)), 0);
    EXPECT_EQ(set(RDMA_OPTION_ID_AFONLY, 1, address_of(value)), EINVAL);
    EXPECT_EQ(set(RDMA_OPTION_ID_AFONLY, 4, nowhere), EFAULT);
    EXPECT_EQ(set(9, 4, address_of(value)), ENOSYS);
}

TEST_F(Commands, SetPathsThatServeBothWays) {
    std::array<ib_path_rec_data, 2> paths{pack_record({.destination_lid = wire::Lid{4}, .mtu = wire::IbMtu{4}}), {}};
    const auto set = [&](std::uint32_t length) {
        return run(RDMA_USER_CM_CMD_SET_OPTION, rdma_ucm_set_option{.optval = address_of(paths),
                                                                    .id = 7,
                                                                    .level = RDMA_OPTION_IB,
                                                                    .optname = RDMA_OPTION_IB_PATH,
                                                                    .optlen = length});
    };
    EXPECT_CALL(service, set_paths(id, SizeIs(1), now));
    EXPECT_EQ(set(sizeof paths), 0);
    EXPECT_EQ(set(sizeof paths - 1), EINVAL);
    EXPECT_EQ(set(0), EINVAL);
    EXPECT_EQ(set(0xffff'ffb8), EINVAL) << "more than anybody has";
    paths[0].flags = IB_PATH_GMP;
    EXPECT_EQ(set(sizeof paths), EINVAL);
}

TEST_F(Commands, NotifyOfNothingButAMessageThatCameEarly) {
    EXPECT_CALL(service, notify_established(id, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = 7, .event = 4}), 0);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = 7, .event = 5}), EINVAL);
}

}  // namespace
}  // namespace verbline::verbs
