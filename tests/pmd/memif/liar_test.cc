// SPDX-License-Identifier: BSD-3-Clause
// A client that lies.
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "pmd/memif/control_socket.h"
#include "tests/pmd/memif/ends.h"
#include "tests/support/unix_socket.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

struct Liar : MemifTest {
    memif::ControlSocket connect() {
        auto channel = memif::connect_to(server.path, server.trust);
        EXPECT_TRUE(channel);
        EXPECT_FALSE(device->link_up());
        memif::Message hello;
        FileDescriptor none;
        EXPECT_EQ(channel->receive(hello, none), memif::ControlSocket::Received::message);
        EXPECT_EQ(hello.type, memif::MessageType::hello);
        return std::move(*channel);
    }
    /// Sends it and says whether the server hung up.
    bool refused(memif::ControlSocket& channel, const memif::Message& message, int fd = -1) {
        EXPECT_TRUE(channel.send(message, fd));
        EXPECT_FALSE(device->link_up());
        memif::Message answer;
        FileDescriptor none;
        if (channel.receive(answer, none) != memif::ControlSocket::Received::message) return true;
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
    static std::size_t open_descriptors() {
        return static_cast<std::size_t>(std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd")));
    }
    std::uint64_t refusals() const { return counter(*device, "link_refusals"); }
    std::unique_ptr<Memif> device = open(server);
};

TEST_F(Liar, InvalidMessagesAreRejected) {
    const auto memory = memif::SharedMemory::create(8192);
    const FileDescriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const FileDescriptor reader(ends[0]), writer(ends[1]), epoll(epoll_create1(EPOLL_CLOEXEC));
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
             {"a server's message", {{init(), -1}}, {.type = memif::MessageType::connected}},
             {"a second init", {{init(), -1}}, init()},
             {"init with a descriptor", {}, init(), good},
             {"a pipe for a signal", {{init(), -1}, {region(8192), good}}, ring(0, 4), writer.get()},
             {"an epoll for a signal", {{init(), -1}, {region(8192), good}}, ring(0, 4), epoll.get()},
             {"memory for a signal", {{init(), -1}, {region(8192), good}}, ring(0, 4), good}}) {
        const auto before = refusals();
        auto channel = connect();
        for (const auto& [message, descriptor] : accepted) EXPECT_FALSE(refused(channel, message, descriptor)) << what;
        EXPECT_TRUE(refused(channel, last, fd)) << what;
        EXPECT_EQ(refusals(), before + 1) << what;
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

TEST_F(Liar, LeavesNoDescriptorBehind) {
    const auto hello_back = init();
    const auto message = std::as_bytes(std::span(&hello_back, 1));
    const std::array several{STDIN_FILENO, STDIN_FILENO, STDIN_FILENO};
    {
        const auto warm = test::connect_to(server.path);
        device->link_up();
    }
    device->link_up();
    const auto before = open_descriptors();
    for (unsigned count = 1; count <= 3; ++count) {
        for (const auto size : {message.size(), message.size() - 1, std::size_t{1}}) {
            const auto socket = test::connect_to(server.path);
            EXPECT_FALSE(device->link_up());
            EXPECT_TRUE(test::send_packet(socket, message.first(size), std::span(several).first(count)));
            EXPECT_FALSE(device->link_up());
            EXPECT_EQ(open_descriptors(), before + 1) << count << " descriptors, " << size << " bytes";
        }
    }
    EXPECT_EQ(refusals(), 9u);
}

/// The other end written by hand: what it does with memory and signals is the test's to say.
struct HandmadeClient {
    static constexpr unsigned log2_size = 4, slots = 1 << log2_size;
    static constexpr std::uint32_t slot = 256, rings = 2 * memif::ring_bytes(log2_size),
                                   size = rings + 2 * slots * slot;

    HandmadeClient() {
        for (unsigned ring = 0; ring < 2; ++ring) {
            header(ring).cookie = memif::RingHeader::magic;
            for (unsigned i = 0; i < slots; ++i) {
                const memif::Descriptor one{0, 0, slot, rings + (ring * slots + i) * slot, 0};
                std::memcpy(start(ring) + sizeof(memif::RingHeader) + i * sizeof(one), &one, sizeof(one));
            }
        }
        header(1).head = slots;
    }
    std::byte* start(unsigned ring) const { return memory->bytes().data() + ring * memif::ring_bytes(log2_size); }
    memif::RingHeader& header(unsigned ring) const { return *reinterpret_cast<memif::RingHeader*>(start(ring)); }

    /// Indices and descriptors that are right now and then, and change between one look at them and the next.
    void scribble(unsigned seed, const std::atomic<bool>& stop) const {
        std::minstd_rand random(seed);
        while (!stop) {
            for (unsigned ring = 0; ring < 2; ++ring) {
                const memif::Descriptor one{static_cast<std::uint16_t>(random() % 2), 0,
                                            static_cast<std::uint32_t>(random() % (2 * slot)),
                                            static_cast<std::uint32_t>(random() % size), 0};
                std::memcpy(start(ring) + sizeof(memif::RingHeader) + random() % slots * sizeof(one), &one,
                            sizeof(one));
            }
            std::atomic_ref(header(0).head) += static_cast<std::uint16_t>(random() % 100 == 0);
            std::atomic_ref(header(1).head) += static_cast<std::uint16_t>(random() % 100 == 0);
        }
    }

    Result<memif::SharedMemory> memory = memif::SharedMemory::create(size);
    FileDescriptor to_server{eventfd(0, EFD_CLOEXEC)}, to_client{eventfd(0, EFD_CLOEXEC)};  // both may block
};

struct HandmadeLiar : Liar {
    /// Until the server has all that it needs but `connect`.
    memif::ControlSocket offer(const HandmadeClient& peer) {
        auto channel = connect();
        EXPECT_FALSE(refused(channel, init()));
        EXPECT_FALSE(refused(channel, region(HandmadeClient::size), peer.memory->fd()));
        EXPECT_FALSE(refused(channel, ring(0, HandmadeClient::log2_size), peer.to_server.get()));
        auto back = ring(memif::ring_bytes(HandmadeClient::log2_size), HandmadeClient::log2_size);
        back.add_ring.flags = 0;
        EXPECT_FALSE(refused(channel, back, peer.to_client.get()));
        return channel;
    }
};

TEST_F(HandmadeLiar, CannotMakeUsWaitForItsSignal) {
    const HandmadeClient peer;
    auto channel = offer(peer);
    // Full, so that a write would wait, as the connection's first signals would.
    ASSERT_EQ(eventfd_write(peer.to_server.get(), ~eventfd_t{0} - 1), 0);
    ASSERT_EQ(eventfd_write(peer.to_client.get(), ~eventfd_t{0} - 1), 0);
    ASSERT_TRUE(channel.send({.type = memif::MessageType::connect}));
    ASSERT_TRUE(device->link_up());
    peer.header(1).flags = 0;  // wants signals
    for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(send(*device, test::pattern(60)));
    device->want_rx_event(0, true);
    device->want_rx_event(0, false);
    channel.close();
    EXPECT_FALSE(device->link_up());
}

TEST_F(HandmadeLiar, ConcurrentRingWritesAreHarmless) {
    std::minstd_rand random(1);
    for (unsigned round = 0; round < 100; ++round) {
        const HandmadeClient peer;
        auto channel = offer(peer);
        ASSERT_TRUE(channel.send({.type = memif::MessageType::connect}));
        ASSERT_TRUE(device->link_up());
        std::atomic<bool> stop{false};
        std::jthread scribbler([&, seed = random()] { peer.scribble(static_cast<unsigned>(seed), stop); });
        for (unsigned i = 0; i < 1000 && device->link_up(); ++i) {
            send(*device, test::pattern(1 + random() % 600));
            rte_mbuf* packet = nullptr;
            if (device->rx_burst(0, std::span(&packet, 1)) == 1) Packet{packet};
        }
        stop = true;
        scribbler.join();
        channel.close();
        ASSERT_TRUE(wait_for([&] { return !device->link_up(); }));
    }
}

}  // namespace
}  // namespace verbline::pmd
