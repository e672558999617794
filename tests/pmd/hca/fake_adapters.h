// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// RDMA adapters as the stand-in library shows them, and the fabric between them: what a test scripts.
///
///     pmd/hca ── libibverbs' calls ──> stand_in.cc ──> FakeAdapters ── datagrams ──> queue pairs of all its devices
///
/// Strict where hardware is: a request is executed only if its memory is registered, its handle still exists, its queue
/// pair is in RTS; a violation puts the queue pair into error, as on an adapter. A datagram arrives at the queue pair
/// of its number and Q_Key, or at all that are attached to its group.

#include <array>
#include <cerrno>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/hca/verbs.h"
#include "tests/pmd/hca/stand_in_calls.h"
#include "tests/support/packet.h"

namespace verbline::test {

struct FakePort {
    bool ethernet = true;
    ibv_port_state state = IBV_PORT_ACTIVE;
    ibv_mtu mtu = IBV_MTU_2048;
    std::uint16_t lid = 0;
    std::vector<std::uint16_t> pkeys{0xffff};
    std::vector<ibv_gid_entry> gids;
};

/// A device; what it can do may be less than all.
struct FakeDevice {
    explicit FakeDevice(const std::string& name, std::uint8_t host);

    ibv_device device{};
    FakePort port;
    bool there = true;
    int max_sge = 32, max_requests = 4096;
    std::uint32_t max_inline = 256;
    bool refuses_inline = false;  ///< create_qp fails with more than max_inline, as rxe's
    int open_error = 0, memory_error = 0, queue_error = 0, modify_error = 0, attach_error = 0;
    bool makes_handles = true;
    bool holds_sends = false;  ///< requests stay posted until `FakeAdapters::execute`
    bool loops_back = false;   ///< a group's member receives its own datagrams, as on InfiniBand
    bool verifies = false;     ///< completions say that checksums are good
    int post_error = 0;        ///< of post_send, from request `post_error_at` of a chain
    unsigned post_error_at = 0;
    int receive_error = 0;                       ///< of post_recv
    ibv_wc_status send_status = IBV_WC_SUCCESS;  ///< how requests complete

    // What few devices have.
    bool has_extended_calls = true, has_work_queue_calls = true;
    ibv_qp_type spreads_for = IBV_QPT_RAW_PACKET;   ///< the type of queue pairs that it spreads the datagrams of
    ibv_qp_type segments_for = IBV_QPT_RAW_PACKET;  ///< likewise, large packets
    std::uint32_t max_tso = 65536;
    int segment_error = 0;          ///< of queue pairs that segment
    bool fails_to_segment = false;  ///< its requests complete with an error, as rxe's
    std::uint32_t spread_entries = 128, max_work_queues = 64;
    std::uint64_t hash_fields = 0xff;
    bool hashes_one_family = false;
    int share_error = EOPNOTSUPP;  ///< of queue pairs that share a number; 0: it makes them
    int flow_error = 0;
    unsigned flags = 0;  ///< IBV_DEVICE_*
    int work_queue_error = 0, table_error = 0, spread_error = 0, work_queue_modify_error = 0;
};

/// A datagram as it was sent.
struct FakeDatagram {
    ByteVector payload;
    ibv_ah_attr to{};
    std::uint32_t source = 0, destination = 0, qkey = 0;
    unsigned flags = 0;
    int pieces = 0;
};

struct FakeQueuePair;
struct FakeWorkQueue;
struct FakeTable;
struct FakeSend;
struct FakeContext;
struct FakeCompletionQueue;

class FakeAdapters {
public:
    FakeAdapters();
    FakeAdapters(const FakeAdapters&) = delete;
    FakeAdapters& operator=(const FakeAdapters&) = delete;
    ~FakeAdapters();

    /// Path of the library; opening it leads here.
    static std::string library();

    /// With a RoCE port, whose GID ends in `host`.
    FakeDevice& add(const std::string& name, std::uint8_t host);
    static wire::Gid gid(std::uint8_t host);

    /// An asynchronous event of the device's contexts; of their first queue pair, if it is one of a queue pair.
    void event(const FakeDevice& device, ibv_event_type type);
    /// Puts the device's queue pairs into error, silently.
    void break_queue_pairs(const FakeDevice& device, ibv_wc_status status = IBV_WC_WR_FLUSH_ERR);
    /// Executes requests that the device holds.
    void execute(const FakeDevice& device);
    /// A datagram comes to queue pair `number`, from the fabric; `ghost`: its completion says so many bytes instead.
    void arrive(std::uint32_t number, const ByteVector& payload, std::optional<std::uint32_t> ghost = {});

    /// Objects of the library's that exist: contexts, domains, regions, queues, handles, lists.
    std::size_t objects() const;
    std::size_t handles() const { return handles_.size(); }
    std::vector<FakeDatagram> sent;  ///< all, those that nobody received too
    unsigned handles_made = 0, undelivered = 0, signalled = 0;
    unsigned to_kernel = 0;  ///< datagrams to a shared number that no rule takes
    std::set<wire::Gid> attached(const FakeDevice& device) const;
    std::uint32_t qkey_of(std::uint32_t number) const;
    std::uint16_t pkey_index_of(std::uint32_t number) const;
    std::uint32_t first_number(const FakeDevice& device) const;
    /// Numbers of queue pairs go on from here.
    std::uint32_t next_number = 0x100;
    std::size_t posted(std::uint32_t number) const;  ///< receives
    std::size_t rules() const;
    std::vector<std::size_t> posted_to_work_queues(const FakeDevice& device) const;
    /// Puts one of the device's work queues into error, silently.
    void break_work_queue(const FakeDevice& device, std::size_t index, ibv_wc_status status);

private:
    friend struct FakeCalls;
    friend struct FakeExtendedCalls;
    friend struct FakeFlowCalls;

    FakeQueuePair* find(std::uint32_t number) const;
    void fail(FakeQueuePair& queue_pair, ibv_wc_status status, std::uint64_t request, bool receive);
    void fail(FakeWorkQueue& queue, ibv_wc_status status, std::uint64_t request);
    void run(FakeQueuePair& queue_pair, const FakeSend& send);
    bool readable(const ibv_context* context, const ibv_sge& piece) const;
    void run_segments(FakeQueuePair& queue_pair, const FakeSend& send, const FakeDatagram& whole);
    void deliver(const FakeDatagram& datagram, const FakeQueuePair& from);
    void place(FakeQueuePair& to, const ByteVector& payload, const wire::Gid& source, const wire::Gid& destination,
               std::uint32_t source_number, std::optional<std::uint32_t> ghost = {});
    static void complete(FakeCompletionQueue& queue, const ibv_wc& completion);

    int& error_;  ///< the library's errno
    std::list<FakeDevice> devices_;
    std::list<std::unique_ptr<FakeContext>> contexts_;
    std::list<std::unique_ptr<FakeQueuePair>> queue_pairs_;
    std::list<std::unique_ptr<FakeCompletionQueue>> completion_queues_;
    std::list<std::unique_ptr<FakeWorkQueue>> work_queues_;
    std::list<std::unique_ptr<FakeTable>> tables_;
    std::set<ibv_pd*> domains_;
    std::set<ibv_mr*> regions_;
    std::set<ibv_ah*> handles_;
    std::map<const ibv_ah*, ibv_ah_attr> handle_attributes_;
    std::set<ibv_comp_channel*> channels_;
    std::set<ibv_device**> lists_;
    std::uint32_t next_key_ = 1;
};

}  // namespace verbline::test
