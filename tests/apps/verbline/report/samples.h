// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Files as the benchmarks write them, small, for tests to change.

#include <string>

#include "apps/verbline/report/read_file.h"

namespace verbline::report {

/// A loopback of 64-byte frames over two queues.
inline Json packet_json() {
    return Json::parse(R"({
        "role": "loopback",
        "ports": [{"device": "dpdk:net_ring0", "driver": "net_ring"}],
        "frames": {"sizes": [64], "average_size": 64.0, "flows": 100, "burst": 32, "mtu": 1500},
        "result": {"seconds": 2.0, "tx_packets": 1000, "tx_mpps": 0.5, "tx_gbit_s": 0.256, "rx_packets": 990,
                   "rx_mpps": 0.495, "rx_gbit_s": 0.2534, "lost": 10},
        "queues": [{"port": 0, "queue": 0, "lcore": 1, "rx_packets": 500, "rx_percent": 50.505},
                   {"port": 0, "queue": 1, "lcore": 2, "rx_packets": 490, "rx_percent": 49.495}],
        "lcores": [{"lcore": 1}, {"lcore": 2}],
        "latency_us": {"frames": 4, "min": 1.0, "mean": 3.5, "p50": 2.0, "p90": 4.0, "p99": 8.0, "p99_9": 16.0,
                       "p99_99": 32.0, "max": 40.0},
        "latency_histogram_us": [[2.1, 1], [2.2, 2], [33.0, 1]],
        "machine": {"cpu": "A CPU", "cpus": 2, "hugepages": [{"node": 0, "page_kb": 2048, "total": 4, "free": 3}],
                    "doctor": [{"severity": "warning", "subject": "memory", "found": "little", "command": "more"}]}
    })");
}

inline Json rdma_json() {
    return Json::parse(R"({
        "test_info": {"test": "Send_BW_Test", "Device": "memif:x", "Number_of_qps": 1, "Connection_type": "RC",
                      "TX_depth": 128, "Mtu": 4096},
        "results": {"MsgSize": 128, "n_iterations": 1000, "BW_peak": 1.0, "BW_average": 1.0, "MsgRate": 2.0},
        "rounds": [{"MsgSize": 64, "n_iterations": 1000, "BW_peak": 1.0, "BW_average": 1.0, "MsgRate": 4.0},
                   {"MsgSize": 128, "n_iterations": 1000, "BW_peak": 1.0, "BW_average": 1.0, "MsgRate": 2.0}],
        "machine": {"cpu": "A CPU", "cpus": 2}
    })");
}

/// Ethernet and one carrier: two sizes, both directions, without offload requests.
inline Json ipoib_json() {
    auto document = Json::parse(R"({
        "ports": [{"device": "dpdk:net_ring0", "driver": "net_ring"}],
        "traffic": {"mtu": 1500, "burst": 32, "rounds": 3, "seconds_each": 0.1},
        "results": [], "ratios": [{"carrier": "soft_ib", "ratio": 0.1}, {"carrier": "all", "ratio": 0.1}],
        "ratio": 0.1, "machine": {"cpu": "A CPU", "cpus": 2}
    })");
    for (const int size : {64, 1500}) {
        for (const auto* const direction : {"send", "receive"}) {
            Json row{{"size", size},         {"protocol", "udp"},     {"direction", direction},
                     {"offload", "off"},     {"carrier", "ethernet"}, {"mpps", 250.0},
                     {"gbit_s", 128.0},      {"ns_per_packet", 4.0},  {"cycles_per_packet", 12.0},
                     {"spread_percent", 1.0}};
            document["results"].push_back(row);
            row["carrier"] = "soft_ib", row["mpps"] = 25.0, row["gbit_s"] = 12.8, row["ns_per_packet"] = 40.0;
            row["ratio"] = 0.1, row["ratio_spread_percent"] = 2.0;
            document["results"].push_back(row);
        }
    }
    return document;
}

inline Json comparison_json() {
    return Json::parse(R"([
        {"name": "icrc", "unit": "ns", "ours": 10.0, "peer": "ISA-L", "peer_value": 12.0, "ratio": 1.2, "goal": 0.9,
         "ok": true, "note": "", "spread_pct": 10.0, "less_is_better": true},
        {"name": "alone", "unit": "ns", "ours": 7.0, "peer": "", "peer_value": null, "ratio": null, "goal": null,
         "ok": null, "note": "no goal, to be watched", "spread_pct": 3.0, "less_is_better": true}
    ])");
}

inline Json past_run_json(const std::string& cpu = "A CPU") {
    return {{"when", "2026-01-02T03:04:05+00:00"},
            {"commit", "abc1234"},
            {"machine", {{"cpu", cpu}, {"cpus", 2}}},
            {"rows", comparison_json()}};
}

template <class Kind>
Kind read(const Json& document, const std::string& file = "a.json") {
    return std::get<Kind>(read_text(file, document.dump()).value().front());
}

}  // namespace verbline::report
