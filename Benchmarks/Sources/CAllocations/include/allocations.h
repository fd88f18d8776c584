// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdbool.h>

/// Begins, or ends, to count how often this process asks for memory.
void count_allocations(bool counts);

/// How often it did while that was counted.
long allocations(void);
