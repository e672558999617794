// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the files say, checked: one struct for each kind of file.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apps/verbline/report/model.h"

namespace verbline::report {

/// Microseconds.
struct Latency {
    double frames = 0, least = 0, mean = 0, most = 0;
    double p50 = 0, p90 = 0, p99 = 0, p99_9 = 0, p99_99 = 0;
};

struct Bucket {
    double highest = 0;  ///< microseconds
    double frames = 0;
};

struct QueueShare {
    double port = 0, queue = 0, lcore = 0;
    double packets = 0, percent = 0;
};

/// Of an RFC 2544 search.
struct Trial {
    double asked_mpps = 0, sent = 0, lost = 0;
};

/// `verbline bench packet --json`.
struct PacketRun {
    std::string file;
    std::string role;
    std::vector<std::string> devices;
    std::vector<double> sizes;
    std::string protocol;  ///< of the frames; empty: an older file, of UDP or TCP
    double average_size = 0, flows = 0, burst = 0;
    double directions = 1;  ///< in which frames went at once; rates are of all
    double queues = 0;      ///< of each port
    double lcores = 0;
    double mpps = 0;                 ///< sent by a generator or a forwarder, else received
    std::optional<double> gigabits;  ///< per second, of frames
    std::optional<double> lost;
    std::optional<Latency> latency;
    std::vector<Bucket> histogram;
    std::vector<QueueShare> shares;  ///< empty: there is one queue, or nothing was received
    std::vector<Trial> trials;
    Json ports, machine;
};

/// A size that `verbline bench rdma` measured.
struct RdmaRound {
    double size = 0, iterations = 0;
    std::optional<double> mega_messages;  ///< a second
    std::optional<double> typical, average, percentile_99, percentile_99_9;
};

/// `verbline bench rdma --json`.
struct RdmaRun {
    std::string file;
    std::string test, transport, device;
    double pairs = 0, depth = 0, mtu = 0;
    std::vector<RdmaRound> rounds;
    Json information, machine;
};

/// A case that `verbline bench ipoib` measured over one link in one direction.
struct IpoibRow {
    std::string carrier, direction, offload, protocol;
    double size = 0;                                    ///< of the IP packet, bytes
    double nanoseconds = 0;                             ///< for a packet
    double mpps = 0, gigabits = 0;                      ///< a second
    double spread_percent = 0;                          ///< of the time over the rounds
    std::optional<double> ratio, ratio_spread_percent;  ///< to Ethernet, which has none
};

/// `verbline bench ipoib --json`.
struct IpoibRun {
    std::string file;
    std::vector<std::string> devices;
    double mtu = 0, burst = 0;
    std::vector<IpoibRow> rows;
    Json ports, machine;
};

/// A row of bench/compare.
struct ComparedRow {
    std::string name, unit, peer, note;
    std::optional<double> ours, peer_value, ratio, goal, spread_percent;
    std::optional<bool> met;
    std::string limit;  ///< what the machine allows; empty: a row without
    std::optional<double> limit_value, of_limit;
};

/// `bench/compare --json`.
struct Comparison {
    std::string file;
    std::vector<ComparedRow> rows;
};

struct PastRun {
    std::string when, commit, cpu;
    double cpus = 0;
    Json machine;
    std::vector<ComparedRow> rows;
};

/// `bench/compare --history`.
struct History {
    std::string file;
    std::vector<PastRun> runs;
};

using Measurement = std::variant<PacketRun, RdmaRun, IpoibRun, Comparison, History>;

}  // namespace verbline::report
