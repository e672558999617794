// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Messages between two RDMA devices over a cable of rings, both ends in one thread: what a message, or a byte, costs
/// requester and responder together. The ICRC is computed and checked by both.
///
/// `allocations` are those made while measuring: there must be none.

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include <malloc.h>
#include <rte_mbuf.h>

#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include "bench/support/allocations.h"
#include "bench/support/rdma_ends.h"

namespace {

using namespace verbline;
using bench::RdmaEnds;
using transport::Completion, transport::QueuePairType, transport::ReceiveRequest, transport::Segment,
    transport::SendOperation, transport::SendRequest;

constexpr std::size_t small = 64, batch = 32, signal_every = 16;
constexpr std::size_t mebibyte = 1 << 20;

/// Successful completions that have come.
std::size_t drain(transport::CompletionQueue& queue) {
    std::array<Completion, 64> completions;
    const auto n = queue.poll(completions);
    for (std::size_t i = 0; i < n; ++i) {
        if (completions[i].status != transport::Status::success) throw std::runtime_error(text(completions[i].status));
    }
    return n;
}

template <class Request>
void post(rdma::QueuePair& pair, std::span<const Request> requests) {
    if (!pair.post(requests)) throw std::runtime_error("a request was not accepted");
}

/// Counts what is allocated while it lives.
class Steady {
public:
    explicit Steady(benchmark::State& state) : state_(state), before_(bench::allocations()) {}
    ~Steady() { state_.counters["allocations"] = static_cast<double>(bench::allocations() - before_); }

private:
    benchmark::State& state_;
    std::uint64_t before_;
};

/// Keeps receives posted at B: one for each message, so that none finds the queue empty.
class Receives {
public:
    Receives(RdmaEnds& ends, std::size_t length, std::uint32_t depth) : ends_(ends) {
        segment_ = ends.b().segment(0, length);
        for (std::size_t pair = 0; pair < ends.b().pairs.size(); ++pair) give(pair, depth);
    }
    /// Takes what has come and posts anew for it; returns how many.
    std::size_t turn() {
        const auto n = drain(*ends_.b().received);
        came_ += n;
        for (; came_ - given_ >= batch; given_ += batch) give(given_ / batch % ends_.b().pairs.size(), batch);
        return n;
    }

private:
    void give(std::size_t pair, std::size_t count) {
        std::array<ReceiveRequest, batch> requests;
        requests.fill({.segments = {&segment_, 1}});
        for (; count > 0; count -= std::min(count, batch)) {
            post(*ends_.b().pairs[pair], std::span<const ReceiveRequest>(requests).first(std::min(count, batch)));
        }
    }

    RdmaEnds& ends_;
    Segment segment_;
    std::size_t came_ = 0, given_ = 0;
};

/// 64 bytes each, in batches that go to the queue pairs in turn.
void small_messages(benchmark::State& state, QueuePairType type, SendOperation operation) {
    constexpr std::size_t depth = 256;
    const bool to_receives = operation == SendOperation::send;
    RdmaEnds ends({.type = type, .pairs = static_cast<std::size_t>(state.range(0)), .mtu = 1024});
    Receives receives(ends, small + 40, 512);  // 40: a datagram's GRH
    const auto segment = ends.a().segment(0, small);
    std::array<SendRequest, batch> requests;
    for (std::size_t i = 0; i < batch; ++i) {
        const bool signalled = i % signal_every == signal_every - 1;
        requests[i] = {.segments = {&segment, 1},
                       .operation = operation,
                       .flags = static_cast<std::uint8_t>(signalled ? transport::send_signalled : 0),
                       .remote_address = ends.b().segment(i * small, small).address,
                       .rkey = ends.b().region->rkey()};
    }
    std::size_t posted = 0, sent = 0, done = 0, pair = 0;
    const auto turn = [&] {
        ends.poll();
        sent += drain(*ends.a().sent) * signal_every;
        done = to_receives ? done + receives.turn() : sent;
    };
    const auto round = [&] {
        if (type == QueuePairType::ud) {
            const auto to = ends.destination(pair);
            for (auto& request : requests) request.ud = to;
        }
        post(*ends.a().pairs[pair], std::span<const SendRequest>(requests));
        posted += batch;
        if (++pair == ends.a().pairs.size()) pair = 0;
        do turn();
        while (posted - std::min(sent, done) > depth - batch);
    };
    for (int i = 0; i < 1000; ++i) round();
    const auto before = done;
    {
        const Steady steady(state);
        for (auto _ : state) round();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(done - before));
    while (std::min(sent, done) < posted) turn();
}

/// One WRITE of 64 bytes on each queue pair in turn, each with its own doorbell and its own completion.
void round_robin(benchmark::State& state) {
    constexpr std::size_t depth = 256;
    const auto pairs = static_cast<std::size_t>(state.range(0));
    RdmaEnds ends({.pairs = pairs, .requests = pairs == 1 ? 512u : 16u, .mtu = 1024, .memory = 16'384 * small});
    std::size_t posted = 0, done = 0, pair = 0;
    const auto turn = [&] {
        ends.poll();
        done += drain(*ends.a().sent);
    };
    const auto round = [&] {
        for (std::size_t i = 0; i < batch; ++i) {
            const auto segment = ends.a().segment(pair * small, small);
            const SendRequest request{.segments = {&segment, 1},
                                      .operation = SendOperation::write,
                                      .flags = transport::send_signalled,
                                      .remote_address = ends.b().segment(pair * small, small).address,
                                      .rkey = ends.b().region->rkey()};
            ends.a().pairs[(pair + 16) % pairs]->prefetch();
            post(*ends.a().pairs[pair], std::span(&request, 1));
            if (++pair == pairs) pair = 0;
        }
        posted += batch;
        do turn();
        while (posted - done > depth - batch);
    };
    for (std::size_t i = 0; i < 2 * pairs + 10'000; i += batch) round();
    const auto before = done;
    {
        const Steady steady(state);
        for (auto _ : state) round();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(done - before));
    while (done < posted) turn();
}

/// Messages of 1 MiB, four of them under way, at path MTU 4096.
void large_messages(benchmark::State& state, SendOperation operation) {
    constexpr std::size_t depth = 4;
    RdmaEnds ends({.memory = depth * mebibyte});
    std::vector<Segment> at_b;
    for (std::size_t i = 0; i < depth; ++i) at_b.push_back(ends.b().segment(i * mebibyte, mebibyte));
    const auto receive = [&](std::size_t slot) {
        const ReceiveRequest request{.segments = {&at_b[slot], 1}};
        post(*ends.b().pairs[0], std::span(&request, 1));
    };
    const bool to_receives = operation == SendOperation::send;
    for (std::size_t i = 0; to_receives && i < depth; ++i) receive(i);
    std::size_t posted = 0, done = 0, received = 0;
    const auto turn = [&] {
        ends.poll();
        done += drain(*ends.a().sent);
        for (auto n = drain(*ends.b().received); n > 0; --n) receive(received++ % depth);
    };
    const auto round = [&] {
        const auto segment = ends.a().segment(posted % depth * mebibyte, mebibyte);
        const SendRequest request{.segments = {&segment, 1},
                                  .operation = operation,
                                  .flags = transport::send_signalled,
                                  .remote_address = at_b[posted % depth].address,
                                  .rkey = ends.b().region->rkey()};
        post(*ends.a().pairs[0], std::span(&request, 1));
        ++posted;
        while (posted - done >= depth) turn();
    };
    for (int i = 0; i < 20; ++i) round();
    const auto before = done;
    {
        const Steady steady(state);
        for (auto _ : state) round();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>((done - before) * mebibyte));
    while (done < posted) turn();
}

/// The least possible work: each end copies each byte once and passes over it once with a CRC-32, here ISA-L's. The
/// frames are as many as a burst, so that they lie in the cache as they would.
void limit_copy_crc(benchmark::State& state) {
    constexpr std::size_t buffers = 4, packet = 4096;
    const auto frames = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> from(buffers * mebibyte, std::byte{1}), to(buffers * mebibyte), between(frames * packet);
    const auto crc = [&](std::byte* bytes) {
        benchmark::DoNotOptimize(crc32_gzip_refl(0, reinterpret_cast<unsigned char*>(bytes), packet));
    };
    std::size_t message = 0;
    for (auto _ : state) {
        const auto start = message++ % buffers * mebibyte;
        for (std::size_t at = start; at < start + mebibyte; at += frames * packet) {
            for (std::size_t i = 0; i < frames; ++i) {
                std::memcpy(between.data() + i * packet, from.data() + at + i * packet, packet);
                crc(between.data() + i * packet);
            }
            for (std::size_t i = 0; i < frames; ++i) {
                crc(between.data() + i * packet);
                std::memcpy(to.data() + at + i * packet, between.data() + i * packet, packet);
            }
        }
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(mebibyte));
}

/// Heap that an idle, connected queue pair keeps allocated, besides what its user sized. Queues grow with the
/// requests asked for, responder resources with the READs; what grows with neither is the queue pair.
void idle_queue_pair(benchmark::State& state) {
    constexpr std::size_t pairs = 1000;
    const auto heap = [] {
        const auto all = mallinfo2();
        return all.uordblks + all.hblkhd;
    };
    const auto bytes_of_each = [&](std::uint32_t requests, std::uint8_t reads) {
        const bench::RdmaSetup setup{.requests = requests, .max_reads = reads, .mtu = 1024};
        RdmaEnds ends(setup);
        for (auto* const end : {&ends.a(), &ends.b()}) end->pairs.reserve(pairs + 1);
        const auto before = heap();
        ends.connect(pairs + 1, setup);
        return static_cast<double>(heap() - before) / (2 * pairs);
    };
    double small_queues = 0, large_queues = 0, many_reads = 0;
    for (auto _ : state) {
        small_queues = bytes_of_each(16, 1);
        large_queues = bytes_of_each(32, 1);
        many_reads = bytes_of_each(16, 17);
    }
    state.counters["bytes"] = 2 * small_queues - large_queues;
    state.counters["per_request"] = (large_queues - small_queues) / 16;
    state.counters["per_read"] = (many_reads - small_queues) / 16;
    state.counters["object"] = sizeof(transport::TransportQueuePair);
}

BENCHMARK_CAPTURE(small_messages, rc_write, QueuePairType::rc, SendOperation::write)->Arg(1)->Arg(4);
BENCHMARK_CAPTURE(small_messages, rc_send, QueuePairType::rc, SendOperation::send)->Arg(1)->Arg(4);
BENCHMARK_CAPTURE(small_messages, ud_send, QueuePairType::ud, SendOperation::send)->Arg(1)->Arg(4);
BENCHMARK(round_robin)->Arg(1)->Arg(1000)->Arg(10'000);
BENCHMARK_CAPTURE(large_messages, rc_write, SendOperation::write);
BENCHMARK_CAPTURE(large_messages, rc_read, SendOperation::read);
BENCHMARK_CAPTURE(large_messages, rc_send, SendOperation::send);
BENCHMARK(limit_copy_crc)->Arg(1)->Arg(64);
BENCHMARK(idle_queue_pair)->Iterations(1);

}  // namespace
