// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/open_file.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/wire/mad.h"

namespace verbline::verbs {
namespace {

class UmadFileTest : public testing::Test {
protected:
    static constexpr std::uint32_t agent = 3;

    UmadFileTest() : file_(*Readiness::open(O_RDWR | O_NONBLOCK, "a umad device"), nullptr, FileId{1}) {}
    ~UmadFileTest() override { ::close(file_.descriptor()); }

    static Incoming message() { return {.agent = agent, .mad = std::vector<std::byte>(wire::mad_size)}; }
    bool readable() const {
        pollfd descriptor{file_.descriptor(), POLLIN, 0};
        return ::poll(&descriptor, 1, 0) == 1;
    }
    Result<std::size_t> take() { return file_.take(reinterpret_cast<std::uint64_t>(buffer_.data()), buffer_.size()); }

    UmadFile file_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(header_size(HeaderLayout::old) + wire::mad_size);
};

TEST_F(UmadFileTest, IsReadableWhileAMessageIsQueued) {
    EXPECT_FALSE(readable());
    file_.queue(message());
    EXPECT_TRUE(readable());
    EXPECT_EQ(*take(), buffer_.size());
    EXPECT_FALSE(readable());
    EXPECT_EQ(take().error().code, EAGAIN);
}

TEST_F(UmadFileTest, DropsTheMessagesOfAnAgent) {
    file_.queue(message());
    file_.drop(agent + 1);
    EXPECT_TRUE(readable());
    file_.drop(agent);
    EXPECT_FALSE(readable());
}

TEST_F(UmadFileTest, CountsWhatTheProgramDoesNotReadInTime) {
    for (std::size_t i = 0; i < UmadFile::most_queued; ++i) file_.queue({.agent = agent});
    EXPECT_EQ(file_.messages_lost(), 0U);
    file_.queue(message());
    file_.queue(message());
    EXPECT_EQ(file_.messages_lost(), 2U);
    file_.drop(agent);
    file_.queue(message());
    EXPECT_TRUE(take());
    EXPECT_EQ(file_.messages_lost(), 2U);
}

}  // namespace
}  // namespace verbline::verbs
