// SPDX-License-Identifier: BSD-3-Clause
// Verbs as a program in C calls them, while each call of the library's fails once: a null or an errno, never an
// exception, and nothing stays.
#include "tests/support/faults.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/verbs_device.h"

namespace verbline::test {
namespace {

Error last_error() {
    const WithoutFaults saying;
    return {errno, std::strerror(errno)};
}

/// Destroys what a verb made when the scope ends, which must work whatever has failed before.
template <class Object, int (*Destroy)(Object*)>
struct Destroys {
    void operator()(Object* object) const { EXPECT_EQ(Destroy(object), 0); }
};
template <class Object, int (*Destroy)(Object*)>
using Owned = std::unique_ptr<Object, Destroys<Object, Destroy>>;

Outcome use(ibv_context* context) {
    static std::array<std::byte, 4096> memory;
    const Owned<ibv_pd, ibv_dealloc_pd> pd(ibv_alloc_pd(context));
    if (pd == nullptr) return last_error();
    const Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel(ibv_create_comp_channel(context));
    if (channel == nullptr) return last_error();
    const Owned<ibv_cq, ibv_destroy_cq> cq(ibv_create_cq(context, 16, nullptr, channel.get(), 0));
    if (cq == nullptr) return last_error();
    const Owned<ibv_mr, ibv_dereg_mr> mr(ibv_reg_mr(pd.get(), memory.data(), memory.size(), all_access));
    if (mr == nullptr) return last_error();
    const Owned<ibv_mw, ibv_dealloc_mw> mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
    if (mw == nullptr) return last_error();
    ibv_srq_init_attr shared{.srq_context = nullptr, .attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0}};
    const Owned<ibv_srq, ibv_destroy_srq> srq(ibv_create_srq(pd.get(), &shared));
    if (srq == nullptr) return last_error();
    ibv_qp_init_attr wanted{.send_cq = cq.get(),
                            .recv_cq = cq.get(),
                            .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
                            .qp_type = IBV_QPT_RC};
    const Owned<ibv_qp, ibv_destroy_qp> qp(ibv_create_qp(pd.get(), &wanted));
    if (qp == nullptr) return last_error();
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = 1;
    if (const int error =
            ibv_modify_qp(qp.get(), &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        return Error{error, std::strerror(error)};
    ibv_device_attr attributes{};
    if (const int error = ibv_query_device(context, &attributes)) return Error{error, std::strerror(error)};
    return {};
}

/// The port stays until the process ends: opened before, whole.
class OpenPort : public ::testing::Environment {
    void SetUp() override {
        auto* const context = ibv_open_device(the_device());
        ASSERT_NE(context, nullptr) << std::strerror(errno);
        EXPECT_EQ(ibv_close_device(context), 0);
    }
};
auto* const open_port = ::testing::AddGlobalTestEnvironment(new OpenPort);

TEST(VerbsFaults, GiveNullAndErrnoAndNothingStays) {
    const auto tally = expect_survives_faults("verbs", []() -> Outcome {
        auto** const list = ibv_get_device_list(nullptr);
        if (list == nullptr) return last_error();
        auto* const context = ibv_open_device(list[0]);
        const auto error = last_error();
        ibv_free_device_list(list);
        if (context == nullptr) return error;
        const auto outcome = use(context);
        EXPECT_EQ(ibv_close_device(context), 0);
        return outcome;
    });
    EXPECT_EQ(tally.out_of_memory, 0u) << "no program in C can catch that";
    EXPECT_GT(tally.errors, 10u);
}

}  // namespace
}  // namespace verbline::test
