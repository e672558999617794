// SPDX-License-Identifier: BSD-3-Clause
// Whatever JSON a process answers can be printed, without control characters but the newlines that end lines.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "apps/verbline/output/counter_view.h"
#include "apps/verbline/output/table.h"

namespace {

void require_printable(const std::string& text) {
    const bool clean = std::ranges::none_of(text, [](unsigned char c) { return c != '\n' && std::iscntrl(c) != 0; });
    if (!clean || (!text.empty() && text.back() != '\n')) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline::cli;
    const auto value = Json::parse(data, data + size, nullptr, false);
    if (value.is_discarded()) return 0;
    if (value.is_object()) require_printable(render_object(value));
    if (!value.is_array()) return 0;
    require_printable(render_table(value));
    require_printable(render_table(without_zeros(value)));
    Rates rates;
    rates.read(value, 1);
    require_printable(render_table(rates.read(value, 2)));
    return 0;
}
