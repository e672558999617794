// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/program_descriptor.h"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

bool is_open(int descriptor) {
    return fcntl(descriptor, F_GETFD) >= 0;
}

ProgramDescriptor an_event() {
    return ProgramDescriptor(FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
}

TEST(ProgramDescriptors, AreTwoNumbersForOneFile) {
    const auto event = an_event();
    ASSERT_TRUE(event);
    EXPECT_NE(event.ours(), event.programs());
    EXPECT_EQ(eventfd_write(event.ours(), 3), 0);
    eventfd_t value = 0;
    EXPECT_EQ(eventfd_read(event.programs(), &value), 0);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(fcntl(event.programs(), F_GETFD), FD_CLOEXEC);
    EXPECT_TRUE(event.intact());
}

TEST(ProgramDescriptors, CloseBoth) {
    int ours = -1, programs = -1;
    {
        const auto event = an_event();
        ours = event.ours(), programs = event.programs();
    }
    EXPECT_FALSE(is_open(ours));
    EXPECT_FALSE(is_open(programs));
}

TEST(ProgramDescriptors, LeaveAloneWhatTheProgramHasPutThere) {
    int programs = -1;
    {
        const auto event = an_event();
        programs = event.programs();
        close(programs);
        EXPECT_FALSE(event.intact());
        const FileDescriptor another(open("/dev/null", O_RDONLY));
        ASSERT_TRUE(another);
        const int other = eventfd(0, 0);  // of the same kind
        dup2(other, programs);
        close(other);
        EXPECT_FALSE(event.intact());
        EXPECT_EQ(eventfd_write(event.ours(), 1), 0) << "ours goes on working";
    }
    EXPECT_TRUE(is_open(programs));
    close(programs);
}

TEST(ProgramDescriptors, AreNoneWithoutAFile) {
    EXPECT_FALSE(ProgramDescriptor(FileDescriptor()));
    EXPECT_FALSE(ProgramDescriptor());
}

TEST(ProgramDescriptors, MayBeTheProgramsToClose) {
    int programs = -1;
    {
        auto event = an_event();
        event.disown();
        const auto moved = std::move(event);
        programs = moved.programs();
    }
    EXPECT_TRUE(is_open(programs));
    close(programs);
}

}  // namespace
}  // namespace verbline::verbs
