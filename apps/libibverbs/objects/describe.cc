// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/describe.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include <nlohmann/json.hpp>

#include "apps/libibverbs/objects/context.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

using Json = nlohmann::ordered_json;

template <class Counted>
Json counters_of(const Counted& counted) {
    auto out = Json::object();
    counted.counters(
        [&out](std::string_view name, std::uint64_t value, std::string_view) { out[std::string(name)] = value; });
    return out;
}

Json describe(Context& context) {
    const auto& link = context.port().link();
    Json out{{"link", link.text}};
    if (link.lane.control) out["lane"] = link.lane.memif_socket;
    if (!link.interface.empty()) out["interface"] = link.interface;
    out["mac"] = wire::to_string(link.mac);
    auto addresses = Json::array();
    for (const auto& address : context.port().addresses()) addresses.push_back(to_string(address));
    out["addresses"] = std::move(addresses);
    out["frame"] = link.device->capabilities().max_packet;
    out["device"] = counters_of(*link.device);
    out["engine"] = counters_of(context.device());
    return out;
}

}  // namespace
}  // namespace verbline::verbs

extern "C" int verbline_describe(ibv_context* context, char* text, std::size_t size) {
    using namespace verbline::verbs;
    try {
        auto& opened = Context::of(context);
        if (!opened.alive()) return errno = EIO, -1;
        const auto said = describe(opened).dump(-1, ' ', false, Json::error_handler_t::replace);
        if (said.size() < size) std::memcpy(text, said.c_str(), said.size() + 1);
        return static_cast<int>(said.size() + 1);
    } catch (const std::bad_alloc&) {
        return errno = ENOMEM, -1;
    }
}
