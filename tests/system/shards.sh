# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A gateway with $shards shards.

gateway_start() { gateway_start_shards "${shards:?}" "$@"; }
