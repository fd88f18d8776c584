// SPDX-License-Identifier: Apache-2.0

// Counts what asks for memory. A program's own malloc goes before the C library's, also for the
// shared libraries that the program uses.

#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

// Most runs are measured and not counted, and then a branch is all that is added.
static atomic_bool is_counting;
static atomic_long count;

void count_allocations(bool counts) { atomic_store(&is_counting, counts); }

long allocations(void) { return atomic_load(&count); }

static void note(void) {
  if (atomic_load_explicit(&is_counting, memory_order_relaxed))
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
