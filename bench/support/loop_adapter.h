// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An RDMA adapter of as little work as can be: its one port copies each datagram into the next receive of the queue
/// pair that sent it, and completes both. For what a user of libibverbs costs beside another.
///
/// It is behind the library that stands in for libibverbs in the tests (tests/pmd/hca/stand_in.cc), so both users make
/// the same calls. It checks nothing.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/pmd/hca/stand_in_calls.h"

namespace verbline::bench {

class LoopAdapter {
public:
    /// Scripts the library at `path`, whose only device is "loop0" then. Returns the path.
    static std::string library(const char* path) {
        static test::StandInCalls calls = script();
        setenv(test::stand_in_variable, fmt::format("{:x}", reinterpret_cast<std::uintptr_t>(&calls)).c_str(), 1);
        return path;
    }

private:
    static constexpr std::size_t room = 4096;

    template <class T>
    struct Ring {
        std::array<T, room> items;
        std::uint32_t head = 0, tail = 0;
        T& push() { return items[tail++ % room]; }
        T& pop() { return items[head++ % room]; }
        bool empty() const { return head == tail; }
    };
    struct Queue {
        ibv_cq queue{};
        Ring<ibv_wc> completions;
    };
    struct Receive {
        std::uint64_t number;
        ibv_sge piece;
    };
    struct Pair {
        ibv_qp queue_pair{};
        Ring<Receive> posted;
    };

    static Queue& of(ibv_cq* queue) { return *reinterpret_cast<Queue*>(queue); }
    static Pair& of(ibv_qp* queue_pair) { return *reinterpret_cast<Pair*>(queue_pair); }

    static int post_send(ibv_qp* shown, ibv_send_wr* request, ibv_send_wr**) {
        constexpr std::size_t grh = 40;
        auto& pair = of(shown);
        auto& received = of(shown->recv_cq).completions;
        for (; request != nullptr; request = request->next) {
            if (!pair.posted.empty()) {
                const auto& receive = pair.posted.pop();
                auto* at = reinterpret_cast<std::byte*>(receive.piece.addr) + grh;
                std::uint32_t size = grh;
                for (int i = 0; i < request->num_sge; ++i) {
                    const auto& piece = request->sg_list[i];
                    std::memcpy(at, reinterpret_cast<const void*>(piece.addr), piece.length);
                    at += piece.length;
                    size += piece.length;
                }
                auto& completion = received.push();
                completion.wr_id = receive.number;
                completion.status = IBV_WC_SUCCESS;
                completion.opcode = IBV_WC_RECV;
                completion.byte_len = size;
                completion.wc_flags = IBV_WC_GRH;
                completion.src_qp = 1;
            }
            if ((request->send_flags & IBV_SEND_SIGNALED) == 0) continue;
            auto& completion = of(shown->send_cq).completions.push();
            completion.wr_id = request->wr_id;
            completion.status = IBV_WC_SUCCESS;
            completion.opcode = IBV_WC_SEND;
        }
        return 0;
    }
    static int post_receive(ibv_qp* shown, ibv_recv_wr* request, ibv_recv_wr**) {
        for (; request != nullptr; request = request->next)
            of(shown).posted.push() = {request->wr_id, request->sg_list[0]};
        return 0;
    }
    static int poll(ibv_cq* shown, int most, ibv_wc* out) {
        auto& completions = of(shown).completions;
        int count = 0;
        while (count < most && !completions.empty()) out[count++] = completions.pop();
        return count;
    }

    /// The calls that make objects, and those that take them back.
    static void add_objects(test::StandInCalls& calls) {
        calls.alloc_pd = [](ibv_context* context) { return new ibv_pd{.context = context, .handle = 0}; };
        calls.dealloc_pd = [](ibv_pd* domain) { return delete domain, 0; };
        calls.reg_mr = [](ibv_pd* domain, void* at, std::size_t size, int) {
            return new ibv_mr{.context = domain->context, .pd = domain, .addr = at, .length = size};
        };
        calls.dereg_mr = [](ibv_mr* region) { return delete region, 0; };
        calls.create_comp_channel = [](ibv_context* context) {
            return new ibv_comp_channel{.context = context, .fd = eventfd(0, EFD_CLOEXEC), .refcnt = 0};
        };
        calls.destroy_comp_channel = [](ibv_comp_channel* channel) { return close(channel->fd), delete channel, 0; };
        calls.create_cq = [](ibv_context* context, int, void*, ibv_comp_channel*, int) {
            auto* const made = new Queue;
            made->queue.context = context;
            return &made->queue;
        };
        calls.destroy_cq = [](ibv_cq* queue) { return delete &of(queue), 0; };
        calls.create_qp = [](ibv_pd* domain, ibv_qp_init_attr* wanted) {
            auto* const made = new Pair;
            made->queue_pair.context = domain->context;
            made->queue_pair.send_cq = wanted->send_cq;
            made->queue_pair.recv_cq = wanted->recv_cq;
            made->queue_pair.qp_num = 2;
            return &made->queue_pair;
        };
        calls.modify_qp = [](ibv_qp* pair, ibv_qp_attr* to, int) {
            if (to->qp_state == IBV_QPS_RESET) of(pair).posted.head = of(pair).posted.tail;
            return 0;
        };
        calls.destroy_qp = [](ibv_qp* pair) { return delete &of(pair), 0; };
        calls.create_ah = [](ibv_pd* domain, ibv_ah_attr*) { return new ibv_ah{.context = domain->context}; };
        calls.destroy_ah = [](ibv_ah* handle) { return delete handle, 0; };
    }

    static test::StandInCalls script() {
        static ibv_device device{};
        static std::array<ibv_device*, 2> devices{&device};
        static verbs_context verbs{};
        std::strcpy(device.name, "loop0");
        auto& context = verbs.context;
        verbs.sz = sizeof verbs;
        context.device = &device;
        context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        context.async_fd = eventfd(0, EFD_CLOEXEC);
        context.ops.post_send = post_send;
        context.ops.post_recv = post_receive;
        context.ops.poll_cq = poll;

        test::StandInCalls calls;
        calls.get_device_list = [](int* count) { return *count = 1, devices.data(); };
        calls.free_device_list = [](ibv_device**) {};
        calls.open_device = [](ibv_device*) { return &verbs.context; };
        calls.close_device = [](ibv_context*) { return 0; };
        calls.get_async_event = [](ibv_context*, ibv_async_event*) { return -1; };
        calls.ack_async_event = [](ibv_async_event*) {};
        calls.query_device = [](ibv_context*, ibv_device_attr* out) {
            out->max_sge = 8;
            out->max_qp_wr = out->max_cqe = room;
            return out->phys_port_cnt = 1, 0;
        };
        calls.query_port = [](ibv_context*, std::uint8_t, _compat_ibv_port_attr* out) {
            auto& port = *reinterpret_cast<ibv_port_attr*>(out);
            port.state = IBV_PORT_ACTIVE;
            port.active_mtu = IBV_MTU_2048;
            port.pkey_tbl_len = 1;
            return port.link_layer = IBV_LINK_LAYER_INFINIBAND, 0;
        };
        calls.query_gid = [](ibv_context*, std::uint8_t, int, ibv_gid* out) { return out->raw[15] = 1, 0; };
        calls.query_pkey = [](ibv_context*, std::uint8_t, int, __be16* out) { return *out = 0xffff, 0; };
        calls.query_gid_ex = [](ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t,
                                std::size_t) { return 1; };
        add_objects(calls);
        return calls;
    }
};

}  // namespace verbline::bench
