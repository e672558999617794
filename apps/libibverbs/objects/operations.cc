// SPDX-License-Identifier: BSD-3-Clause
// The operations that programs call through the context instead of by name. A new verb begins here or in
// ../abi/symbols.txt, which has the names; apps/EXTENDING.md lists the further steps.
#include "apps/libibverbs/objects/completion_queue.h"
#include "apps/libibverbs/objects/memory.h"
#include "apps/libibverbs/objects/query.h"
#include "apps/libibverbs/objects/queue_pair.h"
#include "apps/libibverbs/objects/shared_receive_queue.h"

namespace verbline::verbs {

void set_operations(verbs_context& context) {
    auto& ops = context.context.ops;
    ops.alloc_mw = alloc_mw;
    ops.bind_mw = bind_mw;
    ops.dealloc_mw = dealloc_mw;
    ops.poll_cq = poll_cq;
    ops.req_notify_cq = req_notify_cq;
    ops.post_srq_recv = post_srq_recv;
    ops.post_send = post_send;
    ops.post_recv = post_recv;

    context.query_port = query_port;
    context.query_device_ex = query_device;
    context.query_rt_values = query_rt_values;
    context.create_cq_ex = create_cq_ex;
    context.modify_cq = modify_cq;
    context.create_qp_ex = create_qp_ex;
    context.open_qp = open_qp;
    context.create_srq_ex = create_srq_ex;
    context.get_srq_num = get_srq_num;
    context.open_xrcd = open_xrcd;
    context.close_xrcd = close_xrcd;
    context.alloc_td = alloc_td;
    context.dealloc_td = dealloc_td;
    context.alloc_parent_domain = alloc_parent_domain;
    context.advise_mr = advise_mr;
    context.alloc_dm = alloc_dm;
    context.free_dm = free_dm;
    context.reg_dm_mr = reg_dm_mr;
}

}  // namespace verbline::verbs
