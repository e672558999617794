// SPDX-License-Identifier: BSD-3-Clause
// A library with the calls of libibverbs.so.1, which forwards each to the test's script.
#include <cerrno>
#include <cstdlib>

#include "tests/pmd/hca/stand_in_calls.h"

namespace {

/// Asked each time, as a provider may ask for its variables at any time.
verbline::test::StandInCalls& script() {
    const auto* const address = std::getenv(verbline::test::stand_in_variable);
    return *reinterpret_cast<verbline::test::StandInCalls*>(std::strtoull(address, nullptr, 16));
}

template <class Result>
Result with_errno(Result result) {
    errno = script().error;
    return result;
}

}  // namespace

#define FORWARD(type, name, parameters, arguments)  \
    type ibv_##name parameters {                    \
        return with_errno(script().name arguments); \
    }
#define FORWARD_VOID(name, parameters, arguments) \
    void ibv_##name parameters {                  \
        script().name arguments;                  \
    }

extern "C" {
FORWARD(ibv_device**, get_device_list, (int* count), (count))
FORWARD_VOID(free_device_list, (ibv_device * *list), (list))
FORWARD(ibv_context*, open_device, (ibv_device * device), (device))
FORWARD(int, close_device, (ibv_context * context), (context))
FORWARD(int, get_async_event, (ibv_context * context, ibv_async_event* event), (context, event))
FORWARD_VOID(ack_async_event, (ibv_async_event * event), (event))
FORWARD(int, query_device, (ibv_context * context, ibv_device_attr* out), (context, out))
FORWARD(int, query_port, (ibv_context * context, std::uint8_t port, _compat_ibv_port_attr* out), (context, port, out))
FORWARD(int, query_gid, (ibv_context * context, std::uint8_t port, int index, ibv_gid* out),
        (context, port, index, out))
FORWARD(int, query_pkey, (ibv_context * context, std::uint8_t port, int index, __be16* out),
        (context, port, index, out))
FORWARD(ibv_pd*, alloc_pd, (ibv_context * context), (context))
FORWARD(int, dealloc_pd, (ibv_pd * domain), (domain))
FORWARD(ibv_mr*, reg_mr, (ibv_pd * domain, void* at, std::size_t size, int access), (domain, at, size, access))
FORWARD(int, dereg_mr, (ibv_mr * region), (region))
FORWARD(ibv_comp_channel*, create_comp_channel, (ibv_context * context), (context))
FORWARD(int, destroy_comp_channel, (ibv_comp_channel * channel), (channel))
FORWARD(ibv_cq*, create_cq, (ibv_context * context, int depth, void* user, ibv_comp_channel* channel, int vector),
        (context, depth, user, channel, vector))
FORWARD(int, destroy_cq, (ibv_cq * queue), (queue))
FORWARD(int, get_cq_event, (ibv_comp_channel * channel, ibv_cq** queue, void** user), (channel, queue, user))
FORWARD_VOID(ack_cq_events, (ibv_cq * queue, unsigned count), (queue, count))
FORWARD(ibv_qp*, create_qp, (ibv_pd * domain, ibv_qp_init_attr* wanted), (domain, wanted))
FORWARD(int, modify_qp, (ibv_qp * queue_pair, ibv_qp_attr* to, int mask), (queue_pair, to, mask))
FORWARD(int, destroy_qp, (ibv_qp * queue_pair), (queue_pair))
FORWARD(ibv_ah*, create_ah, (ibv_pd * domain, ibv_ah_attr* to), (domain, to))
FORWARD(int, destroy_ah, (ibv_ah * handle), (handle))
FORWARD(int, attach_mcast, (ibv_qp * queue_pair, const ibv_gid* group, std::uint16_t lid), (queue_pair, group, lid))
FORWARD(int, detach_mcast, (ibv_qp * queue_pair, const ibv_gid* group, std::uint16_t lid), (queue_pair, group, lid))

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* out,
                      std::uint32_t flags, std::size_t size) {
    return with_errno(script().query_gid_ex(context, port, index, out, flags, size));
}
}
