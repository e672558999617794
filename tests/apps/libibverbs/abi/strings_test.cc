// SPDX-License-Identifier: BSD-3-Clause
#include <set>
#include <string>

#include <infiniband/verbs.h>

#include <gtest/gtest.h>

namespace {

/// Every value has a name of its own; those beside them have none.
template <class Value>
void expect_names(const char* (*name)(Value), int first, int last) {
    std::set<std::string> names;
    for (int value = first; value <= last; ++value) names.insert(name(static_cast<Value>(value)));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(last - first + 1));
    EXPECT_FALSE(names.contains("unknown"));
    for (const int value : {-1, first - 1, last + 1, 1 << 30}) EXPECT_STREQ(name(static_cast<Value>(value)), "unknown");
}

TEST(Strings, EveryValueHasAName) {
    expect_names(ibv_wc_status_str, IBV_WC_SUCCESS, IBV_WC_TM_RNDV_INCOMPLETE);
    expect_names(ibv_event_type_str, IBV_EVENT_CQ_ERR, IBV_EVENT_WQ_FATAL);
    expect_names(ibv_port_state_str, IBV_PORT_NOP, IBV_PORT_ACTIVE_DEFER);
    expect_names(ibv_node_type_str, IBV_NODE_CA, IBV_NODE_UNSPECIFIED);
}

// tests/system/verbs_abi compares all of them with the distribution's.
TEST(Strings, ThoseThatProgramsCompare) {
    EXPECT_STREQ(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
    EXPECT_STREQ(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error");
    EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
    EXPECT_STREQ(ibv_wc_status_str(IBV_WC_GENERAL_ERR), "general error");
    EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_GID_CHANGE), "GID table change");
    EXPECT_STREQ(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
    EXPECT_STREQ(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
}

}  // namespace
