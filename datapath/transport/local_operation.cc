// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/local_operation.h"

namespace verbline::transport {

Status execute_local(const SendWork& work, const QueuePairContext& qp, memory::KeyTable& keys) noexcept {
    if (work.operation == SendOperation::local_invalidate) {
        const auto key = static_cast<wire::RKey>(work.immediate);
        return keys.invalidate(key, qp.pd, qp.qpn) ? Status::success : Status::window_bind_error;
    }
    const memory::Binding binding{.new_key = static_cast<wire::RKey>(work.immediate),
                                  .region = work.region,
                                  .address = work.remote_address,
                                  .length = work.operand[0],
                                  .rights = static_cast<memory::Access>(work.operand[1]),
                                  .pd = qp.pd,
                                  .qpn = qp.qpn};
    return keys.bind(work.rkey, binding) ? Status::success : Status::window_bind_error;
}

}  // namespace verbline::transport
