// SPDX-License-Identifier: BSD-3-Clause
// Text from anywhere, read as each kind of address and number: what is read must be read again from what it prints as.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "datapath/wire/text.h"

namespace {

using namespace verbline::wire;

template <class Value>
void both_ways(std::string_view text) {
    const auto value = from_string<Value>(text);
    if (value && from_string<Value>(to_string(*value)) != value) std::abort();
}

template <class... Value>
void each_both_ways(std::string_view text) {
    (both_ways<Value>(text), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    each_both_ways<Ipv4Address, Ipv4Prefix, Ipv6Address, MacAddress, IpoibAddress, Gid, Guid, Lid, PKey>(
        {reinterpret_cast<const char*>(data), size});
    return 0;
}
