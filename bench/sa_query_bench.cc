// SPDX-License-Identifier: BSD-3-Clause
// One PathRecord query to a real subnet manager at a time: what a path-cache hit saves. VERBLINE_SM says where the
// subnet manager is, as the programs' --sm does; apps/testbed/with_fabric sets it.
#include <cstdlib>
#include <memory>
#include <optional>

#include <benchmark/benchmark.h>

#include "control/loop/loop.h"
#include "control/mad/open.h"
#include "control/sa/client.h"

namespace {

using namespace verbline;

constexpr wire::Lid other{1};  ///< the subnet manager's own port: always there

void path_query(benchmark::State& state) {
    const char* const spec = std::getenv("VERBLINE_SM");
    if (spec == nullptr) return state.SkipWithError("VERBLINE_SM does not say where a subnet manager is");
    const auto loop = control::Loop::create();
    if (!loop) return state.SkipWithError(loop.error().what.c_str());
    const auto transport = mad::open(spec, **loop);
    if (!transport) return state.SkipWithError(transport.error().what.c_str());
    sa::Client client(**transport, **loop);
    for (auto _ : state) {
        std::optional<bool> found;
        client.path({.destination_lid = other, .source_lid = (*transport)->port().lid, .pkey = wire::PKey{0xffff}},
                    wire::path_component::destination_lid | wire::path_component::source_lid,
                    [&](const sa::Answer<wire::PathRecord>& answer) { found = answer.has_value(); });
        while (!found) (*loop)->run_once(second);
        if (!*found) return state.SkipWithError("the subnet manager knows no path to LID 1");
    }
}
BENCHMARK(path_query)->UseRealTime();

}  // namespace
