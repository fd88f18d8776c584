// SPDX-License-Identifier: Apache-2.0

// Lets the thread sanitizer see Swift's Mutex on Linux. scripts/check preloads it.
//
// A Mutex that is free is taken by an atomic operation in the caller's own code, which the sanitizer
// watches. One that is not free is taken and handed over inside libswiftSynchronization, which it
// does not watch: the next holder then seems to come unannounced, and whatever the Mutex protects
// looks like a race. Here these two calls, and the attempt to lock, tell the sanitizer what they do.
//
// If a later Swift renames them, nothing is intercepted and the false alarms are back.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Weak, for programs without the sanitizer come through here as well.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define SWIFT_CALL __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT_CALL void Lock(uint32_t thread, SELF void *mutex);
typedef SWIFT_CALL bool TryLock(SELF void *mutex);
typedef SWIFT_CALL void Unlock(SELF void *mutex);

Lock lock __asm__(LOCK);
TryLock try_lock __asm__(TRY_LOCK);
Unlock unlock __asm__(UNLOCK);

SWIFT_CALL void lock(uint32_t thread, SELF void *mutex) {
  Lock *next = dlsym(RTLD_NEXT, LOCK);
  next(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT_CALL bool try_lock(SELF void *mutex) {
  TryLock *next = dlsym(RTLD_NEXT, TRY_LOCK);
  bool locked = next(mutex);
  if (locked && __tsan_acquire) __tsan_acquire(mutex);
  return locked;
}

SWIFT_CALL void unlock(SELF void *mutex) {
  Unlock *next = dlsym(RTLD_NEXT, UNLOCK);
  if (__tsan_release) __tsan_release(mutex);
  next(mutex);
}
