// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The figures of each kind of measurement. A figure without data is not made.

#include <vector>

#include "apps/verbline/report/measurement.h"

namespace verbline::report {

/// Rate and throughput by frame size, rate by flows and by lcores, loss by offered rate.
std::vector<Figure> packet_figures(const std::vector<PacketRun>& runs);
/// Spread over receive queues, percentiles of latency, its histogram.
std::vector<Figure> queue_figures(const std::vector<PacketRun>& runs);
std::vector<Figure> latency_figures(const std::vector<PacketRun>& runs);
/// Throughput, rate and latency by message size, rate by queue pairs.
std::vector<Figure> rdma_figures(const std::vector<RdmaRun>& runs);
/// IPoIB's rate beside Ethernet's, and the time for a packet, by size.
std::vector<Figure> ipoib_figures(const std::vector<IpoibRun>& runs);
/// How many times as good as a peer.
std::vector<Figure> comparison_figures(const std::vector<Comparison>& comparisons);
/// The same over runs.
std::vector<Figure> history_figures(const std::vector<History>& histories);

/// All that was measured by `verbline bench packet`; a row for each file.
Table packet_results(const std::vector<PacketRun>& runs);
/// The same of `verbline bench rdma`; a row for each size of each file.
Table rdma_results(const std::vector<RdmaRun>& runs);
/// The same of `verbline bench ipoib`; a row for each measurement of each file.
Table ipoib_results(const std::vector<IpoibRun>& runs);

}  // namespace verbline::report
