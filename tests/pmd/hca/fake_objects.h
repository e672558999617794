// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The objects of the library that stands in for libibverbs: what its calls (fake_calls.cc) make, and its fabric
/// (fake_adapters.cc) moves datagrams between.

#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <vector>

#include "tests/pmd/hca/fake_adapters.h"

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
    ByteVector copied, header;
};

/// Of a queue pair that spreads what it receives.
struct FakeWorkQueue {
    ibv_wq queue{};
    FakeContext* context = nullptr;
    FakeCompletionQueue* completions = nullptr;
    std::uint32_t max_receives = 0;
    std::deque<FakeReceive> posted;
};

struct FakeTable {
    ibv_rwq_ind_table table{};
    std::vector<FakeWorkQueue*> entries;
};

/// By which a queue pair gets packets of a shared number.
struct FakeRule {
    ibv_flow flow{};
    ByteVector request;  ///< as it was made
};

struct FakeQueuePair {
    ibv_qp queue_pair{};
    FakeContext* context = nullptr;
    FakeCompletionQueue *sends = nullptr, *receives = nullptr;
    ibv_qp_cap limits{};
    std::uint16_t longest_header = 0;  ///< of a request that segments
    std::uint32_t qkey = 0;
    std::uint16_t pkey_index = 0;
    std::deque<FakeReceive> posted;
    std::deque<FakeSend> held;
    std::set<wire::Gid> groups;
    std::vector<FakeWorkQueue*> spread;  ///< by the hash; empty: it receives itself
    std::vector<std::uint8_t> key;
    std::uint64_t hash_fields = 0;
    std::uint32_t shared_number = 0;  ///< by which it is known instead of its own; 0: it is not
    std::vector<std::unique_ptr<FakeRule>> rules;
};

inline wire::Gid gid_of(const ibv_gid& raw) {
    wire::Gid gid;
    std::memcpy(gid.bytes.data(), raw.raw, gid.bytes.size());
    return gid;
}

/// The library is loaded once in a process, and so has one script, whose calls go to `adapters`, those of the test
/// that runs; null: none do.
StandInCalls& script();
void lead_calls_to(FakeAdapters* adapters);
FakeAdapters* adapters_of_the_test();

/// Sets the library's errno, as the calls behind a context do by themselves: the library does not see them.
void set_library_errno(int error);

void add_flow_calls(verbs_context& context);
/// Whether a datagram comes to a queue pair of a shared number.
bool takes(const FakeQueuePair& queue_pair, const FakeDatagram& datagram);

/// Those that the device has of the calls behind a context.
void add_extended_calls(verbs_context& context, const FakeDevice& device);

/// Where a queue pair that spreads puts a packet.
FakeWorkQueue& work_queue_of(const FakeQueuePair& queue_pair, const ByteVector& packet);

}  // namespace verbline::test
