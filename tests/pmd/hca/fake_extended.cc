// SPDX-License-Identifier: BSD-3-Clause
// The calls of the library that stands in for libibverbs which a device may lack: those in a table behind its context.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "pmd/hca/library.h"
#include "tests/pmd/hca/fake_objects.h"

namespace verbline::test {

struct FakeExtendedCalls {
    static FakeAdapters& all() { return *adapters_of_the_test(); }
    template <class T>
    static T* refuse(int error) {
        set_library_errno(error);
        return nullptr;
    }
    static FakeContext& of(ibv_context* context) {
        return **std::ranges::find_if(all().contexts_,
                                      [&](const auto& each) { return &each->verbs.context == context; });
    }
    static FakeWorkQueue& of(const ibv_wq* queue) {
        return **std::ranges::find_if(all().work_queues_, [&](const auto& each) { return &each->queue == queue; });
    }

    static int query_device(ibv_context* context, const ibv_query_device_ex_input*, ibv_device_attr_ex* out,
                            std::size_t) {
        const auto& device = *of(context).device;
        out->rss_caps = {.supported_qpts = 1u << device.spreads_for,
                         .max_rwq_indirection_tables = 1,
                         .max_rwq_indirection_table_size = device.spread_entries,
                         .rx_hash_fields_mask = device.hash_fields,
                         .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ};
        out->tso_caps = {.max_tso = device.max_tso, .supported_qpts = 1u << device.segments_for};
        out->max_wq_type_rq = device.max_work_queues;
        out->orig_attr.device_cap_flags = device.flags;
        return 0;
    }

    static ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* wanted) {
        const auto& device = *of(context).device;
        if (device.work_queue_error != 0) return refuse<ibv_wq>(device.work_queue_error);
        auto made = std::make_unique<FakeWorkQueue>();
        made->context = &of(context);
        made->completions = queue_of(wanted->cq);
        made->max_receives = wanted->max_wr;
        made->queue.context = context;
        made->queue.pd = wanted->pd;
        made->queue.cq = wanted->cq;
        made->queue.state = IBV_WQS_RESET;
        made->queue.post_recv = post_receive;
        all().work_queues_.push_back(std::move(made));
        return &all().work_queues_.back()->queue;
    }
    static FakeCompletionQueue* queue_of(const ibv_cq* shown) {
        return std::ranges::find_if(all().completion_queues_, [&](const auto& each) { return &each->queue == shown; })
            ->get();
    }
    static int modify_wq(ibv_wq* shown, ibv_wq_attr* to) {
        auto& queue = of(shown);
        if (to->wq_state == IBV_WQS_RESET) queue.posted.clear();
        const int error = queue.context->device->work_queue_modify_error;
        if (to->wq_state == IBV_WQS_RDY && error != 0) return error;
        if (to->wq_state == IBV_WQS_RDY && shown->state != IBV_WQS_RESET) return EINVAL;
        shown->state = to->wq_state;
        return 0;
    }
    static int destroy_wq(ibv_wq* queue) {
        const auto uses = [&](const auto& table) {
            return std::ranges::any_of(table->entries, [&](const auto* each) { return &each->queue == queue; });
        };
        if (std::ranges::any_of(all().tables_, uses)) return EBUSY;
        std::erase_if(all().work_queues_, [&](const auto& each) { return &each->queue == queue; });
        return 0;
    }
    static int post_receive(ibv_wq* shown, ibv_recv_wr* first, ibv_recv_wr** refused) {
        auto& queue = of(shown);
        const int error = queue.context->device->receive_error;
        for (auto* request = first; request != nullptr; request = request->next) {
            *refused = request;
            if (error != 0) return error;
            if (shown->state == IBV_WQS_RESET) return EINVAL;
            if (queue.posted.size() == queue.max_receives) return ENOMEM;
            queue.posted.push_back({request->wr_id, {request->sg_list, request->sg_list + request->num_sge}});
        }
        return 0;
    }

    static ibv_rwq_ind_table* create_table(ibv_context* context, ibv_rwq_ind_table_init_attr* wanted) {
        const auto& device = *of(context).device;
        if (device.table_error != 0) return refuse<ibv_rwq_ind_table>(device.table_error);
        if (1u << wanted->log_ind_tbl_size > device.spread_entries) return refuse<ibv_rwq_ind_table>(EINVAL);
        auto made = std::make_unique<FakeTable>();
        made->table.context = context;
        for (std::size_t i = 0; i < std::size_t{1} << wanted->log_ind_tbl_size; ++i)
            made->entries.push_back(&of(wanted->ind_tbl[i]));
        all().tables_.push_back(std::move(made));
        return &all().tables_.back()->table;
    }
    static int destroy_table(ibv_rwq_ind_table* table) {
        std::erase_if(all().tables_, [&](const auto& each) { return &each->table == table; });
        return 0;
    }

    static ibv_qp* create_sharing(ibv_qp_init_attr_ex& wanted, const FakeDevice& device) {
        if (wanted.create_flags != IBV_QP_CREATE_SOURCE_QPN) return refuse<ibv_qp>(EINVAL);
        if (device.share_error != 0) return refuse<ibv_qp>(device.share_error);
        // The one structure begins with the other.
        auto* const made = script().create_qp(wanted.pd, reinterpret_cast<ibv_qp_init_attr*>(&wanted));
        if (made == nullptr) return refuse<ibv_qp>(all().error_);
        all().queue_pairs_.back()->shared_number = wanted.source_qpn;
        return made;
    }
    static ibv_qp* create_segmenting(ibv_qp_init_attr_ex& wanted, const FakeDevice& device) {
        if (device.segment_error != 0) return refuse<ibv_qp>(device.segment_error);
        auto* const made = script().create_qp(wanted.pd, reinterpret_cast<ibv_qp_init_attr*>(&wanted));
        if (made == nullptr) return refuse<ibv_qp>(all().error_);
        all().queue_pairs_.back()->longest_header = wanted.max_tso_header;
        return made;
    }
    static ibv_qp* create_qp(ibv_context* context, ibv_qp_init_attr_ex* wanted) {
        const auto& device = *of(context).device;
        if ((wanted->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0) return create_sharing(*wanted, device);
        if ((wanted->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0) return create_segmenting(*wanted, device);
        auto made = std::make_unique<FakeQueuePair>();
        made->context = &of(context);
        made->queue_pair.context = context;
        made->queue_pair.pd = wanted->pd;
        made->queue_pair.state = IBV_QPS_RESET;
        if ((wanted->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE) != 0) {
            constexpr std::uint64_t ipv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
            const auto fields = wanted->rx_hash_conf.rx_hash_fields_mask;
            if (device.spread_error != 0) return refuse<ibv_qp>(device.spread_error);
            if (device.hashes_one_family && (fields & ipv6) != 0) return refuse<ibv_qp>(EINVAL);
            if ((fields & ~device.hash_fields) != 0 || wanted->cap.max_send_wr != 0) return refuse<ibv_qp>(EINVAL);
            const auto table = std::ranges::find_if(
                all().tables_, [&](const auto& each) { return &each->table == wanted->rwq_ind_tbl; });
            made->spread = (*table)->entries;
            made->hash_fields = fields;
            made->key.assign(wanted->rx_hash_conf.rx_hash_key,
                             wanted->rx_hash_conf.rx_hash_key + wanted->rx_hash_conf.rx_hash_key_len);
        }
        made->queue_pair.qp_num = all().next_number++;
        all().queue_pairs_.push_back(std::move(made));
        return &all().queue_pairs_.back()->queue_pair;
    }
};

void set_library_errno(int error) {
    static const auto& verbs = **pmd::hca::open_library(FakeAdapters::library());
    *verbs.errno_location() = error;
}

void add_extended_calls(verbs_context& context, const FakeDevice& device) {
    if (!device.has_extended_calls) return;
    context.query_device_ex = FakeExtendedCalls::query_device;
    context.create_qp_ex = FakeExtendedCalls::create_qp;
    add_flow_calls(context);
    if (!device.has_work_queue_calls) return;
    context.create_wq = FakeExtendedCalls::create_wq;
    context.modify_wq = FakeExtendedCalls::modify_wq;
    context.destroy_wq = FakeExtendedCalls::destroy_wq;
    context.create_rwq_ind_table = FakeExtendedCalls::create_table;
    context.destroy_rwq_ind_table = FakeExtendedCalls::destroy_table;
}

}  // namespace verbline::test
