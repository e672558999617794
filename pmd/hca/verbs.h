// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The calls of libibverbs that this folder makes, as a table: the library is opened at run time (library.h), and no
/// symbol of it is linked.
///
/// Work requests and completions need no table, as the library's header does not either: they go through the context
/// of their queue (`post_send`, `post_receive`, `poll` below).

#include <memory>

#include <infiniband/verbs.h>

// Macros that hide functions of the same name.
#undef ibv_reg_mr
#undef ibv_query_port

namespace verbline::pmd::hca {

#define VERBLINE_HCA_CALLS(X) \
    X(get_device_list)        \
    X(free_device_list)       \
    X(open_device)            \
    X(close_device)           \
    X(get_async_event)        \
    X(ack_async_event)        \
    X(query_device)           \
    X(query_port)             \
    X(query_gid)              \
    X(query_pkey)             \
    X(alloc_pd)               \
    X(dealloc_pd)             \
    X(reg_mr)                 \
    X(dereg_mr)               \
    X(create_comp_channel)    \
    X(destroy_comp_channel)   \
    X(create_cq)              \
    X(destroy_cq)             \
    X(get_cq_event)           \
    X(ack_cq_events)          \
    X(create_qp)              \
    X(modify_qp)              \
    X(destroy_qp)             \
    X(create_ah)              \
    X(destroy_ah)             \
    X(attach_mcast)           \
    X(detach_mcast)

/// Each as libibverbs documents it, with one exception: the library has an errno of its own.
struct Verbs {
#define VERBLINE_HCA_POINTER(name) decltype(&::ibv_##name) name = nullptr;
    VERBLINE_HCA_CALLS(VERBLINE_HCA_POINTER)
#undef VERBLINE_HCA_POINTER
    decltype(&::_ibv_query_gid_ex) query_gid_ex = nullptr;  ///< null before rdma-core 30
    int* (*errno_location)() = nullptr;

    /// Of the last call that failed by returning null or -1, in this thread.
    int error() const { return *errno_location(); }
};

/// An object of the library's, released by the library's call for it.
template <class T>
struct Release {
    int (*release)(T*) = nullptr;
    void operator()(T* object) const noexcept { (void)release(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Release<T>>;

inline int post_send(ibv_qp& queue_pair, ibv_send_wr& first, ibv_send_wr*& refused) noexcept {
    return queue_pair.context->ops.post_send(&queue_pair, &first, &refused);
}
inline int post_receive(ibv_qp& queue_pair, ibv_recv_wr& first, ibv_recv_wr*& refused) noexcept {
    return queue_pair.context->ops.post_recv(&queue_pair, &first, &refused);
}
inline int poll(ibv_cq& queue, int room, ibv_wc* out) noexcept {
    return queue.context->ops.poll_cq(&queue, room, out);
}

}  // namespace verbline::pmd::hca
