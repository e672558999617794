// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/kernel_interface.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <net/if_arp.h>

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::pmd::hca {
namespace {

std::string line_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

/// As the kernel prints it, in decimal or with 0x; 0 if there is none.
unsigned long number_in(const std::filesystem::path& file) {
    return std::strtoul(line_of(file).c_str(), nullptr, 0);
}

}  // namespace

Result<KernelInterface> read_kernel_interface(const std::string& name, const std::string& device, std::uint8_t port,
                                              const std::filesystem::path& sys) {
    const auto interface = sys / "class" / "net" / name;
    std::error_code ignored;
    if (!std::filesystem::exists(interface, ignored)) {
        return failure(ENODEV, fmt::format("there is no interface {} beside which port {} of RDMA device {} could "
                                           "work; ip link shows those that there are",
                                           name, port, device));
    }
    if (number_in(interface / "type") != ARPHRD_INFINIBAND) {
        return failure(EINVAL, fmt::format("interface {} is no IPoIB interface, and port {} of RDMA device {} can work "
                                           "beside such a one alone",
                                           name, port, device));
    }
    const bool of_device = std::filesystem::exists(interface / "device" / "infiniband" / device, ignored);
    if (!of_device || number_in(interface / "dev_port") + 1 != port) {
        return failure(EINVAL, fmt::format("interface {} is not of port {} of RDMA device {}; rdma link shows whose it "
                                           "is",
                                           name, port, device));
    }
    const auto address = wire::from_string<wire::IpoibAddress>(line_of(interface / "address"));
    if (!address) return failure(EIO, fmt::format("interface {} has no IPoIB address in {}", name, interface.string()));
    return KernelInterface{.number = address->qpn,
                           .index = static_cast<unsigned>(number_in(interface / "ifindex")),
                           .pkey = wire::PKey{static_cast<std::uint16_t>(number_in(interface / "pkey"))}};
}

}  // namespace verbline::pmd::hca
