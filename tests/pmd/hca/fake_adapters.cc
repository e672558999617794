// SPDX-License-Identifier: BSD-3-Clause
#include "tests/pmd/hca/fake_adapters.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace verbline::test {

struct FakeContext {
    verbs_context verbs{};
    FakeDevice* device = nullptr;
    std::deque<ibv_async_event> events;
};

struct FakeCompletionQueue {
    ibv_cq queue{};
    std::deque<ibv_wc> completions;
    ibv_comp_channel* channel = nullptr;
    bool armed = false;
};

struct FakeReceive {
    std::uint64_t number = 0;
    std::vector<ibv_sge> pieces;
};

struct FakeSend {
    ibv_send_wr request{};
    std::vector<ibv_sge> pieces;
    ByteVector copied;
};

struct FakeQueuePair {
    ibv_qp queue_pair{};
    FakeContext* context = nullptr;
    FakeCompletionQueue *sends = nullptr, *receives = nullptr;
    ibv_qp_cap limits{};
    std::uint32_t qkey = 0;
    std::uint16_t pkey_index = 0;
    std::deque<FakeReceive> posted;
    std::deque<FakeSend> held;
    std::set<wire::Gid> groups;
};

namespace {

FakeAdapters* current = nullptr;

wire::Gid gid_of(const ibv_gid& raw) {
    wire::Gid gid;
    std::memcpy(gid.bytes.data(), raw.raw, gid.bytes.size());
    return gid;
}

constexpr std::size_t grh_size = 40;

}  // namespace

/// The calls of the library, and those behind a context.
struct FakeCalls {
    static FakeAdapters& all() { return *current; }
    template <class T>
    static T* refuse(int error) {
        all().error_ = error;
        return nullptr;
    }

    static FakeContext& of(ibv_context* context) {
        const auto found =
            std::ranges::find_if(all().contexts_, [&](const auto& each) { return &each->verbs.context == context; });
        if (found == all().contexts_.end()) std::abort();
        return **found;
    }
    static FakeQueuePair& of(ibv_qp* queue_pair) {
        return **std::ranges::find_if(all().queue_pairs_,
                                      [&](const auto& each) { return &each->queue_pair == queue_pair; });
    }
    static FakeCompletionQueue& of(ibv_cq* queue) {
        return **std::ranges::find_if(all().completion_queues_,
                                      [&](const auto& each) { return &each->queue == queue; });
    }

    static ibv_device** get_device_list(int* count) {
        std::vector<ibv_device*> there;
        for (auto& each : all().devices_) {
            if (each.there) there.push_back(&each.device);
        }
        auto** const list = new ibv_device*[there.size() + 1]();
        std::ranges::copy(there, list);
        *count = static_cast<int>(there.size());
        all().lists_.insert(list);
        return list;
    }
    static void free_device_list(ibv_device** list) {
        all().lists_.erase(list);
        delete[] list;
    }

    static ibv_context* open_device(ibv_device* device) {
        auto& each = *std::ranges::find_if(all().devices_, [&](auto& one) { return &one.device == device; });
        if (each.open_error != 0) return refuse<ibv_context>(each.open_error);
        auto context = std::make_unique<FakeContext>();
        context->device = &each;
        context->verbs.sz = sizeof context->verbs;
        auto& shown = context->verbs.context;
        shown.device = device;
        shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
        shown.async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
        shown.ops.post_send = post_send;
        shown.ops.post_recv = post_receive;
        shown.ops.poll_cq = poll_cq;
        shown.ops.req_notify_cq = req_notify_cq;
        all().contexts_.push_back(std::move(context));
        return &all().contexts_.back()->verbs.context;
    }
    static int close_device(ibv_context* context) {
        close(context->async_fd);
        std::erase_if(all().contexts_, [&](const auto& each) { return &each->verbs.context == context; });
        return 0;
    }

    static int get_async_event(ibv_context* context, ibv_async_event* out) {
        eventfd_t one = 0;
        if (eventfd_read(context->async_fd, &one) != 0) return all().error_ = EAGAIN, -1;
        auto& events = of(context).events;
        *out = events.front();
        events.pop_front();
        return 0;
    }
    static void ack_async_event(ibv_async_event*) {}

    static int query_device(ibv_context* context, ibv_device_attr* out) {
        const auto& device = *of(context).device;
        out->max_sge = device.max_sge;
        out->max_qp_wr = device.max_requests;
        out->max_cqe = device.max_requests;
        out->phys_port_cnt = 1;
        return 0;
    }
    static int query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* out) {
        const auto& device = *of(context).device;
        if (!device.there) return EIO;
        if (number != 1) return EINVAL;
        auto& port = *reinterpret_cast<ibv_port_attr*>(out);
        port.state = device.port.state;
        port.active_mtu = device.port.mtu;
        port.lid = device.port.lid;
        port.link_layer = device.port.ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
        port.pkey_tbl_len = static_cast<std::uint16_t>(device.port.pkeys.size());
        port.gid_tbl_len = static_cast<int>(device.port.gids.size());
        return 0;
    }
    static int query_gid(ibv_context* context, std::uint8_t, int index, ibv_gid* out) {
        const auto& gids = of(context).device->port.gids;
        if (static_cast<std::size_t>(index) >= gids.size()) return -1;
        *out = gids[static_cast<std::size_t>(index)].gid;
        return 0;
    }
    static int query_gid_ex(ibv_context* context, std::uint32_t, std::uint32_t index, ibv_gid_entry* out, std::uint32_t,
                            std::size_t) {
        const auto& gids = of(context).device->port.gids;
        if (index >= gids.size()) return ENODATA;
        *out = gids[index];
        return 0;
    }
    static int query_pkey(ibv_context* context, std::uint8_t, int index, __be16* out) {
        const auto& pkeys = of(context).device->port.pkeys;
        if (static_cast<std::size_t>(index) >= pkeys.size()) return -1;
        *out = htons(pkeys[static_cast<std::size_t>(index)]);
        return 0;
    }

    static ibv_pd* alloc_pd(ibv_context* context) {
        return *all().domains_.insert(new ibv_pd{.context = context}).first;
    }
    static int dealloc_pd(ibv_pd* domain) {
        all().domains_.erase(domain);
        delete domain;
        return 0;
    }
    static ibv_mr* reg_mr(ibv_pd* domain, void* at, std::size_t size, int) {
        if (const int error = of(domain->context).device->memory_error; error != 0) return refuse<ibv_mr>(error);
        auto* const region = new ibv_mr{};
        region->context = domain->context;
        region->pd = domain;
        region->addr = at;
        region->length = size;
        region->lkey = all().next_key_++;
        return *all().regions_.insert(region).first;
    }
    static int dereg_mr(ibv_mr* region) {
        all().regions_.erase(region);
        delete region;
        return 0;
    }

    static ibv_comp_channel* create_comp_channel(ibv_context* context) {
        if (const int error = of(context).device->queue_error; error != 0) return refuse<ibv_comp_channel>(error);
        auto* const channel = new ibv_comp_channel{};
        channel->context = context;
        channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
        return *all().channels_.insert(channel).first;
    }
    static int destroy_comp_channel(ibv_comp_channel* channel) {
        close(channel->fd);
        all().channels_.erase(channel);
        delete channel;
        return 0;
    }
    static ibv_cq* create_cq(ibv_context* context, int depth, void*, ibv_comp_channel* channel, int) {
        auto made = std::make_unique<FakeCompletionQueue>();
        made->queue.context = context;
        made->queue.cqe = depth;
        made->queue.channel = made->channel = channel;
        all().completion_queues_.push_back(std::move(made));
        return &all().completion_queues_.back()->queue;
    }
    static int destroy_cq(ibv_cq* queue) {
        std::erase_if(all().completion_queues_, [&](const auto& each) { return &each->queue == queue; });
        return 0;
    }
    static int req_notify_cq(ibv_cq* queue, int) {
        of(queue).armed = true;
        return 0;
    }
    static int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void**) {
        eventfd_t one = 0;
        if (eventfd_read(channel->fd, &one) != 0) return all().error_ = EAGAIN, -1;
        for (const auto& each : all().completion_queues_) {
            if (each->channel == channel) *queue = &each->queue;
        }
        return 0;
    }
    static void ack_cq_events(ibv_cq*, unsigned) {}
    static int poll_cq(ibv_cq* queue, int room, ibv_wc* out) {
        auto& completions = of(queue).completions;
        int count = 0;
        for (; count < room && !completions.empty(); ++count) {
            out[count] = completions.front();
            completions.pop_front();
        }
        return count;
    }

    static ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
        auto& context = of(domain->context);
        const auto& device = *context.device;
        if (device.refuses_inline && wanted->cap.max_inline_data > device.max_inline) return refuse<ibv_qp>(EINVAL);
        auto made = std::make_unique<FakeQueuePair>();
        made->context = &context;
        made->sends = &of(wanted->send_cq);
        made->receives = &of(wanted->recv_cq);
        wanted->cap.max_inline_data = device.max_inline;
        made->limits = wanted->cap;
        made->queue_pair.context = domain->context;
        made->queue_pair.pd = domain;
        made->queue_pair.qp_num = all().next_number++;
        made->queue_pair.state = IBV_QPS_RESET;
        all().queue_pairs_.push_back(std::move(made));
        return &all().queue_pairs_.back()->queue_pair;
    }
    static int modify_qp(ibv_qp* shown, ibv_qp_attr* to, int mask) {
        auto& queue_pair = of(shown);
        const auto& device = *queue_pair.context->device;
        if (to->qp_state == IBV_QPS_RESET) {
            queue_pair.posted.clear();
            queue_pair.held.clear();
            shown->state = IBV_QPS_RESET;
            return 0;
        }
        if (device.modify_error != 0) return device.modify_error;
        constexpr int initial = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
        const bool steps =
            (to->qp_state == IBV_QPS_INIT && shown->state == IBV_QPS_RESET && mask == initial) ||
            (to->qp_state == IBV_QPS_RTR && shown->state == IBV_QPS_INIT && mask == IBV_QP_STATE) ||
            (to->qp_state == IBV_QPS_RTS && shown->state == IBV_QPS_RTR && mask == (IBV_QP_STATE | IBV_QP_SQ_PSN));
        if (!steps) return EINVAL;
        if (to->qp_state == IBV_QPS_INIT) {
            queue_pair.qkey = to->qkey;
            queue_pair.pkey_index = to->pkey_index;
        }
        shown->state = to->qp_state;
        return 0;
    }
    static int destroy_qp(ibv_qp* queue_pair) {
        std::erase_if(all().queue_pairs_, [&](const auto& each) { return &each->queue_pair == queue_pair; });
        return 0;
    }

    static ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* to) {
        if (!of(domain->context).device->makes_handles) return refuse<ibv_ah>(EHOSTUNREACH);
        if (of(domain->context).device->port.ethernet && to->is_global == 0) return refuse<ibv_ah>(EINVAL);
        ++all().handles_made;
        auto* const handle = *all().handles_.insert(new ibv_ah{.context = domain->context, .pd = domain}).first;
        all().handle_attributes_[handle] = *to;
        return handle;
    }
    static int destroy_ah(ibv_ah* handle) {
        all().handles_.erase(handle);
        all().handle_attributes_.erase(handle);
        delete handle;
        return 0;
    }
    static int attach_mcast(ibv_qp* queue_pair, const ibv_gid* group, std::uint16_t) {
        if (const int error = of(queue_pair).context->device->attach_error; error != 0) return error;
        of(queue_pair).groups.insert(gid_of(*group));
        return 0;
    }
    static int detach_mcast(ibv_qp* queue_pair, const ibv_gid* group, std::uint16_t) {
        return of(queue_pair).groups.erase(gid_of(*group)) == 1 ? 0 : EINVAL;
    }

    static int post_receive(ibv_qp* shown, ibv_recv_wr* first, ibv_recv_wr** refused) {
        auto& queue_pair = of(shown);
        const auto error = queue_pair.context->device->receive_error;
        for (auto* request = first; request != nullptr; request = request->next) {
            *refused = request;
            if (error != 0) return error;
            if (queue_pair.posted.size() == queue_pair.limits.max_recv_wr) return ENOMEM;
            if (static_cast<std::uint32_t>(request->num_sge) > queue_pair.limits.max_recv_sge) return EINVAL;
            queue_pair.posted.push_back({request->wr_id, {request->sg_list, request->sg_list + request->num_sge}});
            if (shown->state == IBV_QPS_ERR) {
                queue_pair.posted.pop_back();
                all().fail(queue_pair, IBV_WC_WR_FLUSH_ERR, request->wr_id, true);
            }
        }
        return 0;
    }
    static int post_send(ibv_qp* shown, ibv_send_wr* first, ibv_send_wr** refused) {
        auto& queue_pair = of(shown);
        const auto& device = *queue_pair.context->device;
        unsigned at = 0;
        for (auto* request = first; request != nullptr; request = request->next, ++at) {
            *refused = request;
            if (device.post_error != 0 && at == device.post_error_at) return device.post_error;
            if (queue_pair.held.size() == queue_pair.limits.max_send_wr) return ENOMEM;
            if (static_cast<std::uint32_t>(request->num_sge) > queue_pair.limits.max_send_sge) return EINVAL;
            FakeSend send{.request = *request, .pieces = {request->sg_list, request->sg_list + request->num_sge}};
            if ((request->send_flags & IBV_SEND_INLINE) != 0) {
                for (const auto& piece : send.pieces) {
                    const auto* const bytes = reinterpret_cast<const std::byte*>(piece.addr);
                    send.copied.insert(send.copied.end(), bytes, bytes + piece.length);
                }
                if (send.copied.size() > queue_pair.limits.max_inline_data) return EINVAL;
            }
            queue_pair.held.push_back(std::move(send));
        }
        if (!device.holds_sends) all().execute(device);
        return 0;
    }
};

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

namespace {

/// The library is loaded once in a process, and so has one script, which leads to the test's adapters.
StandInCalls& script() {
    static StandInCalls calls = [] {
        StandInCalls made;
#define VERBLINE_STAND_IN_CALL(name) made.name = FakeCalls::name;
        VERBLINE_HCA_CALLS(VERBLINE_STAND_IN_CALL)
#undef VERBLINE_STAND_IN_CALL
        made.query_gid_ex = FakeCalls::query_gid_ex;
        return made;
    }();
    return calls;
}

}  // namespace

FakeAdapters::FakeAdapters() : error_(script().error) {
    current = this;
}

FakeAdapters::~FakeAdapters() {
    current = nullptr;
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
    FakeDatagram datagram{.payload = send.copied,
                          .to = handle_attributes_.at(request.wr.ud.ah),
                          .source = queue_pair.queue_pair.qp_num,
                          .destination = request.wr.ud.remote_qpn,
                          .qkey = request.wr.ud.remote_qkey,
                          .flags = request.send_flags,
                          .pieces = request.num_sge};
    for (const auto& piece : send.copied.empty() ? std::span(send.pieces) : std::span<const ibv_sge>()) {
        if (!readable(queue_pair, piece)) return fail(queue_pair, IBV_WC_LOC_PROT_ERR, request.wr_id, false);
        const auto* const bytes = reinterpret_cast<const std::byte*>(piece.addr);
        datagram.payload.insert(datagram.payload.end(), bytes, bytes + piece.length);
    }
    sent.push_back(datagram);
    deliver(datagram, queue_pair);
    if ((request.send_flags & IBV_SEND_SIGNALED) == 0) return;
    ++signalled;
    ibv_wc completion{};
    completion.wr_id = request.wr_id;
    completion.opcode = IBV_WC_SEND;
    complete(*queue_pair.sends, completion);
}

bool FakeAdapters::readable(const FakeQueuePair& queue_pair, const ibv_sge& piece) const {
    return std::ranges::any_of(regions_, [&](const auto* region) {
        const auto begin = reinterpret_cast<std::uintptr_t>(region->addr);
        return region->lkey == piece.lkey && region->context == queue_pair.queue_pair.context && piece.addr >= begin &&
               piece.addr + piece.length <= begin + region->length;
    });
}

void FakeAdapters::deliver(const FakeDatagram& datagram, const FakeQueuePair& from) {
    const auto to = gid_of(datagram.to.grh.dgid);
    const auto& port = from.context->device->port;
    const auto source = gid_of(port.gids.at(datagram.to.grh.sgid_index).gid);
    bool delivered = false;
    for (const auto& each : queue_pairs_) {
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
    if (to.posted.empty()) return;  // lost, as on a fabric
    const auto receive = std::move(to.posted.front());
    to.posted.pop_front();
    ByteVector bytes(grh_size);
    std::ranges::copy(source.bytes, bytes.begin() + 8);
    std::ranges::copy(destination.bytes, bytes.begin() + 24);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    const std::span<const std::byte> all(bytes);
    std::size_t at = 0;
    for (const auto& piece : receive.pieces) {
        if (!readable(to, piece)) return fail(to, IBV_WC_LOC_PROT_ERR, receive.number, true);
        const auto part = all.subspan(at, std::min<std::size_t>(piece.length, all.size() - at));
        std::memcpy(reinterpret_cast<void*>(piece.addr), part.data(), part.size());
        at += part.size();
    }
    if (at < all.size()) return fail(to, IBV_WC_LOC_LEN_ERR, receive.number, true);
    ibv_wc completion{};
    completion.wr_id = receive.number;
    completion.opcode = IBV_WC_RECV;
    completion.byte_len = ghost.value_or(static_cast<std::uint32_t>(all.size()));
    completion.src_qp = source_number;
    completion.wc_flags = IBV_WC_GRH | (to.context->device->verifies ? unsigned{IBV_WC_IP_CSUM_OK} : 0u);
    complete(*to.receives, completion);
}

FakeQueuePair* FakeAdapters::find(std::uint32_t number) const {
    const auto found =
        std::ranges::find_if(queue_pairs_, [&](const auto& each) { return each->queue_pair.qp_num == number; });
    return found == queue_pairs_.end() ? nullptr : found->get();
}

std::size_t FakeAdapters::objects() const {
    return contexts_.size() + queue_pairs_.size() + completion_queues_.size() + domains_.size() + regions_.size() +
           handles_.size() + channels_.size() + lists_.size();
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
