// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Owns a DPDK port: hot-plugs the device if it is not there yet, and unplugs it on destruction if so.

#include <cstdint>
#include <string>
#include <utility>

#include "pmd/base/error.h"

namespace verbline::pmd {

class EthdevPort {
public:
    /// `devargs` as after `-a` or `--vdev`: a PCI address or a virtual device, with its arguments. A device that the
    /// EAL's arguments have probed already is used as it is.
    static Result<EthdevPort> plug(const std::string& devargs);

    EthdevPort(EthdevPort&& other) noexcept
        : id_(std::exchange(other.id_, none)),
          plugged_(other.plugged_),
          started_(other.started_),
          name_(std::move(other.name_)) {}
    EthdevPort& operator=(EthdevPort&&) = delete;
    ~EthdevPort();  ///< stops and closes the port

    /// DPDK's, of the configured port: 0, or minus the errno.
    int start();

    std::uint16_t id() const { return id_; }
    const std::string& name() const { return name_; }

private:
    static constexpr std::uint16_t none = 0xffff;

    EthdevPort(std::uint16_t id, bool plugged, std::string name) : id_(id), plugged_(plugged), name_(std::move(name)) {}

    std::uint16_t id_;
    bool plugged_;  ///< by us
    bool started_ = false;
    std::string name_;
};

}  // namespace verbline::pmd
