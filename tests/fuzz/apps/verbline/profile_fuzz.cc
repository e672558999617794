// SPDX-License-Identifier: BSD-3-Clause
// Any file is either a profile whose options are known, each with its line, or one line of error.

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "apps/verbline/bench/profile.h"
#include "tests/fuzz/expect.h"

namespace {

using verbline::bench::OptionKind;
using verbline::bench::SetOption;
using verbline::fuzz::expect;

void check_options(const std::vector<SetOption>& options, const std::array<OptionKind, 4>& known) {
    for (const auto& option : options) {
        const auto kind = std::ranges::find(known, option.name, &OptionKind::name);
        expect(kind != known.end() && option.line != 0);
        expect(option.name == "device" || option.values.size() == 1);
        for (const auto& value : option.values)
            expect(kind->flag ? value == "true" || value == "false" : !value.empty());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const std::array<OptionKind, 4> known{{{"device"}, {"size"}, {"queues"}, {"soak", true}}};
    const auto profile = verbline::bench::parse_profile({reinterpret_cast<const char*>(data), size}, "f", known);
    if (!profile) {
        const auto& line = profile.error().what;
        expect(line.starts_with("f:") && std::ranges::none_of(line, [](unsigned char c) { return std::iscntrl(c); }));
        return 0;
    }
    check_options(profile->options, known);
    for (const auto& run : profile->runs) check_options(run.options, known);
    return 0;
}
