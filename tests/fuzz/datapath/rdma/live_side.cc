// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fuzz/datapath/rdma/live_side.h"

#include "datapath/link/ip_gid.h"
#include "datapath/transport/packet.h"
#include "tests/support/link_frame.h"

namespace verbline::fuzz {
namespace {

using transport::QueuePairType, transport::SendOperation;

constexpr std::byte secret{0x5a};  ///< of the region that peers may only read
constexpr wire::QKey qkey{0x1234};
constexpr auto every_right = memory::Access::local_write | memory::Access::remote_write | memory::Access::remote_read |
                             memory::Access::remote_atomic | memory::Access::mw_bind | memory::Access::flush_global;

QueuePairType type_of(std::size_t which) {
    switch (which) {
        case Side::uc: return QueuePairType::uc;
        case Side::ud: return QueuePairType::ud;
        case Side::xrc_initiator: return QueuePairType::xrc_initiator;
        case Side::xrc_target: return QueuePairType::xrc_target;
        default: return QueuePairType::rc;
    }
}

bool all_are(std::span<const std::byte> bytes, std::byte value) {
    return std::ranges::all_of(bytes, [value](auto byte) { return byte == value; });
}

}  // namespace

Cable::~Cable() {
    for (auto* queue : {&sent, &received}) {
        for (auto* frame : *queue) rte_pktmbuf_free(frame);
    }
}

std::uint16_t Cable::rx_burst(std::uint16_t, pmd::Burst burst) noexcept {
    const auto n = std::min(burst.size(), received.size());
    std::copy_n(received.begin(), n, burst.begin());
    received.erase(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(n));
    return static_cast<std::uint16_t>(n);
}

std::uint16_t Cable::tx_burst(std::uint16_t, pmd::Burst burst) noexcept {
    for (auto* const frame : burst) {
        expect_sound(frame);
        transport::Packet packet;
        packet.mbuf = frame;
        const auto arrival = test::open_frame(packet.frame());
        expect(arrival.has_value());
        packet.arrival = *arrival;
        expect(!transport::parse(packet));
        sent.push_back(frame);
    }
    return static_cast<std::uint16_t>(burst.size());
}

Side::Side(std::uint8_t number)
    : cable({{std::byte{2}, {}, {}, {}, {}, std::byte{number}}}),
      mac_{{std::byte{2}, {}, {}, {}, {}, std::byte{number}}},
      number_(number) {
    static unsigned made = 0;
    device_ = std::move(*rdma::Device::create({.name = "live" + std::to_string(made++),
                                               .device = &cable,
                                               .pool = packet_pool(),
                                               .mac = mac_,
                                               .max_queue_pairs = 32,
                                               .max_kept_packets = 64}));
    device_->change_gids([this](link::GidTable& gids) {
        gids.add_interface(1, mac_);
        gids.add_address(1, gid());
    });
    pd_ = device_->allocate_pd();
    std::ranges::fill(shown(), secret);
    register_open();
    shown_.emplace(std::move(*device_->register_memory(pd_, shown(), memory::Access::remote_read)));
    window1_.emplace(std::move(*device_->allocate_window(pd_, memory::WindowType::type1)));
    window2_.emplace(std::move(*device_->allocate_window(pd_, memory::WindowType::type2b)));
    window1_key_ = window1_->rkey(), window2_key_ = window2_->rkey();
    cq_ = device_->create_cq(512);
    shared_ = std::move(*device_->create_shared_receive_queue(pd_, {.requests = 8, .segments = 2}));
    domain_.emplace(device_->create_xrc_domain());
    make_xrc_queue();
    for (std::size_t which = 0; which < count; ++which) make_pair(which);
}

Side::~Side() {
    for (auto& pair : pairs_) pair.reset();
}

Side::Which Side::peer_of(std::size_t which) {
    if (which == xrc_initiator) return xrc_target;
    return which == xrc_target ? xrc_initiator : static_cast<Which>(which);
}

wire::Gid Side::gid() const {
    return link::gid_of(wire::ipv4(10, 0, 0, number_));
}

link::Envelope Side::envelope_to(const Side& other) const {
    return link::make_envelope({.carrier = link::Carrier::roce_v2_ipv4, .mac = mac_, .gid = gid()},
                               {.global = true, .dgid = other.gid()}, other.mac_, 0xc000);
}

void Side::register_open() {
    open_.emplace(std::move(*device_->register_memory(pd_, open(), every_right)));
}

void Side::make_xrc_queue() {
    xrc_cq_ = device_->create_cq(64);
    xrc_queue_ =
        std::move(*device_->create_shared_receive_queue(pd_, {.requests = 8, .segments = 2}, &*domain_, xrc_cq_.get()));
}

void Side::replace_xrc_queue() {
    xrc_queue_.reset();
    make_xrc_queue();
}

void Side::make_pair(std::size_t which) {
    pairs_[which] = std::move(*device_->create_queue_pair({.type = type_of(which),
                                                           .pd = pd_,
                                                           .send_completions = cq_.get(),
                                                           .receive_completions = cq_.get(),
                                                           .send = {.requests = 8, .segments = 2},
                                                           .receive = {.requests = 8, .segments = 2},
                                                           .shared = which == rc_shared ? shared_.get() : nullptr,
                                                           .xrc_domain = which == xrc_target ? &*domain_ : nullptr}));
}

void Side::connect(std::size_t which, const Side& other, wire::Psn ours, wire::Psn theirs) {
    constexpr auto access = memory::Access::remote_write | memory::Access::remote_read | memory::Access::remote_atomic;
    auto& pair = *pairs_[which];
    expect(pair.init({.access = access, .qkey = qkey}).has_value());
    expect(pair.ready_to_receive(
                   {.remote = other.qpn(peer_of(which)),
                    .path = {.gid_index = 3, .address = {.global = true, .dgid = other.gid()}, .mac = other.mac_},
                    .mtu = mtu,
                    .first = theirs,
                    .max_reads = 2,
                    .selective_ack = which != rc})
               .has_value());
    expect(
        pair.ready_to_send({.first = ours, .timeout = 1, .retries = 7, .rnr_retries = 7, .max_reads = 2}).has_value());
}

void Side::bind(Input& input) {
    const auto choice = input.byte();
    auto& pair = *pairs_[choice % 3];
    transport::SendRequest request{.id = next_id_++, .flags = transport::send_signalled};
    auto& key = (choice & 0x80) != 0 ? window2_key_ : window1_key_;
    if ((choice & 0x40) != 0) {
        request.operation = SendOperation::local_invalidate;
        request.immediate = static_cast<std::uint32_t>(key);
    } else {
        const auto next = memory::next_key(key);
        request.operation = SendOperation::bind_window;
        request.bind = {.window = key,
                        .new_key = next,
                        .region = this->key(0),
                        .address = address(0) + input.byte(),
                        .length = input.word() % page,
                        .rights = memory::Access::remote_write | memory::Access::remote_atomic};
        key = next;
    }
    if (pair.post(request)) outstanding_.insert(request.id);
}

void Side::post(Input& input, const Side& other) {
    constexpr std::array operations{SendOperation::send,         SendOperation::send_with_immediate,
                                    SendOperation::write,        SendOperation::write_with_immediate,
                                    SendOperation::read,         SendOperation::fetch_add,
                                    SendOperation::compare_swap, SendOperation::send_with_invalidate,
                                    SendOperation::atomic_write, SendOperation::flush};
    const auto choice = input.byte(), what = input.byte();
    const auto which = choice % (count - 1);  // all but the target
    if ((what & 0x1f) == 0x1f) return bind(input);
    transport::SendRequest request{.id = next_id_++,
                                   .operation = operations[which == ud   ? what % 2
                                                           : which == uc ? what % 4
                                                                         : what % 10],
                                   .flags = static_cast<std::uint8_t>(choice >> 5),
                                   .immediate = static_cast<std::uint32_t>(other.key(3)),
                                   .remote_address = other.address(what >> 4) + (what & 8),
                                   .rkey = other.key(what >> 6),
                                   .length = 64,
                                   .flush_placement = 1,
                                   .xrc_srq = other.xrc_queue()};
    if (!to_peer_) to_peer_ = envelope_to(other);
    if (which == ud) request.ud = {.envelope = &*to_peer_, .qpn = other.qpn(ud), .qkey = qkey};
    using enum SendOperation;
    const bool eight =
        request.operation == fetch_add || request.operation == compare_swap || request.operation == atomic_write;
    const std::uint32_t length = eight ? 8 : input.word() % (which == ud ? mtu + 1 : page);
    const transport::Segment segment{address(0) + page, length, key(0)};
    if (request.operation != SendOperation::flush) request.segments = {&segment, 1};
    if (pairs_[which]->post(request)) outstanding_.insert(request.id);
}

void Side::post_receive(Input& input) {
    const auto choice = input.byte();
    const transport::Segment segment{address(0), static_cast<std::uint32_t>(input.word() % page), key(0)};
    const transport::ReceiveRequest request{.id = next_id_++, .segments = {&segment, 1}};
    bool posted = false;
    switch (choice % 6) {
        case 0: posted = shared_->post(request).has_value(); break;
        case 1: posted = xrc_queue_->post(request).has_value(); break;
        case 2: posted = pairs_[uc]->post(request).has_value(); break;
        case 3: posted = pairs_[ud]->post(request).has_value(); break;
        default: posted = pairs_[rc]->post(request).has_value(); break;
    }
    if (posted) outstanding_.insert(request.id);
}

void Side::poll(Time now) {
    device_->poll(0, now);
    std::array<transport::Completion, 64> completions;
    for (auto* const queue : {cq_.get(), xrc_cq_.get()}) {
        const auto n = queue->poll(completions);
        for (const auto& each : std::span(completions).first(n)) expect(outstanding_.erase(each.id) == 1);
    }
}

void Side::toggle_region() {
    if (open_) {
        if (!open_->release()) return;  // a window is bound to it
        open_.reset();
        released_.assign(open().begin(), open().end());
    } else {
        expect_intact();
        released_.clear();
        register_open();
    }
}

wire::RKey Side::key(unsigned choice) const {
    switch (choice & 3) {
        case 1: return shown_->rkey();
        case 2: return window1_key_;
        case 3: return window2_key_;
        default: return open_ ? open_->rkey() : wire::RKey{0x1234'5678};
    }
}

std::uint64_t Side::address(unsigned choice) const {
    const auto base = reinterpret_cast<std::uint64_t>(memory_.data());
    return base + ((choice & 3) == 1 ? 4 * page : page);
}

void Side::expect_intact() const {
    const auto all = std::span(memory_);
    for (const std::size_t guard : {0, 3, 5}) expect(all_are(all.subspan(guard * page, page), std::byte{0}));
    expect(all_are(all.subspan(4 * page, page), secret));
    if (!open_) expect(std::ranges::equal(open(), released_));
}

}  // namespace verbline::fuzz
