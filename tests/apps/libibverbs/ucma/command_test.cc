// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/command.h"

#include "tests/apps/libibverbs/ucma/commands_fixture.h"

namespace verbline::verbs {
namespace {

TEST_F(Commands, RejectTruncatedOrUnreadableInput) {
    const rdma_ucm_cmd_hdr header{.cmd = RDMA_USER_CM_CMD_LISTEN, .in = 8, .out = 0};
    const auto read = [&](std::size_t length) { return Command::read(address_of(header), length); };
    EXPECT_EQ(read(7).error().code, EINVAL);
    EXPECT_EQ(read(15).error().code, EINVAL);
    EXPECT_EQ(Command::read(nowhere, 64).error().code, EFAULT);
    EXPECT_EQ(Command::read(~std::uint64_t{7}, 64).error().code, EFAULT);
}

TEST_F(Commands, UnknownNumbersReturnEnosys) {
    for (const std::uint32_t number : {23u, 24u, 0xffff'ffffu}) EXPECT_EQ(run(number, rdma_ucm_listen{}), EINVAL);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_GET_OPTION, rdma_ucm_listen{}), ENOSYS);
}

TEST_F(Commands, ThatAreTooShortDoNothing) {
    for (std::uint32_t number = 0; number <= RDMA_USER_CM_CMD_JOIN_MCAST; ++number) {
        EXPECT_NE(run(number, rdma_ucm_listen{}, 0xffff, 2), 0) << number;
        EXPECT_NE(run(number, rdma_ucm_listen{}, 0, 0), 0) << number;
    }
}

TEST_F(Commands, OfOlderProgramsAreZeroWhereTheyEnd) {
    rdma_ucm_connect input{};
    input.conn_param.valid = 1;
    input.id = 7;
    EXPECT_CALL(service, connect(id, testing::_, now));
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CONNECT, input, 0, sizeof input - sizeof input.ece), 0);
    EXPECT_EQ(run(RDMA_USER_CM_CMD_CONNECT, input, 0, sizeof input - sizeof input.ece - 1), EINVAL);
}

}  // namespace
}  // namespace verbline::verbs
