// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/open.h"

#include <charconv>

#include <fmt/format.h>

#include "control/mad/ibsim.h"
#include "control/mad/umad.h"

namespace verbline::mad {

namespace {

struct Parts {
    std::string_view kind, name, key, value;
};

/// KIND:NAME[,KEY=VALUE]
Parts split(std::string_view text) {
    const auto cut = [](std::string_view& rest, char separator) {
        const auto at = rest.find(separator);
        const auto head = rest.substr(0, at);
        rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
        return head;
    };
    Parts parts;
    parts.kind = cut(text, ':');
    parts.name = cut(text, ',');
    parts.key = cut(text, '=');
    parts.value = text;
    return parts;
}

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
    return failure(
        EINVAL,
        fmt::format("subnet manager access '{}': {}; write ibsim:FABRIC,host=NODE or umad:DEVICE,port=N", text, why));
}

}  // namespace

Result<Spec> parse_spec(std::string_view text) {
    const auto [kind, name, key, value] = split(text);
    if (kind == "ibsim") {
        if (name.empty()) return bad(text, "no fabric named");
        if (key != "host" || value.empty()) return bad(text, "no host named");
        return IbsimSpec{std::string(name), std::string(value)};
    }
    if (kind == "umad") {
        if (name.empty()) return bad(text, "no device named");
        UmadSpec spec{.device = std::string(name)};
        if (key.empty()) return spec;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spec.port);
        if (key != "port" || error != std::errc() || end != value.data() + value.size() || spec.port < 1 ||
            spec.port > 254) {
            return bad(text, "not a port number");
        }
        return spec;
    }
    return bad(text, "unknown kind");
}

Result<std::unique_ptr<Transport>> open(std::string_view spec, control::Loop& loop) {
    const auto parsed = parse_spec(spec);
    if (!parsed) return std::unexpected(parsed.error());
    if (const auto* ibsim = std::get_if<IbsimSpec>(&*parsed)) {
        return IbsimTransport::open(ibsim->fabric, ibsim->host, loop);
    }
    const auto& umad = std::get<UmadSpec>(*parsed);
    return UmadTransport::open(umad.device, umad.port, loop);
}

}  // namespace verbline::mad
