// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/faults.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::test {
namespace {

TEST(Faults, EveryCallFailsOnceWithEachOfItsErrnos) {
    const auto tally = expect_survives_faults("two eventfds", [] -> Outcome {
        const FileDescriptor a(eventfd(0, EFD_CLOEXEC));
        if (!a) return Error{errno, std::strerror(errno)};
        const FileDescriptor b(eventfd(0, EFD_CLOEXEC));  // can do without
        return {};
    });
    EXPECT_EQ(tally.calls, 2u);
    EXPECT_EQ(tally.faults, 4u) << "EMFILE and ENOMEM";
    EXPECT_EQ(tally.errors, 2u);
    EXPECT_EQ(tally.recovered, 2u);
}

TEST(Faults, AllocationsFailToo) {
    const auto tally = expect_survives_faults("an allocation", [] -> Outcome {
        (void)std::make_unique<int>(1);
        return {};
    });
    EXPECT_EQ(tally.out_of_memory, 1u);
}

TEST(Faults, WhatAnErrorPathForgetsIsFound) {
    EXPECT_NONFATAL_FAILURE(
        {
            int kept = -1;
            expect_survives_faults("a careless program", [&kept] -> Outcome {
                const FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
                if (!fd) return Error{errno, "no socket"};
                const int on = 1;
                if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0) return {};
                kept = dup(fd.get());
                return Error{errno, "one is forgotten"};
            });
            close(kept);
        },
        "left behind: descriptor");
}

}  // namespace
}  // namespace verbline::test
