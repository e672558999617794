// SPDX-License-Identifier: BSD-3-Clause
// Frames into an engine with a connected queue pair of each type. The input says what each frame is; lengths, addresses
// and CRCs are made right, so that every byte of it gets as far as the transports. Registered memory has neighbours
// that must not change, and all mbufs must come back.
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "datapath/wire/bth.h"
#include "tests/fuzz/datapath/packets.h"
#include "tests/support/link_frame.h"

using namespace verbline;
using fuzz::expect;
using transport::QueuePairType;

namespace {

constexpr std::size_t page = 4096;
constexpr wire::MacAddress ours{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}};
constexpr wire::MacAddress theirs{{std::byte{2}, {}, {}, {}, {}, std::byte{2}}};
constexpr wire::Qpn peer{0x123456};
constexpr std::uint32_t first_psn = 0xfffff0;

/// A device that is fed by the fuzzer and swallows what is sent.
class Feed : public pmd::NetDevice {
public:
    std::string_view name() const override { return "feed"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override { return ours; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        if (next == nullptr) return 0;
        burst[0] = std::exchange(next, nullptr);
        return 1;
    }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        for (auto* const frame : burst) fuzz::expect_sound(frame);
        rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
        return static_cast<std::uint16_t>(burst.size());
    }
    void counters(const CounterVisitor&) const override {}

    rte_mbuf* next = nullptr;

private:
    pmd::Capabilities capabilities_{.max_packet = 4096};
};

/// Everything of one input.
class World {
public:
    World();
    void post();
    void arrive(fuzz::Input& input);
    bool intact() const;

    std::array<std::unique_ptr<rdma::QueuePair>, 5> pairs;

private:
    void connect(rdma::QueuePair& pair);
    link::Envelope envelope() const;

    alignas(page) std::array<std::byte, 4 * page> memory_{};
    Feed feed_;
    std::unique_ptr<rdma::Device> device_;
    std::optional<rdma::MemoryRegion> region_;
    std::unique_ptr<transport::CompletionQueue> cq_;
    std::optional<rdma::XrcDomain> domain_;
    std::unique_ptr<rdma::SharedReceiveQueue> srq_;
    std::uint64_t address_ = 0;
    Time now_ = 0;
};

World::World() {
    static unsigned made = 0;
    device_ = std::move(*rdma::Device::create({.name = "fuzz" + std::to_string(made++),
                                               .device = &feed_,
                                               .pool = fuzz::packet_pool(),
                                               .mac = ours,
                                               .max_queue_pairs = 32,
                                               .max_kept_packets = 64}));
    device_->change_gids([](link::GidTable& gids) {
        gids.add_interface(1, ours);
        gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, 1)));
    });
    const auto pd = device_->allocate_pd();
    const auto bytes = std::span(memory_).subspan(page, 2 * page);
    address_ = 0x10000;
    region_.emplace(std::move(*device_->register_memory(
        pd, bytes, address_,
        memory::Access::local_write | memory::Access::remote_write | memory::Access::remote_read |
            memory::Access::remote_atomic | memory::Access::flush_global)));
    cq_ = device_->create_cq(64);
    domain_.emplace(device_->create_xrc_domain());
    srq_ = std::move(*device_->create_shared_receive_queue(pd, {.requests = 8, .segments = 1}, &*domain_, cq_.get()));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto type = static_cast<QueuePairType>(i);
        pairs[i] = std::move(
            *device_->create_queue_pair({.type = type,
                                         .pd = pd,
                                         .send_completions = cq_.get(),
                                         .receive_completions = cq_.get(),
                                         .send = {.requests = 8, .segments = 1},
                                         .receive = {.requests = 8, .segments = 1},
                                         .xrc_domain = type == QueuePairType::xrc_target ? &*domain_ : nullptr}));
        connect(*pairs[i]);
    }
    post();
}

void World::connect(rdma::QueuePair& pair) {
    constexpr auto access = memory::Access::remote_write | memory::Access::remote_read | memory::Access::remote_atomic;
    expect(pair.init({.access = access, .qkey = wire::QKey{0x1234}}).has_value());
    expect(pair.ready_to_receive({.remote = peer,
                                  .path = {.gid_index = 3,
                                           .address = {.global = true, .dgid = link::gid_of(wire::ipv4(10, 0, 0, 2))},
                                           .mac = theirs},
                                  .mtu = 256,
                                  .first = wire::Psn(first_psn),
                                  .max_reads = 2,
                                  .selective_ack = true})
               .has_value());
    expect(pair.ready_to_send({.first = wire::Psn(first_psn), .timeout = 1, .retries = 7, .max_reads = 2}).has_value());
}

/// Something of each kind, so that answers find what they answer.
void World::post() {
    using enum transport::SendOperation;
    const transport::Segment segment{address_, 1000, region_->lkey()}, eight{address_ + 64, 8, region_->lkey()};
    const auto local = static_cast<std::size_t>(QueuePairType::xrc_target);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (i == local) continue;
        static_cast<void>(pairs[i]->post(transport::ReceiveRequest{.segments = {&segment, 1}}));
        if (i == static_cast<std::size_t>(QueuePairType::ud)) continue;
        for (const auto operation : {read, send, fetch_add, write}) {
            const auto& from = operation == fetch_add ? eight : segment;
            static_cast<void>(pairs[i]->post(transport::SendRequest{
                .segments = {&from, 1}, .operation = operation, .flags = transport::send_signalled}));
        }
    }
    static_cast<void>(srq_->post({.segments = {&segment, 1}}));
}

link::Envelope World::envelope() const {
    return link::make_envelope(
        {.carrier = link::Carrier::roce_v2_ipv4, .mac = theirs, .gid = link::gid_of(wire::ipv4(10, 0, 0, 2))},
        {.global = true, .dgid = link::gid_of(wire::ipv4(10, 0, 0, 1))}, ours, 0xc000);
}

/// One frame: which queue pair, the opcode, how far from the expected PSN, headers from the input with the key made
/// right if they ask for it, and a payload.
void World::arrive(fuzz::Input& input) {
    const auto choice = input.byte(), opcode = input.byte();
    const auto distance = static_cast<std::int8_t>(input.byte());
    const auto outside = envelope();
    const auto& traits = transport::opcode_table[opcode];
    std::vector<std::byte> frame(outside.size + wire::Bth::size);
    const auto& pair = *pairs[choice % pairs.size()];
    wire::Bth{.opcode = opcode,
              .solicited = (choice & 0x40) != 0,
              .dest = pair.qpn(),
              .ack_request = (choice & 0x80) != 0,
              .psn = wire::Psn(first_psn + static_cast<std::uint32_t>(distance))}
        .emit(std::span(frame).last<wire::Bth::size>());

    std::vector<std::byte> headers(traits.headers);
    const auto given = input.take(headers.size());
    std::ranges::copy(given, headers.begin());
    const bool xrc = traits.service == transport::Service::xrc && traits.is_request();
    if (xrc && (choice & 0x20) == 0) wire::store32(headers, 0, srq_->number());
    if (traits.service == transport::Service::ud && !headers.empty()) wire::store32(headers, 0, 0x1234);
    const std::size_t reth = (xrc ? 4 : 0) + (traits.operation == transport::Operation::flush ? 4 : 0);
    if (headers.size() >= reth + 16 && (choice & 0x10) == 0) {
        wire::store64(headers, reth, address_ + wire::load16(headers, reth + 6) % (3 * page));
        wire::store32(headers, reth + 8, static_cast<std::uint32_t>(region_->rkey()));
        wire::store32(headers, reth + 12, wire::load32(headers, reth + 12) % (3 * page));
    }
    frame.insert(frame.end(), headers.begin(), headers.end());
    const std::size_t words = (choice & 8) != 0 ? 64 : input.byte() % 80;
    frame.resize(frame.size() + words * 4, std::byte{choice});
    frame.resize(frame.size() + wire::icrc_size);
    test::seal_frame(frame, outside, 1);
    feed_.next = fuzz::make_packet(frame, 2304);

    now_ += 1 + (input.byte() & 0xf) * microsecond;
    for (int i = 0; i < 3; ++i) device_->poll(0, now_);
    std::array<transport::Completion, 64> completions;
    cq_->poll(completions);
}

bool World::intact() const {
    const auto zero = [](std::byte value) { return value == std::byte{0}; };
    return std::ranges::all_of(std::span(memory_).first(page), zero) &&
           std::ranges::all_of(std::span(memory_).last(page), zero);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto* const pool = fuzz::packet_pool();
    {
        fuzz::Input input(std::as_bytes(std::span(data, size)));
        const auto world = std::make_unique<World>();
        for (int frames = 0; frames < 200 && !input.empty(); ++frames) {
            world->arrive(input);
            if (frames % 16 == 15) world->post();
        }
        expect(world->intact());
        for (auto& pair : world->pairs) pair.reset();
    }
    expect(rte_mempool_in_use_count(pool) == 0);
    return 0;
}
