// SPDX-License-Identifier: BSD-3-Clause
// The client's part: it makes the memory, lays out the rings and offers them.
#include <algorithm>
#include <cstring>

#include <sys/eventfd.h>

#include <fmt/format.h>

#include "pmd/base/free_descriptors.h"
#include "pmd/memif/control_socket.h"
#include "pmd/memif/handshake.h"

namespace verbline::pmd::memif {
namespace {

class Client : public Handshake {
public:
    Client(const MemifOptions& options, rte_mempool* pool) : options_(options), pool_(pool) {}
    Client(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer)
        : options_(options), pool_(pool), connects_(false), channel_(std::move(peer)) {}

    Result<std::unique_ptr<SharedRings>> advance() override;
    bool alive() override;
    void hang_up(std::string_view reason) override {
        channel_.refuse(reason);
        pending_.reset();
    }
    void abandon() override { channel_.close(); }
    void move_to(const std::string& path) override { options_.path = path; }
    std::uint64_t untrusted_servers() const override { return untrusted_servers_; }

private:
    bool connect();
    std::unexpected<Error> refuse(std::string_view reason);
    bool answer(const Message& message);
    bool offer(const Hello& hello);
    Result<std::unique_ptr<SharedRings>> lay_out() const;

    MemifOptions options_;
    rte_mempool* pool_;
    bool connects_ = true;  ///< by the path; else there is one connection, the one given
    ControlSocket channel_;
    std::unique_ptr<SharedRings> pending_;  ///< offered, not yet accepted
    bool accepted_ = false;
    std::uint64_t untrusted_servers_ = 0;
};

bool Client::connect() {
    if (!connects_ || options_.path.empty()) return false;
    auto channel = connect_to(options_.path, options_.trust);
    if (!channel) {
        if (channel.error().code == EPERM) ++untrusted_servers_;
        return false;
    }
    channel_ = std::move(*channel);
    accepted_ = false;
    return true;
}

Result<std::unique_ptr<SharedRings>> Client::advance() {
    if (!channel_ && !connect()) return nullptr;
    Message message;
    for (FileDescriptor unexpected;;) {
        const auto received = channel_.receive(message, unexpected);
        if (received == ControlSocket::Received::nothing) return nullptr;
        if (received == ControlSocket::Received::closed) {
            hang_up("");
            return nullptr;
        }
        if (received == ControlSocket::Received::malformed || unexpected || !answer(message))
            return refuse("protocol error");
        if (!accepted_) continue;
        // Only now: the server may clear the rings until it has accepted.
        for (auto& ring : pending_->rx) ring.open();
        return std::move(pending_);
    }
}

std::unexpected<Error> Client::refuse(std::string_view reason) {
    hang_up(reason);
    return failure(EPROTO, fmt::format("memif {}: {}", options_.path, reason));
}

bool Client::alive() {
    Message message;
    FileDescriptor unexpected;
    switch (channel_.receive(message, unexpected)) {
        case ControlSocket::Received::nothing: return true;
        case ControlSocket::Received::closed:
        case ControlSocket::Received::malformed: return false;
        case ControlSocket::Received::message: return message.type != MessageType::disconnect;
    }
    return false;
}

bool Client::answer(const Message& message) {
    switch (message.type) {
        case MessageType::hello: return offer(message.hello);
        case MessageType::ack: return pending_ != nullptr;
        case MessageType::connected: return accepted_ = pending_ != nullptr;
        default: return false;
    }
}

/// All at once; each is acknowledged, and `connected` comes last.
bool Client::offer(const Hello& hello) {
    if (pending_ || hello.min_version > version || hello.max_version < version ||
        hello.max_log2_ring_size < options_.log2_ring_size || hello.max_client_to_server_ring + 1 < options_.queues ||
        hello.max_server_to_client_ring + 1 < options_.queues) {
        return false;
    }
    auto connection = lay_out();
    if (!connection) return false;
    pending_ = std::move(*connection);

    Message init{.type = MessageType::init};
    init.init = {.version = version, .id = options_.id, .mode = 0, .secret = {}, .name = program_name};
    Message region{.type = MessageType::add_region};
    region.add_region = {.index = 0, .size = pending_->regions[0].size()};
    if (!channel_.send(init) || !channel_.send(region, pending_->memory[0].fd())) return false;
    for (unsigned i = 0; i < 2u * options_.queues; ++i) {
        const bool to_server = i < options_.queues;
        Message ring{.type = MessageType::add_ring};
        ring.add_ring = {.flags = to_server ? AddRing::client_to_server : std::uint16_t{0},
                         .index = static_cast<std::uint16_t>(i % options_.queues),
                         .region = 0,
                         .offset = static_cast<std::uint32_t>(i * ring_bytes(options_.log2_ring_size)),
                         .log2_size = static_cast<std::uint8_t>(options_.log2_ring_size),
                         .private_header_size = 0};
        if (!channel_.send(ring, pending_->signals[i].get())) return false;
    }
    Message connect{.type = MessageType::connect};
    connect.connect = {program_name};
    return channel_.send(connect);
}

/// One region: all rings, client to server first, then the buffers of each in the same order.
Result<std::unique_ptr<SharedRings>> Client::lay_out() const {
    const auto rings = 2u * options_.queues;
    const std::uint32_t slots = 1u << options_.log2_ring_size;
    const auto buffers_at = rings * ring_bytes(options_.log2_ring_size);
    auto memory = SharedMemory::create(buffers_at + std::size_t{rings} * slots * options_.buffer_size);
    if (!memory) return std::unexpected(memory.error());
    auto connection = std::make_unique<SharedRings>();
    connection->regions.push_back(memory->bytes());
    connection->memory.push_back(std::move(*memory));

    auto* const start = connection->regions[0].data();
    for (unsigned i = 0; i < rings; ++i) {
        // Not an EventDescriptor: the peer holds it as well, and a server has such ones from its client in `signals`.
        FileDescriptor event(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        if (!event) return no_descriptors(errno, "memif");
        const auto& signal = connection->signals.emplace_back(std::move(event));
        const RingMemory ring{start + i * ring_bytes(options_.log2_ring_size), options_.log2_ring_size};
        ring.header().cookie = RingHeader::magic;
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            const Descriptor descriptor{.flags = 0,
                                        .region = 0,
                                        .length = options_.buffer_size,
                                        .offset = static_cast<std::uint32_t>(
                                            buffers_at + (std::size_t{i} * slots + slot) * options_.buffer_size)};
            std::memcpy(ring.start + sizeof(RingHeader) + slot * sizeof(Descriptor), &descriptor, sizeof(descriptor));
        }
        if (i < options_.queues) {
            connection->tx.emplace_back(ring, connection->regions, Direction::client_to_server, options_.buffer_size,
                                        signal.get());
        } else {
            connection->rx.emplace_back(ring, connection->regions, Direction::server_to_client, options_.buffer_size,
                                        pool_, signal.get());
        }
    }
    return connection;
}

}  // namespace

bool SharedRings::broken() const {
    const auto is_broken = [](const RingEnd& ring) { return ring.broken(); };
    return std::ranges::any_of(tx, is_broken) || std::ranges::any_of(rx, is_broken);
}

bool SharedRings::unread() const {
    return std::ranges::any_of(rx, &Consumer::unread);
}

void SharedRings::wake_receivers() const {
    for (const auto& ring : rx) {
        if (ring.signal() >= 0) signal_eventfd(ring.signal(), notifier.get());
    }
}

Result<std::unique_ptr<Handshake>> make_client(const MemifOptions& options, rte_mempool* pool) {
    // A server that is not running yet may start; a path that is not trusted is an error at once.
    if (auto good = check_place(options.path, options.trust); !good) return std::unexpected(good.error());
    return std::make_unique<Client>(options, pool);
}

std::unique_ptr<Handshake> make_connected_client(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer) {
    return std::make_unique<Client>(options, pool, std::move(peer));
}

}  // namespace verbline::pmd::memif
