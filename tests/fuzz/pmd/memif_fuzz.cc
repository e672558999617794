// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A whole conversation of a memif server with a client that says, hands over and writes what it likes, in any order:
/// nothing blocks, no descriptor and no packet is left behind.

#include <array>
#include <filesystem>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmd/memif/memif.h"
#include "tests/fuzz/datapath/packets.h"
#include "tests/support/unix_socket.h"

namespace verbline {
namespace {

using namespace pmd::memif;
using fuzz::expect;

constexpr unsigned log2_size = 3, slots = 1 << log2_size;
constexpr std::uint32_t slot = 128, rings = 2 * ring_bytes(log2_size), memory_size = rings + 2 * slots * slot;

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd")));
}

/// What a client can put into a message: good, and everything else.
class Descriptors {
public:
    static constexpr unsigned kinds = 9;

    Descriptors() {
        expect(pipe2(broken_.data(), O_CLOEXEC) == 0 && pipe2(full_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
        close(broken_[0]);
        const std::array<char, 4096> filler{};
        while (write(full_[1], filler.data(), filler.size()) > 0) {}
        fcntl(full_[1], F_SETFL, 0);  // from now on it blocks
        eventfd_write(full_event_.get(), ~eventfd_t{0} - 1);
        expect(ftruncate(unsealed_.get(), memory_size) == 0 && ftruncate(small_.get(), 64) == 0);
        fcntl(small_.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    }
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;
    ~Descriptors() {
        for (const int fd : {broken_[1], full_[0], full_[1]}) close(fd);
    }
    int of_kind(unsigned kind) const {
        const std::array<int, kinds> all{memory.fd(),     event.get(),  full_event_.get(), broken_[1],      full_[1],
                                         unsealed_.get(), small_.get(), epoll_.get(),      directory_.get()};
        return all[kind % kinds];
    }

    SharedMemory memory = SharedMemory::create(memory_size).value();
    FileDescriptor event{eventfd(0, EFD_CLOEXEC)};

private:
    FileDescriptor full_event_{eventfd(0, EFD_CLOEXEC)};
    FileDescriptor unsealed_{memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    FileDescriptor small_{memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    FileDescriptor epoll_{epoll_create1(EPOLL_CLOEXEC)}, directory_{open("/", O_RDONLY | O_CLOEXEC)};
    std::array<int, 2> broken_{}, full_{};
};

class Conversation {
public:
    Conversation(pmd::Memif& server, const std::string& path) : server_(server), path_(path) {}

    void play(fuzz::Input input) {
        while (!input.empty()) step(input);
    }

private:
    void step(fuzz::Input& input) {
        switch (input.byte() % 12) {
            case 0: socket_ = test::connect_to(path_); break;
            case 1: socket_ = FileDescriptor(); break;
            case 2: shake_hands(input); break;
            case 3: say(message(input), input); break;
            case 4: say_bytes(input); break;
            case 5: scribble(input); break;
            case 6: advance(input); break;
            case 7: send(input); break;
            case 8: receive(); break;
            case 9: server_.want_rx_event(0, input.byte() % 2 == 0); break;
            case 10: take_away(input); break;
            default: server_.link_up(); break;
        }
    }
    static Message message(fuzz::Input& input) {
        Message one{.type = MessageType{input.byte()}};
        switch (input.byte() % 4) {
            case 0: one.init = {.version = version, .id = input.byte(), .mode = 0, .secret = {}, .name = {}}; break;
            case 1:
                one.add_region = {static_cast<std::uint16_t>(input.byte() % 4), memory_size + input.byte() % 2};
                break;
            case 2:
                one.add_ring = {
                    static_cast<std::uint16_t>(input.byte() % 2), static_cast<std::uint16_t>(input.byte() % 3),
                    static_cast<std::uint16_t>(input.byte() % 3), input.word(),
                    static_cast<std::uint8_t>(input.byte() % 20), 0};
                break;
            default: std::ranges::copy(input.take(64), one.bytes.begin()); break;
        }
        return one;
    }
    void say(const Message& message, fuzz::Input& input) {
        std::vector<int> fds(input.byte() % 4);
        for (auto& fd : fds) fd = descriptors_.of_kind(input.byte());
        test::send_packet(socket_, std::as_bytes(std::span(&message, 1)), fds);
        server_.link_up();
    }
    void say_bytes(fuzz::Input& input) {
        test::send_packet(socket_, input.take(input.byte()));
        server_.link_up();
    }
    void say(Message message, int fd) {
        test::send_packet(socket_, std::as_bytes(std::span(&message, 1)), std::span(&fd, fd >= 0 ? 1 : 0));
        server_.link_up();
    }
    /// As an honest client, but for its signals.
    void shake_hands(fuzz::Input& input) {
        socket_ = test::connect_to(path_);
        server_.link_up();
        Message one{.type = MessageType::init};
        one.init.version = version;
        say(one, -1);
        one = {.type = MessageType::add_region};
        one.add_region = {0, memory_size};
        say(one, descriptors_.memory.fd());
        for (const std::uint16_t way : {1, 0}) {
            lay_out(way == 1 ? 0 : 1);
            one = {.type = MessageType::add_ring};
            const auto at = way == 1 ? 0 : static_cast<std::uint32_t>(ring_bytes(log2_size));
            one.add_ring = {way, 0, 0, at, log2_size, 0};
            say(one, descriptors_.of_kind(1 + input.byte() % 2));
        }
        say({.type = MessageType::connect}, -1);
    }
    RingHeader& header(unsigned ring) {
        return *reinterpret_cast<RingHeader*>(descriptors_.memory.bytes().data() + ring * ring_bytes(log2_size));
    }
    void lay_out(unsigned ring) {
        header(ring) = {.cookie = RingHeader::magic, .flags = 0, .head = 0, .tail = 0};
        if (ring == 1) header(ring).head = slots;
        for (std::uint32_t i = 0; i < slots; ++i) {
            const Descriptor one{0, 0, slot, rings + (ring * slots + i) * slot, 0};
            std::memcpy(reinterpret_cast<std::byte*>(&header(ring)) + sizeof(RingHeader) + i * sizeof(one), &one,
                        sizeof(one));
        }
    }
    void scribble(fuzz::Input& input) {
        const auto memory = descriptors_.memory.bytes();
        const auto at = input.word() % memory.size();
        const auto bytes = input.take(1 + input.byte() % 16);
        std::ranges::copy(bytes.first(std::min(bytes.size(), memory.size() - at)), memory.begin() + at);
    }
    void advance(fuzz::Input& input) {
        auto& ring = header(input.byte() % 2);
        (input.byte() % 4 == 0 ? ring.tail : ring.head) += input.byte() % (slots + 2);
    }
    void send(fuzz::Input& input) {
        const std::size_t segment = input.byte() + 1u;
        auto* packet = fuzz::make_packet(input.take(input.byte() * 2u), segment);
        if (server_.tx_burst(0, std::span(&packet, 1)) == 0) rte_pktmbuf_free(packet);
    }
    void receive() {
        std::array<rte_mbuf*, 4> burst;
        for (auto* packet : std::span(burst).first(server_.rx_burst(0, burst))) {
            fuzz::expect_sound(packet);
            rte_pktmbuf_free(packet);
        }
    }
    void take_away(fuzz::Input& input) {
        const int fd = descriptors_.memory.fd();
        if (input.byte() % 2 == 0) {
            expect(ftruncate(fd, 0) != 0);
        } else {
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, memory_size);
        }
    }

    pmd::Memif& server_;
    const std::string& path_;
    FileDescriptor socket_;
    Descriptors descriptors_;
};

void play(fuzz::Input input) {
    static const auto notifier = std::make_shared<const Notifier>();
    const std::string path = std::filesystem::temp_directory_path() / ("verbline-fuzz-" + std::to_string(getpid()));
    auto server = pmd::Memif::create({.path = path, .server = true, .notifier = notifier}, fuzz::packet_pool()).value();
    expect(server->up().has_value());
    Conversation(*server, path).play(input);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline;
    static const bool warm = (play(fuzz::Input({})), true);  // what is made once is not a leak
    fuzz::expect(warm);
    const auto descriptors = open_descriptors();
    play(fuzz::Input(std::as_bytes(std::span(data, size))));
    fuzz::expect(open_descriptors() == descriptors);
    fuzz::expect(rte_mempool_in_use_count(fuzz::packet_pool()) == 0);
    return 0;
}
