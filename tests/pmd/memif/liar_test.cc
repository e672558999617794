// SPDX-License-Identifier: BSD-3-Clause
// A client that lies.
#include <array>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "pmd/memif/channel.h"
#include "tests/pmd/memif/ends.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

struct Liar : MemifTest {
    memif::Channel connect() {
        auto channel = memif::connect_to(server.path);
        EXPECT_TRUE(channel);
        EXPECT_FALSE(device->link_up());
        memif::Message hello;
        FileDescriptor none;
        EXPECT_EQ(channel->receive(hello, none), memif::Channel::Received::message);
        EXPECT_EQ(hello.type, memif::MessageType::hello);
        return std::move(*channel);
    }
    /// Sends it and says whether the server hung up.
    bool refused(memif::Channel& channel, const memif::Message& message, int fd = -1) {
        EXPECT_TRUE(channel.send(message, fd));
        EXPECT_FALSE(device->link_up());
        memif::Message answer;
        FileDescriptor none;
        if (channel.receive(answer, none) != memif::Channel::Received::message) return true;
        return answer.type == memif::MessageType::disconnect;
    }
    static memif::Message init() {
        memif::Message message{.type = memif::MessageType::init};
        message.init.version = memif::version;
        return message;
    }
    static memif::Message region(std::uint64_t size, std::uint16_t index = 0) {
        memif::Message message{.type = memif::MessageType::add_region};
        message.add_region = {index, size};
        return message;
    }
    static memif::Message ring(std::uint32_t offset, std::uint8_t log2_size, std::uint16_t index = 0,
                               std::uint16_t in_region = 0) {
        memif::Message message{.type = memif::MessageType::add_ring};
        message.add_ring = {1, index, in_region, offset, log2_size, 0};
        return message;
    }
    std::unique_ptr<Memif> device = open(server);
};

TEST_F(Liar, IsRefusedWhateverItSays) {
    const auto memory = memif::SharedMemory::create(8192);
    const FileDescriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
    struct Case {
        const char* what;
        std::vector<std::pair<memif::Message, int>> accepted;
        memif::Message refused;
        int fd = -1;
    };
    auto other_version = init(), other_mode = init();
    other_version.init.version = 0x0300;
    other_mode.init.mode = 1;
    const int good = memory->fd();
    for (auto& [what, accepted, last, fd] : std::initializer_list<Case>{
             {"another version", {}, other_version},
             {"another mode", {}, other_mode},
             {"a region before init", {}, region(8192), good},
             {"a region without memory", {{init(), -1}}, region(8192)},
             {"a region larger than its memory", {{init(), -1}}, region(8193), good},
             {"an enormous region", {{init(), -1}}, region(~std::uint64_t{0}), good},
             {"an empty region", {{init(), -1}}, region(0), good},
             {"memory that may shrink", {{init(), -1}}, region(8192), unsealed.get()},
             {"memory that is none", {{init(), -1}}, region(8192), STDIN_FILENO},
             {"a region out of turn", {{init(), -1}}, region(8192, 1), good},
             {"a ring in no region", {{init(), -1}}, ring(0, 4)},
             {"a ring past the end", {{init(), -1}, {region(8192), good}}, ring(8192 - 64, 4)},
             {"a ring too large", {{init(), -1}, {region(8192), good}}, ring(0, 12)},
             {"a ring beyond reason", {{init(), -1}, {region(8192), good}}, ring(0, 255)},
             {"a crooked ring", {{init(), -1}, {region(8192), good}}, ring(1, 4)},
             {"a second ring for one queue", {{init(), -1}, {region(8192), good}, {ring(0, 4), -1}}, ring(1024, 4, 1)},
             {"no ring at all", {{init(), -1}, {region(8192), good}}, {.type = memif::MessageType::connect}},
             {"an unknown message", {{init(), -1}}, {.type = memif::MessageType{77}}},
             {"a server's message", {{init(), -1}}, {.type = memif::MessageType::connected}}}) {
        auto channel = connect();
        for (const auto& [message, descriptor] : accepted) EXPECT_FALSE(refused(channel, message, descriptor)) << what;
        EXPECT_TRUE(refused(channel, last, fd)) << what;
    }
    const auto honest = open(client);
    EXPECT_TRUE(wait_for([&] { return int{device->link_up()} + int{honest->link_up()} == 2; }));
}

TEST_F(Liar, WithoutTheRightCookieIsRefused) {
    const auto memory = memif::SharedMemory::create(8192);
    auto channel = connect();
    EXPECT_FALSE(refused(channel, init()));
    EXPECT_FALSE(refused(channel, region(8192), memory->fd()));
    EXPECT_FALSE(refused(channel, ring(0, 4)));
    auto back = ring(4096, 4);
    back.add_ring.flags = 0;
    EXPECT_FALSE(refused(channel, back));
    EXPECT_TRUE(refused(channel, {.type = memif::MessageType::connect}));
}

}  // namespace
}  // namespace verbline::pmd
