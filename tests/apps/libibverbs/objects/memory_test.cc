// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/memory.h"

#include <limits>

#include <sys/mman.h>

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Memory : public test::VerbsTest {};

TEST_F(Memory, AccessThatCannotBe) {
    EXPECT_REFUSED(EINVAL, ibv_reg_mr(pd, memory.data(), 64, int{IBV_ACCESS_REMOTE_WRITE}));
    EXPECT_REFUSED(EINVAL, ibv_reg_mr(pd, memory.data(), 64, int{IBV_ACCESS_REMOTE_ATOMIC}));
    EXPECT_REFUSED(EINVAL, ibv_reg_mr(pd, memory.data(), 64, 1 << 19));
    auto* const optional = ibv_reg_mr(pd, memory.data(), 64, static_cast<int>(1u << 25));
    EXPECT_NE(optional, nullptr) << "optional access is what a device may ignore";
    if (optional != nullptr) {
        EXPECT_EQ(ibv_dereg_mr(optional), 0);
    }
}

TEST_F(Memory, WhatIsNotMapped) {
    auto* const hole =
        static_cast<std::byte*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(munmap(hole, 8192), 0);
    EXPECT_REFUSED(EFAULT, ibv_reg_mr(pd, hole, 8192, int{IBV_ACCESS_LOCAL_WRITE}));
    EXPECT_REFUSED(EFAULT, ibv_reg_mr(pd, nullptr, 64, int{IBV_ACCESS_LOCAL_WRITE}));
    EXPECT_EQ(ibv_reg_mr(pd, memory.data(), std::numeric_limits<std::size_t>::max(), 0), nullptr)
        << "around the end of memory";
}

TEST_F(Memory, RegisteringAnew) {
    EXPECT_NE(ibv_rereg_mr(mr, 0, pd, memory.data(), 64, 0), 0);
    EXPECT_NE(ibv_rereg_mr(mr, 1 << 20, pd, memory.data(), 64, 0), 0);
    EXPECT_NE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), 0);
    EXPECT_NE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 64, 0), 0);
    EXPECT_NE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.data(), 0, 0), 0);
    EXPECT_NE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE), 0);
    auto* const other = ibv_alloc_pd(context);
    EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
    EXPECT_EQ(mr->pd, other);
    EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
    EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, nullptr, 0, 0), 0);
    EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_F(Memory, DeviceMemory) {
    ibv_alloc_dm_attr how{};
    EXPECT_REFUSED(EINVAL, ibv_alloc_dm(context, &how));
    how.length = std::numeric_limits<std::size_t>::max();
    EXPECT_REFUSED(EINVAL, ibv_alloc_dm(context, &how));
    how = {.length = 64, .log_align_req = 63};
    EXPECT_REFUSED(EINVAL, ibv_alloc_dm(context, &how));
    how = {.length = 64, .comp_mask = 1};
    EXPECT_REFUSED(EOPNOTSUPP, ibv_alloc_dm(context, &how));
    how = {.length = 64, .log_align_req = 6};
    auto* const dm = ibv_alloc_dm(context, &how);
    ASSERT_NE(dm, nullptr);
    std::uint64_t word = 0x0123456789abcdef;
    for (const std::uint64_t offset : {64ul, 60ul, 1ul, ~0ul})
        EXPECT_EQ(ibv_memcpy_to_dm(dm, offset, &word, 8), EFAULT) << offset;
    EXPECT_EQ(ibv_memcpy_from_dm(&word, dm, 0, 3), EFAULT);
    EXPECT_EQ(ibv_memcpy_to_dm(dm, 56, &word, 8), 0);
    std::uint64_t back = 0;
    EXPECT_EQ(ibv_memcpy_from_dm(&back, dm, 56, 8), 0);
    EXPECT_EQ(back, word);
    EXPECT_REFUSED(EINVAL, ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE));
    EXPECT_REFUSED(EINVAL, ibv_reg_dm_mr(pd, dm, 32, 64, IBV_ACCESS_ZERO_BASED));
    auto* const region = ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(ibv_free_dm(dm), EBUSY);
    EXPECT_NE(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_REFUSED(ENOENT, ibv_import_dm(context, 0x7fffffff));
    auto* const imported = ibv_import_dm(context, dm->handle);
    ASSERT_NE(imported, nullptr);
    EXPECT_EQ(ibv_free_dm(dm), EBUSY);
    ibv_unimport_dm(imported);
    EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(Memory, Windows) {
    EXPECT_REFUSED(EINVAL, ibv_alloc_mw(pd, static_cast<ibv_mw_type>(0)));
    EXPECT_REFUSED(EINVAL, ibv_alloc_mw(pd, static_cast<ibv_mw_type>(3)));
    auto* const window = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    ASSERT_NE(window, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(Memory, Imports) {
    EXPECT_REFUSED(ENOENT, ibv_import_mr(pd, 0x7fffffff));
    auto* const imported = ibv_import_mr(pd, mr->handle);
    ASSERT_NE(imported, nullptr);
    EXPECT_EQ(imported->lkey, mr->lkey);
    EXPECT_EQ(ibv_dereg_mr(mr), EBUSY);
    ibv_unimport_mr(imported);
}

TEST_F(Memory, Advice) {
    auto where = piece();
    EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &where, 1), 0);
    EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 8, &where, 1), EINVAL);
    EXPECT_EQ(ibv_advise_mr(pd, static_cast<ibv_advise_mr_advice>(3), 0, &where, 1), EOPNOTSUPP);
    where.lkey ^= 0xff;
    EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &where, 1), EINVAL);
}

TEST_F(Memory, OfAnotherDevice) {
    EXPECT_REFUSED(EOPNOTSUPP, ibv_reg_dmabuf_mr(pd, 0, 64, 0, -1, 0));
}

}  // namespace
}  // namespace verbline::verbs
