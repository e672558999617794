// SPDX-License-Identifier: BSD-3-Clause
#include "tests/pmd/hca/fake_adapters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/eventfd.h>

#include <fmt/format.h>

#include "tests/pmd/hca/fake_objects.h"

namespace verbline::test {
namespace {

constexpr std::size_t grh_size = 40;

}  // namespace

FakeDevice::FakeDevice(const std::string& name, std::uint8_t host) {
    std::strncpy(device.name, name.c_str(), sizeof device.name - 1);
    std::strncpy(device.dev_name, ("uverbs-" + name).c_str(), sizeof device.dev_name - 1);
    ibv_gid_entry entry{};
    std::memcpy(entry.gid.raw, FakeAdapters::gid(host).bytes.data(), sizeof entry.gid.raw);
    entry.gid_type = IBV_GID_TYPE_ROCE_V1;
    port.gids.push_back(entry);
    entry.gid_type = IBV_GID_TYPE_ROCE_V2;
    port.gids.push_back(entry);
}

FakeAdapters::FakeAdapters() : error_(script().error) {
    lead_calls_to(this);
}

FakeAdapters::~FakeAdapters() {
    lead_calls_to(nullptr);
}

std::string FakeAdapters::library() {
    setenv(stand_in_variable, fmt::format("{:x}", reinterpret_cast<std::uintptr_t>(&script())).c_str(), 1);
    return std::getenv("VERBLINE_HCA_STAND_IN_LIBRARY");
}

FakeDevice& FakeAdapters::add(const std::string& name, std::uint8_t host) {
    return devices_.emplace_back(name, host);
}

/// As of an interface with the MAC address 00:00:00:00:00:HOST.
wire::Gid FakeAdapters::gid(std::uint8_t host) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x0200'00ff'fe00'0000u | host});
}

void FakeAdapters::event(const FakeDevice& device, ibv_event_type type) {
    for (const auto& context : contexts_) {
        if (context->device != &device) continue;
        context->events.push_back({.element = {}, .event_type = type});
        eventfd_write(context->verbs.context.async_fd, 1);
    }
}

void FakeAdapters::break_queue_pairs(const FakeDevice& device, ibv_wc_status status) {
    for (const auto& each : queue_pairs_) {
        if (each->context->device != &device) continue;
        if (each->posted.empty()) {
            each->queue_pair.state = IBV_QPS_ERR;
            continue;
        }
        const auto first = each->posted.front().number;
        each->posted.pop_front();
        fail(*each, status, first, true);
    }
}

/// An error takes the queue pair's other requests with it (IBTA volume 1, 10.3.1).
void FakeAdapters::fail(FakeQueuePair& queue_pair, ibv_wc_status status, std::uint64_t request, bool receive) {
    queue_pair.queue_pair.state = IBV_QPS_ERR;
    const auto end = [&](bool of_receives, std::uint64_t number, ibv_wc_status how) {
        ibv_wc completion{};
        completion.wr_id = number;
        completion.status = how;
        complete(of_receives ? *queue_pair.receives : *queue_pair.sends, completion);
    };
    end(receive, request, status);
    for (const auto& each : std::exchange(queue_pair.posted, {})) end(true, each.number, IBV_WC_WR_FLUSH_ERR);
    for (const auto& each : std::exchange(queue_pair.held, {})) end(false, each.request.wr_id, IBV_WC_WR_FLUSH_ERR);
}

void FakeAdapters::complete(FakeCompletionQueue& queue, const ibv_wc& completion) {
    queue.completions.push_back(completion);
    if (queue.channel != nullptr && std::exchange(queue.armed, false)) eventfd_write(queue.channel->fd, 1);
}

void FakeAdapters::execute(const FakeDevice& device) {
    for (const auto& each : queue_pairs_) {
        while (each->context->device == &device && !each->held.empty()) {
            const auto send = std::move(each->held.front());
            each->held.pop_front();
            run(*each, send);
        }
    }
}

void FakeAdapters::run(FakeQueuePair& queue_pair, const FakeSend& send) {
    const auto& request = send.request;
    if (queue_pair.queue_pair.state != IBV_QPS_RTS) return fail(queue_pair, IBV_WC_WR_FLUSH_ERR, request.wr_id, false);
    if (!handles_.contains(request.wr.ud.ah)) return fail(queue_pair, IBV_WC_LOC_QP_OP_ERR, request.wr_id, false);
    if (const auto status = queue_pair.context->device->send_status; status != IBV_WC_SUCCESS)
        return fail(queue_pair, status, request.wr_id, false);
    FakeDatagram datagram{
        .payload = send.copied,
        .to = handle_attributes_.at(request.wr.ud.ah),
        .source = queue_pair.shared_number != 0 ? queue_pair.shared_number : queue_pair.queue_pair.qp_num,
        .destination = request.wr.ud.remote_qpn,
        .qkey = request.wr.ud.remote_qkey,
        .flags = request.send_flags,
        .pieces = request.num_sge};
    for (const auto& piece : send.copied.empty() ? std::span(send.pieces) : std::span<const ibv_sge>()) {
        if (!readable(queue_pair.queue_pair.context, piece))
            return fail(queue_pair, IBV_WC_LOC_PROT_ERR, request.wr_id, false);
        const auto* const bytes = reinterpret_cast<const std::byte*>(piece.addr);
        datagram.payload.insert(datagram.payload.end(), bytes, bytes + piece.length);
    }
    if (request.opcode == IBV_WR_TSO) {
        if (queue_pair.context->device->fails_to_segment)
            return fail(queue_pair, IBV_WC_LOC_QP_OP_ERR, request.wr_id, false);
        run_segments(queue_pair, send, datagram);
    } else {
        sent.push_back(datagram);
        deliver(datagram, queue_pair);
    }
    if ((request.send_flags & IBV_SEND_SIGNALED) == 0) return;
    ++signalled;
    ibv_wc completion{};
    completion.wr_id = request.wr_id;
    completion.opcode = IBV_WC_SEND;
    complete(*queue_pair.sends, completion);
}

/// Each has the whole packet's header: of its fields nothing is changed here, as an adapter would.
void FakeAdapters::run_segments(FakeQueuePair& queue_pair, const FakeSend& send, const FakeDatagram& whole) {
    const std::span<const std::byte> all(whole.payload);
    for (std::size_t at = 0; at < all.size(); at += send.request.tso.mss) {
        const auto part = all.subspan(at, std::min<std::size_t>(send.request.tso.mss, all.size() - at));
        auto segment = whole;
        segment.payload = send.header;
        segment.payload.insert(segment.payload.end(), part.begin(), part.end());
        sent.push_back(segment);
        deliver(segment, queue_pair);
    }
}

bool FakeAdapters::readable(const ibv_context* context, const ibv_sge& piece) const {
    return std::ranges::any_of(regions_, [&](const auto* region) {
        const auto begin = reinterpret_cast<std::uintptr_t>(region->addr);
        return region->lkey == piece.lkey && region->context == context && piece.addr >= begin &&
               piece.addr + piece.length <= begin + region->length;
    });
}

void FakeAdapters::deliver(const FakeDatagram& datagram, const FakeQueuePair& from) {
    const auto to = gid_of(datagram.to.grh.dgid);
    const auto& port = from.context->device->port;
    const auto source = gid_of(port.gids.at(datagram.to.grh.sgid_index).gid);
    bool delivered = false;
    for (const auto& each : queue_pairs_) {
        if (each->shared_number != 0 && (to.multicast() || each->shared_number == datagram.destination)) {
            const bool taken = each->queue_pair.state >= IBV_QPS_RTR && takes(*each, datagram);
            taken ? place(*each, datagram.payload, source, to, datagram.source) : void(++to_kernel);
            delivered = true;
            continue;
        }
        const bool mine = to.multicast() ? each->groups.contains(to) &&
                                               (each->context != from.context || from.context->device->loops_back)
                                         : each->queue_pair.qp_num == datagram.destination;
        if (!mine || each->qkey != datagram.qkey || each->queue_pair.state < IBV_QPS_RTR ||
            each->queue_pair.state > IBV_QPS_RTS)
            continue;
        place(*each, datagram.payload, source, to, datagram.source);
        delivered = true;
    }
    if (!delivered) ++undelivered;
}

void FakeAdapters::arrive(std::uint32_t number, const ByteVector& payload, std::optional<std::uint32_t> ghost) {
    place(*find(number), payload, gid(99), gid(98), 1, ghost);
}

void FakeAdapters::place(FakeQueuePair& to, const ByteVector& payload, const wire::Gid& source,
                         const wire::Gid& destination, std::uint32_t source_number,
                         std::optional<std::uint32_t> ghost) {
    auto* const work_queue = to.spread.empty() ? nullptr : &work_queue_of(to, payload);
    auto& posted = work_queue != nullptr ? work_queue->posted : to.posted;
    if (posted.empty()) return;  // lost, as on a fabric
    const auto receive = std::move(posted.front());
    posted.pop_front();
    const auto refuse = [&](ibv_wc_status status) {
        work_queue != nullptr ? fail(*work_queue, status, receive.number) : fail(to, status, receive.number, true);
    };
    ByteVector bytes(grh_size);
    bytes[0] = std::byte{0x60};  // the version (IBTA volume 1, 8.3.1)
    std::ranges::copy(source.bytes, bytes.begin() + 8);
    std::ranges::copy(destination.bytes, bytes.begin() + 24);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    const std::span<const std::byte> all(bytes);
    std::size_t at = 0;
    for (const auto& piece : receive.pieces) {
        if (!readable(to.queue_pair.context, piece)) return refuse(IBV_WC_LOC_PROT_ERR);
        const auto part = all.subspan(at, std::min<std::size_t>(piece.length, all.size() - at));
        std::memcpy(reinterpret_cast<void*>(piece.addr), part.data(), part.size());
        at += part.size();
    }
    if (at < all.size()) return refuse(IBV_WC_LOC_LEN_ERR);
    ibv_wc completion{};
    completion.wr_id = receive.number;
    completion.opcode = IBV_WC_RECV;
    completion.byte_len = ghost.value_or(static_cast<std::uint32_t>(all.size()));
    completion.src_qp = source_number;
    completion.wc_flags = IBV_WC_GRH | (to.context->device->verifies ? unsigned{IBV_WC_IP_CSUM_OK} : 0u);
    complete(work_queue != nullptr ? *work_queue->completions : *to.receives, completion);
}

FakeQueuePair* FakeAdapters::find(std::uint32_t number) const {
    const auto found =
        std::ranges::find_if(queue_pairs_, [&](const auto& each) { return each->queue_pair.qp_num == number; });
    return found == queue_pairs_.end() ? nullptr : found->get();
}

std::size_t FakeAdapters::objects() const {
    return contexts_.size() + queue_pairs_.size() + completion_queues_.size() + domains_.size() + regions_.size() +
           handles_.size() + channels_.size() + lists_.size() + work_queues_.size() + tables_.size();
}

std::set<wire::Gid> FakeAdapters::attached(const FakeDevice& device) const {
    std::set<wire::Gid> groups;
    for (const auto& each : queue_pairs_) {
        if (each->context->device == &device) groups.insert(each->groups.begin(), each->groups.end());
    }
    return groups;
}

std::uint32_t FakeAdapters::first_number(const FakeDevice& device) const {
    const auto found =
        std::ranges::find_if(queue_pairs_, [&](const auto& each) { return each->context->device == &device; });
    return found == queue_pairs_.end() ? 0 : (*found)->queue_pair.qp_num;
}
std::uint32_t FakeAdapters::qkey_of(std::uint32_t number) const {
    return find(number)->qkey;
}
std::uint16_t FakeAdapters::pkey_index_of(std::uint32_t number) const {
    return find(number)->pkey_index;
}
std::size_t FakeAdapters::posted(std::uint32_t number) const {
    return find(number)->posted.size();
}

}  // namespace verbline::test
