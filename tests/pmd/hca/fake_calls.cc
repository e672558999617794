// SPDX-License-Identifier: BSD-3-Clause
// The calls of the library that stands in for libibverbs, by which objects are made, changed and destroyed, and
// requests posted.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "tests/pmd/hca/fake_objects.h"

namespace verbline::test {
namespace {

FakeAdapters* current = nullptr;

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
        add_extended_calls(context->verbs, each);
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
        if (queue_pair.shared_number != 0) {  // has all else from the kernel's interface
            if (mask != IBV_QP_STATE) return EINVAL;
            shown->state = to->qp_state;
            return 0;
        }
        const bool steps =
            (to->qp_state == IBV_QPS_INIT && shown->state == IBV_QPS_RESET && mask == initial) ||
            (to->qp_state == IBV_QPS_RTR && shown->state == IBV_QPS_INIT && mask == IBV_QP_STATE) ||
            (to->qp_state == IBV_QPS_RTS && shown->state == IBV_QPS_RTR && mask == (IBV_QP_STATE | IBV_QP_SQ_PSN));
        if (!steps || (to->qp_state == IBV_QPS_RTS && !queue_pair.spread.empty())) return EINVAL;
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
        if (of(queue_pair).shared_number != 0) return EOPNOTSUPP;
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
            if (request->opcode == IBV_WR_TSO) {
                if (request->tso.hdr_sz > queue_pair.longest_header) return EINVAL;
                const auto* const bytes = static_cast<const std::byte*>(request->tso.hdr);
                send.header.assign(bytes, bytes + request->tso.hdr_sz);
            }
            queue_pair.held.push_back(std::move(send));
        }
        if (!device.holds_sends) all().execute(device);
        return 0;
    }
};

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

FakeAdapters* adapters_of_the_test() {
    return current;
}

void lead_calls_to(FakeAdapters* adapters) {
    current = adapters;
}

}  // namespace verbline::test
