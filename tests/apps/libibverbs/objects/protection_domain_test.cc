// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/protection_domain.h"

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Domains : public test::VerbsTest {};

TEST_F(Domains, InUseAreBusy) {
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY) << "a region is in it";
}

TEST_F(Domains, ParentsAndThreads) {
    ibv_td_init_attr thread_how{.comp_mask = 1};
    EXPECT_REFUSED(EOPNOTSUPP, ibv_alloc_td(context, &thread_how));
    thread_how.comp_mask = 0;
    auto* const thread = ibv_alloc_td(context, &thread_how);
    ASSERT_NE(thread, nullptr);
    ibv_parent_domain_init_attr how{};
    EXPECT_REFUSED(EINVAL, ibv_alloc_parent_domain(context, &how));
    how = {.pd = pd, .comp_mask = 1u << 10};
    EXPECT_REFUSED(EOPNOTSUPP, ibv_alloc_parent_domain(context, &how));
    how = {.pd = pd, .td = thread};
    auto* const parent = ibv_alloc_parent_domain(context, &how);
    ASSERT_NE(parent, nullptr);
    EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    EXPECT_EQ(ibv_dealloc_td(thread), 0);
}

TEST_F(Domains, Imports) {
    EXPECT_REFUSED(ENOENT, ibv_import_pd(context, 0x7fffffff));
    auto* const imported = ibv_import_pd(context, pd->handle);
    ASSERT_NE(imported, nullptr);
    EXPECT_EQ(imported->handle, pd->handle);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    ibv_unimport_pd(imported);
}

}  // namespace
}  // namespace verbline::verbs
