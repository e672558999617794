// SPDX-License-Identifier: BSD-3-Clause

// Where programs that were compiled once look for the functions and fields that are not symbols. The structures are of
// the system's header, which may be newer than this library: these are the places that never move (64-bit machines).

#include <cstddef>

#include <infiniband/verbs.h>

#include <gtest/gtest.h>

namespace {

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// verbs_context grows at its beginning; old programs count from its end.
consteval std::size_t before_context(std::size_t offset) {
    return (offsetof(verbs_context, context) - offset) / sizeof(void*);
}
#define PLACE(operation, words) static_assert(before_context(offsetof(verbs_context, operation)) == (words))
PLACE(sz, 1);
PLACE(close_xrcd, 3);
PLACE(open_xrcd, 4);
PLACE(create_srq_ex, 5);
PLACE(get_srq_num, 6);
PLACE(create_qp_ex, 7);
PLACE(open_qp, 8);
PLACE(query_device_ex, 13);
PLACE(priv, 14);
PLACE(create_cq_ex, 15);
PLACE(query_rt_values, 16);
PLACE(modify_cq, 23);
PLACE(alloc_td, 24);
PLACE(dealloc_td, 25);
PLACE(alloc_parent_domain, 26);
PLACE(free_dm, 31);
PLACE(alloc_dm, 32);
PLACE(reg_dm_mr, 33);
PLACE(alloc_null_mr, 38);
PLACE(advise_mr, 39);
PLACE(query_port, 40);
#undef PLACE

static_assert(offsetof(ibv_context, device) == 0 && offsetof(ibv_context, ops) == 8);
static_assert(offsetof(ibv_context_ops, alloc_mw) == 56 && offsetof(ibv_context_ops, bind_mw) == 64);
static_assert(offsetof(ibv_context_ops, dealloc_mw) == 72 && offsetof(ibv_context_ops, poll_cq) == 88);
static_assert(offsetof(ibv_context_ops, req_notify_cq) == 96 && offsetof(ibv_context_ops, post_srq_recv) == 160);
static_assert(offsetof(ibv_context_ops, post_send) == 200 && offsetof(ibv_context_ops, post_recv) == 208);
static_assert(offsetof(ibv_context, cmd_fd) == 264 && offsetof(ibv_context, async_fd) == 268);
static_assert(offsetof(ibv_context, abi_compat) == 320 && sizeof(ibv_context) == 328);

static_assert(offsetof(ibv_device, node_type) == 16 && offsetof(ibv_device, name) == 24);
static_assert(offsetof(ibv_device, dev_name) == 88 && offsetof(ibv_device, dev_path) == 152);
static_assert(offsetof(ibv_device, ibdev_path) == 408 && sizeof(ibv_device) == 664);

static_assert(sizeof(ibv_wc) == 48 && sizeof(ibv_send_wr) == 128 && sizeof(ibv_recv_wr) == 32 && sizeof(ibv_sge) == 16);
static_assert(sizeof(ibv_mr) == 48 && sizeof(ibv_mw) == 32 && sizeof(ibv_qp) == 160 && sizeof(ibv_srq) == 128);
static_assert(offsetof(ibv_qp, qp_num) == 52 && offsetof(ibv_qp, state) == 56 && offsetof(ibv_qp, qp_type) == 60);
static_assert(sizeof(ibv_cq) == 128 && offsetof(ibv_cq_ex, status) == 132 && offsetof(ibv_cq_ex, start_poll) == 144);

// ibv_qp_ex and ibv_cq_ex grow at their ends.
static_assert(offsetof(ibv_qp_ex, wr_id) == 168 && offsetof(ibv_qp_ex, wr_atomic_cmp_swp) == 184);
static_assert(offsetof(ibv_qp_ex, wr_start) == 320 && offsetof(ibv_qp_ex, wr_atomic_write) == 344);
static_assert(offsetof(ibv_cq_ex, read_completion_wallclock_ns) == 280);

// What verbs.h does with a context before it calls one of the operations: whole, old, and not extended at all.
TEST(Layout, AnOperationIsFoundOnlyWhereTheContextHasIt) {
    verbs_context context{};
    context.sz = sizeof context;
    context.query_rt_values = [](ibv_context*, ibv_values_ex*) { return 77; };
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    ibv_values_ex values{};
    EXPECT_EQ(ibv_query_rt_values_ex(&context.context, &values), 77);
    EXPECT_EQ(verbs_get_ctx_op(&context.context, alloc_td), nullptr) << "null: we do not have it";
    context.sz = 15 * sizeof(void*) + sizeof(ibv_context);
    EXPECT_EQ(ibv_query_rt_values_ex(&context.context, &values), EOPNOTSUPP) << "a context older than the operation";
    context.context.abi_compat = nullptr;
    EXPECT_EQ(verbs_get_ctx(&context.context), nullptr);
}

}  // namespace
