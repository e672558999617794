// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/registration.h"

#include <cerrno>
#include <cstring>

#include "apps/libibverbs/umad/mad_class.h"

namespace verbline::verbs {
namespace {

constexpr std::uint8_t highest_version = 0x82, highest_class = 0x4f, rmpp_version = 1;

std::unexpected<Error> invalid(const char* why) {
    return failure(EINVAL, why);
}

/// The rules of the kernel's ib_register_mad_agent.
Result<Registration> checked(const Registration& wanted) {
    if (wanted.qpn > 1) return invalid("neither QP0 nor QP1");
    if (wanted.rmpp_version != 0 && wanted.rmpp_version != rmpp_version) return invalid("RMPP version");
    if (!wanted.management_class)
        return wanted.user_rmpp ? invalid("RMPP without a class") : Result<Registration>(wanted);
    const auto of = *wanted.management_class;
    if (wanted.class_version > highest_version) return invalid("class version");
    if (static_cast<std::uint8_t>(of) > highest_class && of != wire::MadClass::subnet_directed_route)
        return invalid("management class");
    if (names_vendor(of) && wanted.oui == 0) return invalid("a vendor's class without OUI");
    if (wanted.rmpp_version != 0 && !may_use_rmpp(of)) return invalid("a class without RMPP");
    if (is_subnet_management(of) != (wanted.qpn == 0)) return invalid("a class of the other queue pair");
    return wanted;
}

std::bitset<128> methods_of(std::uint64_t low, std::uint64_t high) {
    return std::bitset<128>(high) << 64 | std::bitset<128>(low);
}

std::optional<wire::MadClass> class_of(std::uint8_t number) {
    return number != 0 ? std::optional(wire::MadClass{number}) : std::nullopt;
}

}  // namespace

Result<Registration> registration_of(const ib_user_mad_reg_req& request) {
    std::array<std::uint64_t, 2> methods{};
    static_assert(sizeof methods == sizeof request.method_mask);
    std::memcpy(methods.data(), request.method_mask, sizeof methods);
    return checked({.qpn = request.qpn,
                    .management_class = class_of(request.mgmt_class),
                    .class_version = request.mgmt_class_version,
                    .methods = methods_of(methods[0], methods[1]),
                    .oui = static_cast<std::uint32_t>(request.oui[0] << 16 | request.oui[1] << 8 | request.oui[2]),
                    .rmpp_version = request.rmpp_version});
}

Result<Registration> registration_of(const ib_user_mad_reg_req2& request) {
    if (request.qpn > 1) return invalid("neither QP0 nor QP1");
    if ((request.flags & ~std::uint32_t{IB_USER_MAD_REG_FLAGS_CAP}) != 0) return invalid("flags");
    if (request.oui >> 24 != 0) return invalid("OUI");
    return checked({.qpn = static_cast<std::uint8_t>(request.qpn),
                    .management_class = class_of(request.mgmt_class),
                    .class_version = request.mgmt_class_version,
                    .methods = methods_of(request.method_mask[0], request.method_mask[1]),
                    .oui = request.oui,
                    .rmpp_version = request.rmpp_version,
                    .user_rmpp = (request.flags & IB_USER_MAD_USER_RMPP) != 0});
}

}  // namespace verbline::verbs
