// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/registration.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

ib_user_mad_reg_req2 asked(unsigned qpn, unsigned of, unsigned rmpp = 0, unsigned oui = 0) {
    ib_user_mad_reg_req2 request{};
    request.qpn = qpn;
    request.mgmt_class = static_cast<__u8>(of);
    request.mgmt_class_version = 1;
    request.rmpp_version = static_cast<__u8>(rmpp);
    request.oui = oui;
    return request;
}
int error_of(const ib_user_mad_reg_req2& request) {
    const auto made = registration_of(request);
    return made ? 0 : made.error().code;
}

TEST(UmadRegistration, SaysWhatTheAgentWants) {
    auto request = asked(1, 0x32, 1, 0x1405);
    request.method_mask[0] = 1U << 3;
    request.method_mask[1] = 1;
    const auto made = registration_of(request);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->management_class, wire::MadClass{0x32});
    EXPECT_TRUE(made->methods[3] && made->methods[64]);
    EXPECT_EQ(made->methods.count(), 2U);
    EXPECT_EQ(made->oui, 0x1405U);
    EXPECT_TRUE(made->kernel_rmpp());
}

TEST(UmadRegistration, OfTheOldRequestIsTheSame) {
    ib_user_mad_reg_req request{};
    request.qpn = 1;
    request.mgmt_class = 0x32;
    request.mgmt_class_version = 1;
    request.oui[1] = 0x14, request.oui[2] = 5;
    request.method_mask[0] = 2;
    const auto made = registration_of(request);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->oui, 0x1405U);
    EXPECT_TRUE(made->methods[1]);
    request.qpn = 2;
    EXPECT_EQ(registration_of(request).error().code, EINVAL);
}

TEST(UmadRegistration, ThatTheKernelRefusesIsRefused) {
    EXPECT_EQ(error_of(asked(1, 0)), 0) << "no requests wanted";
    EXPECT_EQ(error_of(asked(2, 3)), EINVAL);
    EXPECT_EQ(error_of(asked(257, 3)), EINVAL) << "more than a byte";
    EXPECT_EQ(error_of(asked(1, 3, 2)), EINVAL) << "RMPP version";
    EXPECT_EQ(error_of(asked(1, 4, 1)), EINVAL) << "performance management has no RMPP";
    EXPECT_EQ(error_of(asked(1, 0x32)), EINVAL) << "without OUI";
    EXPECT_EQ(error_of(asked(1, 0x32, 0, 1U << 24)), EINVAL);
    EXPECT_EQ(error_of(asked(1, 0x50)), EINVAL);
    EXPECT_EQ(error_of(asked(1, 0x81)), EINVAL) << "of QP0";
    EXPECT_EQ(error_of(asked(0, 3)), EINVAL) << "of QP1";
    EXPECT_EQ(error_of(asked(0, 0x81)), 0);
    auto request = asked(1, 3, 1);
    request.mgmt_class_version = 0x83;
    EXPECT_EQ(error_of(request), EINVAL);
    request.mgmt_class_version = 2;
    request.flags = 2;
    EXPECT_EQ(error_of(request), EINVAL);
    request.flags = IB_USER_MAD_USER_RMPP;
    ASSERT_TRUE(registration_of(request));
    EXPECT_FALSE(registration_of(request)->kernel_rmpp());
    request.mgmt_class = 0;
    EXPECT_EQ(error_of(request), EINVAL);
}

}  // namespace
}  // namespace verbline::verbs
