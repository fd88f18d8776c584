// SPDX-License-Identifier: Apache-2.0
// The few calls and constants of the operating system that Swift's own modules leave out; nearly all
// are about files.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/fs.h>
#include <sys/syscall.h>
#endif

/// Opens a file without a name in the folder: it becomes a file when it is linked, and is gone
/// when the process ends first.
static inline int batchwise_open_nameless(int folder, unsigned mode) {
#if defined(__linux__)
  // The flag's definition needs _GNU_SOURCE, which would change types that Swift's module shares.
  const int o_tmpfile = 020000000 | O_DIRECTORY;
  return openat(folder, ".", o_tmpfile | O_RDWR | O_CLOEXEC, mode);
#else
  (void)folder; (void)mode;
  errno = ENOTSUP;
  return -1;
#endif
}

/// Gives an open file a name. Fails with EEXIST when the name is taken.
static inline int batchwise_link_descriptor(int file, int folder, const char *name) {
#if defined(__linux__)
  // Kernels before 6.10 allow this to the privileged only, and say ENOENT to everybody else.
  const int at_empty_path = 0x1000;
  int result = linkat(file, "", folder, name, at_empty_path);
  if (result == 0 || errno != ENOENT) return result;
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
#else
  (void)file; (void)folder; (void)name;
  errno = ENOTSUP;
  return -1;
#endif
}

/// Renames within one folder tree. Fails with EEXIST when the new name is taken.
static inline int batchwise_rename_exclusively(
    int oldFolder, const char *oldName, int newFolder, const char *newName) {
#if defined(__linux__)
  int result =
      (int)syscall(SYS_renameat2, oldFolder, oldName, newFolder, newName, RENAME_NOREPLACE);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return result;
  // A file system that cannot refuse to replace, such as NFS, has hard links, which never replace.
  result = linkat(oldFolder, oldName, newFolder, newName, 0);
  // An old name that stays is rubbish for a later run to remove; the file has its name already.
  if (result == 0) (void)unlinkat(oldFolder, oldName, 0);
  return result;
#elif defined(__APPLE__)
  return renameatx_np(oldFolder, oldName, newFolder, newName, RENAME_EXCL);
#endif
}

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/// Keeps the C library from setting memory aside for each thread by itself: a program with a few busy
/// threads gains nothing by it, and keeps some ten megabytes more.
static inline void batchwise_share_memory_between_threads(void) {
#if defined(__GLIBC__)
  (void)mallopt(M_ARENA_MAX, 2);
#endif
}
