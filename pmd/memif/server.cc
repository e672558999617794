// SPDX-License-Identifier: BSD-3-Clause
// The server's side: listens, and validates everything that a client offers.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "pmd/memif/control_socket.h"
#include "pmd/memif/handshake.h"

namespace verbline::pmd::memif {
namespace {

constexpr std::uint64_t max_region_size = 1u << 30;

/// What the client has offered so far.
struct Offer {
    struct Ring {
        AddRing what;
        FileDescriptor signal;
    };
    bool identified = false;
    std::vector<SharedMemory> memory;
    std::vector<Ring> to_server, to_client;
};

class Server : public Handshake {
public:
    Server(const MemifOptions& options, rte_mempool* pool, Listener listener)
        : options_(options),
          pool_(pool),
          notifier_(options.notifier ? options.notifier : std::make_shared<const Notifier>()),
          listener_(std::move(listener)) {}
    Server(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer)
        : options_(options), pool_(pool), client_(std::move(peer)) {}

    Result<std::unique_ptr<SharedRings>> advance() override;
    bool alive() override;
    void hang_up(std::string_view reason) override {
        client_.refuse(reason);
        offer_ = {};
    }
    void abandon() override { client_.close(); }

private:
    bool greet();
    std::unexpected<Error> refuse(std::string_view reason);
    bool acknowledge() { return client_.send({.type = MessageType::ack}); }
    /// A reason to refuse the client, or nothing.
    std::optional<std::string_view> answer(const Message& message, FileDescriptor descriptor);
    std::optional<std::string_view> answer(const Init& init);
    std::optional<std::string_view> answer(const AddRegion& region, FileDescriptor descriptor);
    std::optional<std::string_view> answer(const AddRing& ring, FileDescriptor descriptor);
    std::optional<std::string_view> accept();

    MemifOptions options_;
    rte_mempool* pool_;
    std::shared_ptr<const Notifier> notifier_;  ///< none: the client is trusted
    Listener listener_;                         ///< none: there is one client, the one given
    ControlSocket client_;
    bool greeted_ = false;
    Offer offer_;
    std::unique_ptr<SharedRings> accepted_;
};

Result<std::unique_ptr<SharedRings>> Server::advance() {
    if (!client_) {
        if (listener_.fd) client_ = accept_from(listener_.fd);
        greeted_ = false;
    }
    if (!client_ || (!greeted_ && !greet())) return nullptr;
    while (!accepted_) {
        Message message;
        FileDescriptor descriptor;
        const auto received = client_.receive(message, descriptor);
        if (received == ControlSocket::Received::nothing) return nullptr;
        if (received == ControlSocket::Received::closed) {
            hang_up("");
            return nullptr;
        }
        if (received == ControlSocket::Received::malformed) return refuse("malformed message");
        if (const auto reason = answer(message, std::move(descriptor))) return refuse(*reason);
    }
    return std::move(accepted_);
}

std::unexpected<Error> Server::refuse(std::string_view reason) {
    hang_up(reason);
    return failure(EPROTO, fmt::format("memif {}: {}", options_.path, reason));
}

bool Server::alive() {
    Message message;
    FileDescriptor unexpected;
    if (client_.receive(message, unexpected) != ControlSocket::Received::nothing) return false;
    if (!listener_.fd) return true;
    if (auto second = accept_from(listener_.fd)) second.refuse("already connected");
    return true;
}

bool Server::greet() {
    offer_ = {};
    Message message{.type = MessageType::hello};
    const auto last_ring = static_cast<std::uint16_t>(options_.queues - 1);
    message.hello = {.name = program_name,
                     .min_version = version,
                     .max_version = version,
                     .max_region = max_regions - 1,
                     .max_server_to_client_ring = last_ring,
                     .max_client_to_server_ring = last_ring,
                     .max_log2_ring_size = max_log2_ring_size};
    greeted_ = client_.send(message);
    if (!greeted_) client_.close();
    return greeted_;
}

std::optional<std::string_view> Server::answer(const Message& message, FileDescriptor descriptor) {
    const bool carries = message.type == MessageType::add_region || message.type == MessageType::add_ring;
    if (descriptor && !carries) return "unexpected descriptor";
    switch (message.type) {
        case MessageType::init: return answer(message.init);
        case MessageType::add_region: return answer(message.add_region, std::move(descriptor));
        case MessageType::add_ring: return answer(message.add_ring, std::move(descriptor));
        case MessageType::connect: return accept();
        default: return "unexpected message";
    }
}

std::optional<std::string_view> Server::answer(const Init& init) {
    if (offer_.identified) return "unexpected message";
    if (init.version != version) return "memif version 2.0 only";
    if (init.id != options_.id) return "no interface with this id";
    if (init.mode != 0) return "Ethernet mode only";
    offer_.identified = true;
    return acknowledge() ? std::nullopt : std::optional("gone");
}

std::optional<std::string_view> Server::answer(const AddRegion& region, FileDescriptor descriptor) {
    if (!offer_.identified || !descriptor || region.index != offer_.memory.size() || region.index >= max_regions ||
        region.size > max_region_size) {
        return "invalid region";
    }
    auto memory = SharedMemory::map(std::move(descriptor), region.size);
    if (!memory) return "region smaller than its message states, or its memory can be truncated";
    offer_.memory.push_back(std::move(*memory));
    return acknowledge() ? std::nullopt : std::optional("gone");
}

std::optional<std::string_view> Server::answer(const AddRing& ring, FileDescriptor descriptor) {
    auto& rings = (ring.flags & AddRing::client_to_server) != 0 ? offer_.to_server : offer_.to_client;
    if (ring.index != rings.size() || rings.size() >= options_.queues) return "as many rings as the server has queues";
    if (ring.region >= offer_.memory.size() || ring.log2_size > max_log2_ring_size ||
        ring.offset % alignof(RingHeader) != 0 ||
        ring.offset + ring_bytes(ring.log2_size) > offer_.memory[ring.region].bytes().size()) {
        return "ring outside its region";
    }
    if (descriptor && !is_eventfd(descriptor.get())) return "a ring's signal is no eventfd";
    rings.push_back({ring, std::move(descriptor)});
    return acknowledge() ? std::nullopt : std::optional("gone");
}

std::optional<std::string_view> Server::accept() {
    if (offer_.to_server.size() != options_.queues || offer_.to_client.size() != options_.queues) {
        return "as many rings as the server has queues";
    }
    auto connection = std::make_unique<SharedRings>();
    connection->memory = std::move(offer_.memory);
    connection->notifier = notifier_;
    for (const auto& memory : connection->memory) connection->regions.push_back(memory.bytes());
    const auto memory_of = [&](const AddRing& ring) {
        return RingMemory{connection->regions[ring.region].data() + ring.offset, ring.log2_size};
    };
    for (auto& [ring, signal] : offer_.to_server) {
        if (memory_of(ring).header().cookie != RingHeader::magic) return "wrong ring";
        connection->rx.emplace_back(memory_of(ring), connection->regions, Direction::client_to_server, 0, pool_,
                                    signal.get());
        connection->signals.push_back(std::move(signal));
    }
    for (auto& [ring, signal] : offer_.to_client) {
        if (memory_of(ring).header().cookie != RingHeader::magic) return "wrong ring";
        connection->tx.emplace_back(memory_of(ring), connection->regions, Direction::server_to_client, 0, signal.get(),
                                    notifier_.get());
        connection->signals.push_back(std::move(signal));
    }
    for (auto& ring : connection->rx) ring.open();
    Message message{.type = MessageType::connected};
    message.connect = {program_name};
    if (!client_.send(message)) return "gone";
    accepted_ = std::move(connection);
    return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Handshake>> make_server(const MemifOptions& options, rte_mempool* pool) {
    auto listener = listen_at(options.path, options.trust);
    if (!listener) return std::unexpected(listener.error());
    return std::make_unique<Server>(options, pool, std::move(*listener));
}

std::unique_ptr<Handshake> make_connected_server(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer) {
    return std::make_unique<Server>(options, pool, std::move(peer));
}

}  // namespace verbline::pmd::memif
