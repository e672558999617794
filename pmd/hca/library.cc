// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/library.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::pmd::hca {
namespace {

/// The node of the calls' present form; that before it, of 2006, has the same names.
constexpr auto present_form = "IBVERBS_1.1";

/// A copy of this process's environment.
class Environment {
public:
    Environment() {
        for (char** word = environ; word != nullptr && *word != nullptr; ++word) words_.emplace_back(*word);
        for (auto& word : words_) pointers_.push_back(word.data());
        pointers_.push_back(nullptr);
    }
    char** pointers() { return pointers_.data(); }

private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
};

struct Library {
    Verbs verbs;
    Environment environment;
};

void* find(void* handle, const char* name) {
    auto* const symbol = dlvsym(handle, name, present_form);
    return symbol != nullptr ? symbol : dlsym(handle, name);
}

template <class Pointer>
bool bind(void* handle, const char* name, Pointer& out) {
    out = reinterpret_cast<Pointer>(find(handle, name));
    return out != nullptr;
}

/// The name of a call that it lacks; null: it has all.
const char* bind_all(void* handle, Verbs& verbs) {
#define VERBLINE_HCA_BIND(name) \
    if (!bind(handle, "ibv_" #name, verbs.name)) return "ibv_" #name;
    VERBLINE_HCA_CALLS(VERBLINE_HCA_BIND)
#undef VERBLINE_HCA_BIND
    bind(handle, "_ibv_query_gid_ex", verbs.query_gid_ex);
    return bind(handle, "__errno_location", verbs.errno_location) ? nullptr : "__errno_location";
}

Result<std::unique_ptr<Library>> load(const std::string& path) {
    void* const handle = dlmopen(LM_ID_NEWLM, path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return failure(ENOENT, fmt::format("cannot open libibverbs, which RDMA devices are used by: {}; install "
                                           "libibverbs1 and ibverbs-providers",
                                           dlerror()));
    }
    auto library = std::make_unique<Library>();
    if (auto* const theirs = static_cast<char***>(dlsym(handle, "environ"))) {
        *theirs = library->environment.pointers();
    }
    if (const auto* const lacking = bind_all(handle, library->verbs)) {
        return failure(ENOSYS, fmt::format("{} is no libibverbs of rdma-core: it has no {}", path, lacking));
    }
    return library;
}

}  // namespace

std::string system_library() {
    constexpr std::array directories{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                     "/usr/lib", "/lib64"};
    for (const auto* const directory : directories) {
        auto path = std::filesystem::path(directory) / "libibverbs.so.1";
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored)) return path;
    }
    return "libibverbs.so.1";
}

Result<const Verbs*> open_library(const std::string& given) {
    // What is never closed belongs to the process: a namespace cannot be owned by less.
    static std::mutex mutex;
    static std::map<std::string, std::unique_ptr<Library>> opened;

    const auto path = given.empty() ? system_library() : given;
    const std::scoped_lock lock(mutex);
    if (const auto known = opened.find(path); known != opened.end()) return &known->second->verbs;
    auto library = load(path);
    if (!library) return std::unexpected(library.error());
    return &opened.emplace(path, std::move(*library)).first->second->verbs;
}

}  // namespace verbline::pmd::hca
