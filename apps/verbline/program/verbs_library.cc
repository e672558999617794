// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/verbs_library.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <fmt/format.h>

#include "apps/libibverbs/abi/describe.h"
#include "apps/verbline/program/device_view.h"

namespace verbline::cli {

/// The functions by their public types; read_sysfs_file is in no header, describe is ours alone.
struct VerbsLibrary::Calls {
    decltype(&::ibv_get_device_list) get_device_list = nullptr;
    decltype(&::ibv_free_device_list) free_device_list = nullptr;
    decltype(&::ibv_open_device) open_device = nullptr;
    decltype(&::ibv_close_device) close_device = nullptr;
    decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
    int (*read_sysfs_file)(const char* directory, const char* file, char* text, std::size_t size) = nullptr;
    decltype(&::verbline_describe) describe = nullptr;
};

namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

std::unexpected<Error> refused(std::string_view device, std::string_view what, int code) {
    return failure(code, fmt::format("{}: {}: {}", device, what, std::strerror(code)));
}

/// Found through the context, as the inline functions of verbs.h do: they would link the distribution's library.
Result<ibv_device_attr_ex> attributes_of(ibv_context* context, std::string_view name) {
    ibv_device_attr_ex attributes{};
    const auto* operations = verbs_get_ctx_op(context, query_device_ex);
    const int code = operations == nullptr
                         ? EOPNOTSUPP
                         : operations->query_device_ex(context, nullptr, &attributes, sizeof attributes);
    if (code != 0) return refused(name, "cannot query the device", code);
    return attributes;
}

Result<ibv_port_attr> attributes_of(ibv_context* context, std::uint8_t port, std::string_view name) {
    ibv_port_attr attributes{};
    const auto* operations = verbs_get_ctx_op(context, query_port);
    const int code =
        operations == nullptr ? EOPNOTSUPP : operations->query_port(context, port, &attributes, sizeof attributes);
    if (code != 0) return refused(name, fmt::format("cannot query port {}", port), code);
    return attributes;
}

}  // namespace

Result<VerbsLibrary> VerbsLibrary::open(const std::filesystem::path& file) {
    // Never closed: its threads and handlers live as long as the process.
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return failure(ENOENT, fmt::format("cannot load {}: {}", file.string(), dlerror()));
    auto calls = std::make_shared<Calls>();
    const bool complete = find(library, "ibv_get_device_list", calls->get_device_list) &&
                          find(library, "ibv_free_device_list", calls->free_device_list) &&
                          find(library, "ibv_open_device", calls->open_device) &&
                          find(library, "ibv_close_device", calls->close_device) &&
                          find(library, "_ibv_query_gid_table", calls->query_gid_table) &&
                          find(library, "ibv_read_sysfs_file", calls->read_sysfs_file) &&
                          find(library, "verbline_describe", calls->describe);
    if (!complete)
        return failure(ENOSYS,
                       fmt::format("{} is not of this Verbline; build or install both together", file.string()));
    return VerbsLibrary(std::move(calls));
}

Result<Json> VerbsLibrary::ports(ibv_context* context, std::string_view name, unsigned count) const {
    std::vector<ibv_gid_entry> gids(most_gids);
    const auto found = calls_->query_gid_table(context, gids.data(), gids.size(), 0, sizeof gids[0]);
    if (found < 0) return refused(name, "cannot query the GID table", static_cast<int>(-found));
    gids.resize(static_cast<std::size_t>(found));
    auto rows = Json::array();
    for (unsigned port = 1; port <= count; ++port) {
        const auto attributes = attributes_of(context, static_cast<std::uint8_t>(port), name);
        if (!attributes) return std::unexpected(attributes.error());
        auto row = port_row(port, *attributes);
        std::vector<ibv_gid_entry> own;
        std::ranges::copy_if(gids, std::back_inserter(own), [&](const auto& gid) { return gid.port_num == port; });
        row["gids"] = gid_rows(own);
        rows.push_back(std::move(row));
    }
    return rows;
}

Json VerbsLibrary::link(ibv_context* context) const {
    std::string text(1024, '\0');
    for (;;) {
        const int needed = calls_->describe(context, text.data(), text.size());
        if (needed <= 0) return Json::object();
        if (static_cast<std::size_t>(needed) <= text.size()) break;
        text.resize(static_cast<std::size_t>(needed));
    }
    auto parsed = Json::parse(text.c_str(), nullptr, false);
    return parsed.is_object() ? std::move(parsed) : Json::object();
}

Result<Json> VerbsLibrary::device(ibv_device* device) const {
    const std::string name = device->name;
    errno = 0;
    const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(calls_->open_device(device),
                                                                      calls_->close_device);
    if (!context) return refused(name, "cannot be opened", errno);
    const auto attributes = attributes_of(context.get(), name);
    if (!attributes) return std::unexpected(attributes.error());
    std::array<char, 64> board{};
    if (calls_->read_sysfs_file(device->ibdev_path, "board_id", board.data(), board.size() - 1) < 0) board[0] = '\0';
    auto row = device_row({.name = name,
                           .node_type = device->node_type,
                           .transport = device->transport_type,
                           .board = board.data(),
                           .completion_vectors = context->num_comp_vectors},
                          *attributes);
    auto found = ports(context.get(), name, attributes->orig_attr.phys_port_cnt);
    if (!found) return std::unexpected(found.error());
    row["ports"] = std::move(*found);
    row["link"] = link(context.get());
    return row;
}

Result<Json> VerbsLibrary::devices() const {
    int count = 0;
    errno = 0;
    const std::unique_ptr<ibv_device*[], void (*)(ibv_device**)> list(calls_->get_device_list(&count),
                                                                      calls_->free_device_list);
    if (!list) return failure(errno, fmt::format("the library gives no devices: {}", std::strerror(errno)));
    auto rows = Json::array();
    for (int i = 0; i < count; ++i) {
        auto row = device(list[static_cast<std::size_t>(i)]);
        if (!row) return row;
        rows.push_back(std::move(*row));
    }
    return rows;
}

}  // namespace verbline::cli
