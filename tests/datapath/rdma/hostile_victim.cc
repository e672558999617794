// SPDX-License-Identifier: BSD-3-Clause
#include "tests/datapath/rdma/hostile_victim.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/bth.h"
#include "tests/support/eal.h"
#include "tests/support/link_frame.h"

namespace verbline::hostile {
namespace {

using transport::QueuePairType, transport::SendOperation, transport::Service, transport::QueuePairState;

constexpr wire::MacAddress attacker_mac{
    {std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xee}}};
constexpr std::uint32_t mtu = 1024;
constexpr std::size_t receive_at = Pages::page;  ///< of the good region

wire::Gid gid(From from) {
    if (from == From::peer) return link::gid_of(wire::ipv4(10, 0, 0, 200));
    if (from == From::elsewhere) return link::gid_of(wire::ipv4(10, 0, 0, 201));
    return wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{200});
}

void join(std::string& text, const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
}

std::string_view name(std::uint8_t low) {
    constexpr std::array<std::string_view, 32> names{"SEND first",
                                                     "SEND middle",
                                                     "SEND last",
                                                     "SEND last imm",
                                                     "SEND only",
                                                     "SEND only imm",
                                                     "WRITE first",
                                                     "WRITE middle",
                                                     "WRITE last",
                                                     "WRITE last imm",
                                                     "WRITE only",
                                                     "WRITE only imm",
                                                     "READ",
                                                     "READ response first",
                                                     "READ response middle",
                                                     "READ response last",
                                                     "READ response only",
                                                     "ACK",
                                                     "ATOMIC ACK",
                                                     "CMP_SWAP",
                                                     "FETCH_ADD",
                                                     "?",
                                                     "SEND last inv",
                                                     "SEND only inv",
                                                     "?",
                                                     "?",
                                                     "?",
                                                     "?",
                                                     "FLUSH",
                                                     "ATOMIC WRITE",
                                                     "?",
                                                     "?"};
    return names[low];
}

std::string_view name(transport::AsyncEventKind kind) {
    using enum transport::AsyncEventKind;
    switch (kind) {
        case cq_error: return "CQ error";
        case qp_fatal: return "fatal";
        case qp_request_error: return "request error";
        case qp_access_error: return "access error";
        case communication_established: return "established";
        case send_queue_drained: return "drained";
        case srq_limit_reached: return "limit";
        case last_wqe_reached: return "last WQE";
        default: return "?";
    }
}

std::string acknowledgement(const wire::Aeth& aeth) {
    constexpr std::array<std::string_view, 5> codes{"sequence", "invalid", "access", "operational", "RD"};
    if (aeth.kind == wire::AethKind::ack) return "ACK";
    if (aeth.kind == wire::AethKind::rnr_nak) return "RNR " + std::to_string(aeth.value);
    return "NAK " + std::string(aeth.value < codes.size() ? codes[aeth.value] : "?");
}

template <class Header>
void append(test::ByteVector& bytes, const Header& header) {
    bytes.resize(bytes.size() + Header::size);
    header.emit(std::span(bytes).template last<Header::size>());
}

}  // namespace

Pages::Pages(std::size_t count) {
    auto* const at = mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    bytes_ = {static_cast<std::byte*>(at), count * page};
}

Pages::~Pages() {
    munmap(bytes_.data(), bytes_.size());
}

void Pages::take_away(std::size_t from) {
    // Not unmapped: something else might be put there.
    mprotect(bytes_.data() + from * page, bytes_.size() - from * page, PROT_NONE);
}

Victim::Victim(const Row& row)
    : row_(row),
      world_(sim::Seed{1}, *test::packet_pool()),
      host_(world_.add_host({.max_queue_pairs = 64})),
      attacker_(world_.network().add_port({.name = "attacker", .mac = attacker_mac})),
      pd_(host_.device().allocate_pd()),
      other_pd_(host_.device().allocate_pd()) {
    std::ranges::copy(test::pattern(memory_.bytes().size(), 9), memory_.bytes().begin());
    // What atomics find is zero.
    std::ranges::fill(memory_.bytes().subspan(Pages::page, 16), std::byte{0});
    register_keys();
    cq_ = host_.device().create_cq(64);
    make_pair();
    connect();
    gone_.take_away(0), half_gone_.take_away(1);
    post();
    world_.run_for(microsecond);
    static_cast<void>(answers());
    snapshot_.assign(memory_.bytes().begin(), memory_.bytes().end());
    counters_before_ = counted();
    host_.events().clear();
}

Victim::~Victim() {
    static_cast<void>(answers());
}

void Victim::register_keys() {
    using memory::Access;
    const auto add = [&](Key key, std::span<std::byte> bytes, Access rights, memory::PdId pd) {
        regions_.push_back(std::move(*host_.device().register_memory(pd, bytes, rights)));
        areas_[key] = {regions_.back().rkey(), reinterpret_cast<std::uint64_t>(bytes.data())};
    };
    constexpr auto all = Access::local_write | Access::remote_write | Access::remote_read | Access::remote_atomic;
    const auto middle = memory_.bytes().subspan(Pages::page, 2 * Pages::page);
    add(Key::good, middle, all, pd_);
    add(Key::other_domain, middle, all, other_pd_);
    add(Key::read_only, middle, Access::remote_read, pd_);
    add(Key::write_only, middle, Access::local_write | Access::remote_write, pd_);
    add(Key::gone, gone_.bytes(), all, pd_);
    add(Key::half_gone, half_gone_.bytes(), all, pd_);
    add(Key::stale, middle, all, pd_);
    regions_.pop_back();
    window_.emplace(std::move(*host_.device().allocate_window(pd_, memory::WindowType::type2b)));
    areas_[Key::window] = {window_->rkey(), areas_[Key::good].address};
    areas_[Key::unknown] = {wire::RKey{static_cast<std::uint32_t>(areas_[Key::good].key) ^ 0x5500},
                            areas_[Key::good].address};
}

void Victim::make_pair() {
    auto& device = host_.device();
    const auto domain = device.create_xrc_domain(), other = device.create_xrc_domain();
    if (row_.type == QueuePairType::xrc_target) {
        srq_ = std::move(*device.create_shared_receive_queue(pd_, {.requests = 8, .segments = 1}, &domain, cq_.get()));
        other_srq_ =
            std::move(*device.create_shared_receive_queue(pd_, {.requests = 8, .segments = 1}, &other, cq_.get()));
    }
    pair_ = std::move(*device.create_queue_pair({.type = row_.type,
                                                 .pd = pd_,
                                                 .send_completions = cq_.get(),
                                                 .receive_completions = cq_.get(),
                                                 .xrc_domain = srq_ != nullptr ? &domain : nullptr}));
}

void Victim::connect() {
    const rdma::Path path{.gid_index = host_.gid_v2_ipv4(),
                          .address = {.global = true, .dgid = gid(From::peer), .hop_limit = 64},
                          .mac = attacker_mac};
    if (!pair_->init({.access = row_.access, .qkey = wire::QKey{0x1234}})) throw std::runtime_error("init");
    if (row_.before == QueuePairState::init) return;
    if (!pair_->ready_to_receive({.remote = peer_qpn,
                                  .path = path,
                                  .mtu = mtu,
                                  .first = wire::Psn(expected_psn),
                                  .max_reads = row_.max_reads,
                                  .selective_ack = row_.selective})) {
        throw std::runtime_error("rtr");
    }
    if (row_.before == QueuePairState::rtr) return;
    if (!pair_->ready_to_send(
            {.first = wire::Psn(first_psn), .timeout = 0, .rnr_retries = 1, .max_reads = 4, .adaptive = false})) {
        throw std::runtime_error("rts");
    }
}

void Victim::post() {
    for (unsigned i = 0; i < row_.receives; ++i) {
        const auto& area = areas_.at(row_.receive_key);
        const auto at = row_.receive_key == Key::good ? area.address + receive_at : area.address;
        const transport::Segment segment{at, row_.receive_size, area.key};
        const transport::ReceiveRequest request{.id = i, .segments = {&segment, 1}};
        const bool posted = srq_ != nullptr ? srq_->post(request).has_value() : pair_->post(request).has_value();
        if (!posted) throw std::runtime_error("receive");
    }
    for (const auto& posted : row_.posted) {
        const auto& area = areas_.at(posted.key);
        const transport::Segment segment{area.address, posted.length, area.key};
        if (!pair_->post(transport::SendRequest{
                .segments = {&segment, 1}, .operation = posted.operation, .flags = transport::send_signalled})) {
            throw std::runtime_error("post");
        }
    }
}

link::Envelope Victim::envelope(From from) const {
    const auto index = from == From::peer_by_ipv6 ? host_.gid_v2_ipv6()
                       : from == From::peer_by_v1 ? host_.gid_v1()
                                                  : host_.gid_v2_ipv4();
    const auto to = *const_cast<sim::Host&>(host_).device().gids().at(index);
    const link::SourceAddress endpoint{.carrier = link::carrier_of(to), .mac = attacker_mac, .gid = gid(from)};
    return link::make_envelope(endpoint, {.global = true, .dgid = to.gid, .hop_limit = 64}, host_.mac(), 0xc123);
}

std::uint32_t Victim::base_of(std::uint8_t opcode) const {
    const auto& traits = transport::opcode_table[opcode];
    const bool response = traits.operation != transport::Operation::none && !traits.is_request();
    return response ? first_psn : expected_psn;
}

void Victim::append_headers(test::ByteVector& bytes, const Frame& frame) const {
    using enum transport::Operation;
    const auto& traits = transport::opcode_table[frame.opcode];
    const auto& area = areas_.at(frame.key);
    const auto address = frame.address.value_or(area.address + static_cast<std::uint64_t>(frame.offset));
    const wire::Reth reth{address, area.key, frame.length.value_or(static_cast<std::uint32_t>(frame.payload))};
    if (traits.service == Service::xrc && traits.is_request()) {
        const auto number = srq_ == nullptr ? 1 : srq_->number();
        append(bytes, wire::XrcEth{frame.srq == Srq::unknown        ? 0x777777
                                   : frame.srq == Srq::other_domain ? other_srq_->number()
                                                                    : number});
    }
    if (traits.service == Service::ud) append(bytes, wire::Deth{wire::QKey{frame.qkey}, peer_qpn});
    switch (traits.operation) {
        case flush:
            append(bytes, wire::Feth{static_cast<wire::FlushSelectivity>(frame.selectivity), frame.placement});
            append(bytes, reth);
            break;
        case read_request:
        case atomic_write: append(bytes, reth); break;
        case write:
            if (traits.first) append(bytes, reth);
            break;
        case compare_swap:
        case fetch_add: append(bytes, wire::AtomicEth{address, area.key, frame.operand, 0}); break;
        case acknowledge:
        case atomic_acknowledge: append(bytes, wire::Aeth{frame.kind, frame.value, 1}); break;
        case read_response:
            if (traits.first || traits.last) append(bytes, wire::Aeth{frame.kind, frame.value, 1});
            break;
        default: break;
    }
    if (traits.operation == atomic_acknowledge) append(bytes, wire::AtomicAckEth{frame.operand});
    if (traits.immediate) append(bytes, wire::ImmDt{0x11223344});
    if (traits.invalidate) append(bytes, wire::Ieth{area.key});
}

test::ByteVector Victim::build(const Frame& frame) const {
    const auto outside = envelope(frame.from);
    test::ByteVector bytes(outside.size);
    wire::Bth bth{.opcode = frame.opcode,
                  .pad = frame.pad.value_or(static_cast<std::uint8_t>(-frame.payload & 3)),
                  .pkey = wire::PKey{frame.pkey},
                  .becn = frame.becn,
                  .dest = frame.qpn ? wire::Qpn{*frame.qpn} : pair_->qpn(),
                  .ack_request = frame.ack_request,
                  .psn = wire::Psn(static_cast<std::uint32_t>(base_of(frame.opcode) + frame.psn))};
    append(bytes, bth);
    bytes[outside.size + 1] |= std::byte{frame.version};
    append_headers(bytes, frame);
    const auto data = test::pattern(frame.payload, frame.seed);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.resize(bytes.size() + (-frame.payload & 3) - frame.cut + link::trailer_size(outside.carrier));
    test::seal_frame(bytes, outside, 1);
    return bytes;
}

void Victim::attack() {
    for (const auto& frame : row_.frames) {
        auto packet = test::make_packet(build(frame));
        std::array<rte_mbuf*, 1> burst{packet.release()};
        ASSERT_EQ(attacker_.tx_burst(0, burst), 1);
        if (!frame.hurry) world_.run_for(microsecond);
    }
    world_.run_for(row_.wait);
}

std::string Victim::describe(const rte_mbuf& frame) const {
    const wire::Bytes bytes(rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len);
    const auto arrival = test::open_frame(bytes);
    if (!arrival) return "bad frame";
    transport::Packet packet;
    packet.mbuf = const_cast<rte_mbuf*>(&frame);
    packet.arrival = *arrival;
    if (transport::parse(packet)) return "bad packet";
    if (packet.operation() == transport::Operation::congestion_notification) return "CNP";
    const bool answer = !packet.traits->is_request();
    const wire::Psn base(answer ? expected_psn : first_psn);
    const auto distance = packet.psn - base;
    std::string text(name(packet.opcode & 0x1f));
    if (packet.operation() == transport::Operation::acknowledge)
        text = acknowledgement(*wire::Aeth::parse(packet.headers));
    text += (distance < 0 ? " " : " +") + std::to_string(distance);
    if (answer && packet.traits->headers != 0) {
        text += " msn " + std::to_string(wire::Aeth::parse(packet.headers)->msn);
    }
    if (packet.operation() == transport::Operation::atomic_acknowledge) {
        text += " = " + std::to_string(wire::load64(packet.headers, wire::Aeth::size));
    }
    if (answer && !packet.payload.empty()) text += " [" + std::to_string(packet.payload.size()) + "]";
    return text;
}

std::string Victim::answers() {
    std::string text;
    std::array<rte_mbuf*, 32> burst;
    while (const auto n = attacker_.rx_burst(0, burst)) {
        for (auto* const frame : std::span(burst).first(n)) {
            join(text, describe(*frame));
            rte_pktmbuf_free(frame);
        }
    }
    return text;
}

std::map<std::string, std::uint64_t> Victim::counted() const {
    std::map<std::string, std::uint64_t> values;
    const_cast<sim::Host&>(host_).device().counters(
        [&](std::string_view name, std::uint64_t value, std::string_view) { values[std::string(name)] += value; });
    return values;
}

std::string Victim::counters() {
    std::string text;
    for (const auto& [name, value] : counted()) {
        const auto moved = value - counters_before_[name];
        const bool ordinary =
            name == "rx_packets" || name == "rx_bytes" || name.starts_with("rx_burst") || name.starts_with("tx_");
        if (moved != 0 && !ordinary) join(text, moved == 1 ? name : name + " x" + std::to_string(moved));
    }
    return text;
}

std::string Victim::completions() {
    std::string text;
    std::array<transport::Completion, 64> all;
    const auto n = cq_->poll(all);
    for (const auto& completion : std::span(all).first(n)) {
        const bool receive = completion.kind >= transport::CompletionKind::receive;
        join(text, std::string(receive ? "receive: " : "send: ") + transport::text(completion.status));
    }
    return text;
}

std::string Victim::events() {
    std::string text;
    for (const auto& event : host_.events()) join(text, std::string(name(event.kind)));
    return text;
}

bool Victim::intact_beyond(std::size_t written) const {
    const auto now = const_cast<Victim*>(this)->memory_.bytes();
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i] != snapshot_[i] && (i < Pages::page || i >= Pages::page + written)) return false;
    }
    return true;
}

}  // namespace verbline::hostile
