// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Opens the system's libibverbs at run time, apart from everything else in the process.
///
/// It is loaded into a link-map namespace of its own (dlmopen(3)), because the process may have another
/// libibverbs.so.1 already: ours, under `verbline run`. In the same namespace the providers (libmlx5, librxe) would be
/// bound to that one by its name, and find none of what they need. The namespace has its own C library, and so its own
/// errno (`Verbs::error`) and its own `environ`, which is a copy made here: the process's may be moved by setenv(3).

#include <string>

#include "pmd/base/error.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// Where the distributions have it; else its bare name, which the loader looks for.
std::string system_library();

/// The calls of the library at `path`, opened once for each path, by whichever thread asks first; empty: the system's.
/// It is never closed, as the number of namespaces of a process is small and closing one frees none; so the table is
/// valid for ever. Errors: no such library, or none with the calls that are needed.
Result<const Verbs*> open_library(const std::string& path);

}  // namespace verbline::pmd::hca
