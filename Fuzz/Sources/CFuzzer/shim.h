// SPDX-License-Identifier: Apache-2.0
// The fuzzer of the compiler's own library, which no header of it declares for callers.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(
    int *count, char ***arguments, int (*try_input)(const uint8_t *start, size_t count));
