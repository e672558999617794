// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/privileged_port.h"

#include <array>
#include <cerrno>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

/// Of the calling thread, which ends soon.
void give_up_privilege() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> all{};
    ASSERT_EQ(syscall(SYS_capget, &header, all.data()), 0);
    all[CAP_TO_INDEX(CAP_NET_BIND_SERVICE)].effective &= ~CAP_TO_MASK(CAP_NET_BIND_SERVICE);
    ASSERT_EQ(syscall(SYS_capset, &header, all.data()), 0);
}

int code(std::uint16_t port) {
    const auto may = may_bind(port);
    return may ? 0 : may.error().code;
}

TEST(PrivilegedPort, IsRefusedWithoutTheRight) {
    SKIP_UNLESS_ROOT();
    const test::Namespace inside;
    inside.enter([] {
        EXPECT_EQ(code(1), 0);
        give_up_privilege();
        EXPECT_EQ(code(1), EACCES);
        EXPECT_EQ(code(1023), EACCES);
        EXPECT_EQ(code(1024), 0);
        EXPECT_EQ(code(0), 0) << "any";
        EXPECT_EQ(may_bind(99).error().what,
                  "port 99 is for the privileged: take one from 1024 on, or give the program CAP_NET_BIND_SERVICE");
    });
}

TEST(PrivilegedPort, BeginsWhereTheAdministratorSays) {
    SKIP_UNLESS_ROOT();
    const test::Namespace inside;
    inside.run("sysctl -qw net.ipv4.ip_unprivileged_port_start=80");
    inside.enter([] {
        give_up_privilege();
        EXPECT_EQ(code(79), EACCES);
        EXPECT_EQ(code(80), 0);
    });
}

}  // namespace
}  // namespace verbline::host
