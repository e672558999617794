// SPDX-License-Identifier: BSD-3-Clause
// ibv_post_send, ibv_post_recv, ibv_bind_mw: from lists of requests to the queues, and one round of the shard.
#include <array>

#include "apps/libibverbs/abi/work_request.h"
#include "apps/libibverbs/objects/address_handle.h"
#include "apps/libibverbs/objects/queue_pair.h"

namespace verbline::verbs {

int VerbsQueuePair::post_send(ibv_send_wr* list, ibv_send_wr** bad) noexcept {
    if (!context().alive()) return *bad = list, EIO;
    std::array<transport::Segment, limits::segments> room;
    const auto type = handle_.abi.qp_base.qp_type;
    transport::SendRequest request;
    int error = 0;
    auto* const first = list;
    {
        const std::scoped_lock lock(send_lock_);
        for (; list != nullptr; list = list->next) {
            if (const auto converted = to_send_request(*list, type, room, request); !converted) {
                error = converted.error();
            } else if (type == IBV_QPT_UD) {
                if (list->wr.ud.ah == nullptr) {
                    error = EINVAL;
                } else {
                    request.ud.envelope = &AddressHandle::of(list->wr.ud.ah).envelope();
                }
            }
            if (error == 0) {
                if (const auto staged = native_->stage(request); !staged) error = static_cast<int>(staged.error());
            }
            if (error != 0) {
                *bad = list;
                break;
            }
        }
        if (list == first) return error;
        native_->publish();
    }
    context().progress().posted(*native_);
    return error;
}

int VerbsQueuePair::post_receive(ibv_recv_wr* list, ibv_recv_wr** bad) noexcept {
    if (!context().alive()) return *bad = list, EIO;
    std::array<transport::Segment, limits::segments> room;
    const std::scoped_lock lock(receive_lock_);
    for (; list != nullptr; list = list->next) {
        const auto request = to_receive_request(*list, room);
        int error = request ? 0 : request.error();
        if (request) {
            if (const auto posted = native_->post(*request); !posted) error = static_cast<int>(posted.error().why);
        }
        if (error != 0) {
            *bad = list;
            return error;
        }
    }
    return 0;
}

int VerbsQueuePair::bind_window(ibv_mw& window, const ibv_mw_bind& bind) noexcept {
    if (!context().alive()) return EIO;
    // Type 1: we choose the next key; of type 2 the program does, by a send request (ibv_bind_mw(3)).
    if (window.type != IBV_MW_TYPE_1) return EINVAL;
    const auto key = ibv_inc_rkey(window.rkey);
    const auto binding = to_binding(&window, key, bind.bind_info);
    if (!binding) return binding.error();
    const transport::SendRequest request{.id = bind.wr_id,
                                         .operation = transport::SendOperation::bind_window,
                                         .flags = static_cast<std::uint8_t>(bind.send_flags),
                                         .bind = *binding};
    {
        const std::scoped_lock lock(send_lock_);
        if (const auto staged = native_->stage(request); !staged) return static_cast<int>(staged.error());
        native_->publish();
    }
    window.rkey = key;
    context().progress().posted(*native_);
    return 0;
}

void VerbsQueuePair::start_work() noexcept {
    // In the child of a fork, the thread that held the lock may not exist.
    if (!context().alive()) return builder_->start(), builder_->fail(EIO);
    send_lock_.lock();
    builder_->start();
}

int VerbsQueuePair::complete_work() noexcept {
    const int error = builder_->complete();
    send_lock_.unlock();
    if (error == 0) context().progress().posted(*native_);
    return error;
}

void VerbsQueuePair::abort_work() noexcept {
    builder_->abort();
    send_lock_.unlock();
}

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
    return VerbsQueuePair::of(qp).post_send(list, bad);
}

int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad) {
    return VerbsQueuePair::of(qp).post_receive(list, bad);
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
    return VerbsQueuePair::of(qp).bind_window(*mw, *bind);
}

}  // namespace verbline::verbs
