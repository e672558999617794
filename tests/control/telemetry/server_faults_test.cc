// SPDX-License-Identifier: BSD-3-Clause
// What DPDK's telemetry asks of us while each call fails once: rows, or a null that says that there is no answer.
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <rte_telemetry.h>

#include <gtest/gtest.h>

#include "control/telemetry/server.h"
#include "tests/support/eal.h"
#include "tests/support/faults.h"
#include "tests/support/faults_state.h"

namespace {

/// What was registered last: DPDK calls it on a thread of its own, and the test on the one that meets faults.
telemetry_cb registered;
/// What was allocated since the last Data: rows in an answer are DPDK's to free, which here has not got it.
std::vector<rte_tel_data*> allocated;

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker (--wrap) chooses these names
extern "C" int __real_rte_telemetry_register_cmd(const char* command, telemetry_cb callback, const char* help);
extern "C" int __wrap_rte_telemetry_register_cmd(const char* command, telemetry_cb callback, const char* help);
int __wrap_rte_telemetry_register_cmd(const char* command, telemetry_cb callback, const char* help) {
    if (const int error = verbline::test::faults::injected("rte_telemetry_register_cmd", {ENOMEM})) return -error;
    registered = callback;
    return __real_rte_telemetry_register_cmd(command, callback, help);
}
extern "C" rte_tel_data* __real_rte_tel_data_alloc();
extern "C" rte_tel_data* __wrap_rte_tel_data_alloc();
rte_tel_data* __wrap_rte_tel_data_alloc() {
    if (verbline::test::faults::injected("rte_tel_data_alloc", {ENOMEM}) != 0) return nullptr;
    auto* const data = __real_rte_tel_data_alloc();
    const verbline::test::WithoutFaults noting;
    return allocated.emplace_back(data);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace verbline::telemetry::server_faults {
namespace {

using test::Outcome, test::WithoutFaults;

/// What `reply` writes into, and so not of the calls that fail.
struct Data {
    Data() {
        const WithoutFaults making;
        allocated.clear();
        data = rte_tel_data_alloc();
    }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    ~Data() {
        for (auto* each : allocated) rte_tel_data_free(each);
    }
    rte_tel_data* data;
};

TEST(TelemetryServerFaults, AnswersWithRowsOrWithNull) {
    unsigned runs = 0;
    // nlohmann's JSON allocates in its destructor: without memory a process ends there.
    const auto tally = test::expect_survives_faults(
        "telemetry of DPDK",
        [&]() -> Outcome {
            std::string name;
            std::vector<Table> tables;
            {
                const WithoutFaults naming;  // DPDK never forgets a command
                name = "faults_" + std::to_string(++runs);
                tables.push_back({name, "", [] { return Json::array({{{"a", 1}, {"b", "text"}}, {{"a", 2}}}); }});
            }
            auto server = Server::open(std::move(tables), [](const auto& task) {
                const WithoutFaults elsewhere;
                std::thread([task] { task(); }).detach();  // the control thread's work
            });
            if (!server) return server.error();
            const Data data;
            const auto command = "/verbline/" + name;
            if (registered(command.c_str(), nullptr, data.data) != 0) return Error{ENOMEM, "null"};
            return {};
        },
        test::Inject::calls);
    EXPECT_GE(tally.errors, 2u) << "the command is not registered; no room for a row";
}

}  // namespace
}  // namespace verbline::telemetry::server_faults
