// SPDX-License-Identifier: BSD-3-Clause
// Opening, importing, querying, address handles, asynchronous events.
#include <thread>

#include <poll.h>

#include <nlohmann/json.hpp>

#include "apps/libibverbs/abi/describe.h"
#include "apps/libibverbs/objects/context.h"
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class DeviceVerbs : public test::VerbsTest {};

TEST_F(DeviceVerbs, PortsThatThereAreNot) {
    ibv_port_attr port{};
    for (const std::uint8_t number : {0, 2, 255}) EXPECT_EQ(ibv_query_port(context, number, &port), EINVAL);
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    EXPECT_EQ(port.state, IBV_PORT_ACTIVE) << "a pair's end, before anybody is there";
    EXPECT_EQ(port.active_mtu, IBV_MTU_4096);
}

TEST_F(DeviceVerbs, IndicesThatThereAreNot) {
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
    ibv_gid gid{};
    EXPECT_EQ(ibv_query_gid(context, 1, port.gid_tbl_len, &gid), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_query_gid(context, 1, -1, &gid), -1);
    EXPECT_EQ(ibv_query_gid(context, 2, 0, &gid), -1);
    ibv_gid_entry entry{};
    EXPECT_EQ(ibv_query_gid_ex(context, 1, static_cast<unsigned>(port.gid_tbl_len), &entry, 0), EINVAL);
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 200, &entry, 0), ENODATA) << "a hole";
    EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 1), EOPNOTSUPP);
    EXPECT_EQ(ibv_query_gid_table(context, &entry, 1, 0), -EINVAL) << "no room";
    __be16 pkey = 0;
    for (const int index : {-1, 1, 1000}) EXPECT_EQ(ibv_query_pkey(context, 1, index, &pkey), -1);
    EXPECT_EQ(ibv_get_pkey_index(context, 1, 0x1234), -1);
    EXPECT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
    EXPECT_EQ(ibv_get_pkey_index(context, 1, pkey), 0);
}

TEST_F(DeviceVerbs, QueriesOfOtherTimes) {
    ibv_device_attr_ex attributes{};
    ibv_query_device_ex_input later{.comp_mask = 1};
    EXPECT_EQ(ibv_query_device_ex(context, &later, &attributes), EINVAL);
    ibv_values_ex values{.comp_mask = 1u << 12};
    EXPECT_EQ(ibv_query_rt_values_ex(context, &values), 0);
    EXPECT_EQ(values.comp_mask, 0u) << "what it does not know it does not give";
}

TEST_F(DeviceVerbs, ImportingByADescriptor) {
    errno = 0;
    EXPECT_EQ(ibv_import_device(-1), nullptr);
    EXPECT_EQ(ibv_import_device(0), nullptr) << "a descriptor of something else";
    EXPECT_EQ(errno, EINVAL);
    const int copy = dup(context->cmd_fd);
    auto* const imported = ibv_import_device(copy);
    close(copy);
    ASSERT_EQ(imported, context);
    EXPECT_EQ(ibv_close_device(imported), 0);
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0) << "the other user has it still";
}

TEST_F(DeviceVerbs, AddressesThatCannotBe) {
    const auto refused = [&](int error, auto&& spoil) {
        auto path = own_path();
        spoil(path);
        EXPECT_REFUSED(error, ibv_create_ah(pd, &path));
    };
    refused(EINVAL, [](auto& p) { p.port_num = 0; });
    refused(EINVAL, [](auto& p) { p.port_num = 9; });
    refused(EINVAL, [](auto& p) { p.is_global = 0; });
    refused(EINVAL, [](auto& p) { p.grh.sgid_index = 200; });
    auto path = own_path();
    auto* const handle = ibv_create_ah(pd, &path);
    ASSERT_NE(handle, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_destroy_ah(handle), 0);
}

TEST_F(DeviceVerbs, DestroyingWaitsForEventsThatWereRead) {
    nonblocking(context->async_fd);
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(context, &event), -1);
    EXPECT_EQ(errno, EAGAIN);
    auto* const qp = make();
    connect(qp);
    ASSERT_EQ(receive(qp), 0);
    auto drain = attributes(IBV_QPS_SQD);
    drain.en_sqd_async_notify = 1;
    ASSERT_EQ(modify(qp, drain, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    pollfd waiting{.fd = context->async_fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&waiting, 1, 2000), 1);
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    std::atomic<bool> gone = false;
    std::thread destroying([&] {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
        gone = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(gone);
    ibv_ack_async_event(&event);
    destroying.join();
}

TEST_F(DeviceVerbs, TheDescriptionIsWhole) {
    const int size = verbline_describe(context, nullptr, 0);
    ASSERT_GT(size, 0);
    std::string text(static_cast<std::size_t>(size) + 100, 'x');
    const int again = verbline_describe(context, text.data(), text.size());
    ASSERT_GT(again, 0);
    ASSERT_LE(static_cast<std::size_t>(again), text.size());
    const auto said = nlohmann::json::parse(text.c_str());
    EXPECT_TRUE(said["link"].get<std::string>().starts_with("memif:"));
    EXPECT_EQ(said["addresses"][0], "10.9.0.1/24");
    EXPECT_TRUE(said["engine"].contains("rx_packets"));
    EXPECT_TRUE(said["device"].contains("tx_good_packets"));
}

}  // namespace
}  // namespace verbline::verbs
