// SPDX-License-Identifier: Apache-2.0
// The C library's option parser, which Swift's own modules leave out. Its place is kept in global
// variables that Swift's concurrency checking refuses, hence the functions.
#pragma once

#include <getopt.h>

static inline void batchwise_getopt_begin(void) {
  opterr = 0;
#if defined(__GLIBC__)
  optind = 0;
#else
  optind = 1;
#endif
#if defined(__APPLE__)
  optreset = 1;
#endif
}

/// The index of the first argument that is no option, once all options have been read.
static inline int batchwise_getopt_index(void) { return optind; }

/// The argument of the option that was read last, or NULL.
static inline const char *batchwise_getopt_argument(void) { return optarg; }

/// The letter of the option that was refused last, or what stands for it.
static inline int batchwise_getopt_refused(void) { return optopt; }
