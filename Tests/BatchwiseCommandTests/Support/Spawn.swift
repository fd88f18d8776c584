// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

/// Starts a program that inherits the descriptors named here and no others.
///
/// - Parameters:
///   - words: The program and its arguments.
///   - environment: Its variables.
///   - first: The first descriptor that it does not inherit.
///   - connect: Says what its descriptors before that are.
/// - Returns: The number of the new process.
/// - Throws: ``SystemFailure`` if it cannot be started.
func spawn(
  _ words: [String], environment: [String: String], closingFrom first: Int32 = 3,
  connect: (inout posix_spawn_file_actions_t) -> Void
) throws -> pid_t {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  connect(&actions)
  // Other tests have sockets open at this moment, whose ends would not be seen while this runs.
  typealias CloseFrom =
    @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
  guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
    throw SystemFailure("addclosefrom_np", code: ENOSYS)
  }
  _ = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, first)

  // A thread of the tests may block or ignore signals, which a new process would inherit.
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var signals = sigset_t()
  sigemptyset(&signals)
  posix_spawnattr_setsigmask(&attributes, &signals)
  for signal in [SIGINT, SIGTERM, SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
  posix_spawnattr_setsigdefault(&attributes, &signals)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

  let arguments = words.map { strdup($0) } + [nil]
  let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
  defer { (arguments + variables).forEach { free($0) } }
  var child = pid_t()
  let code = posix_spawnp(&child, words[0], &actions, &attributes, arguments, variables)
  guard code == 0 else { throw SystemFailure("posix_spawn \(words[0])", code: code) }
  return child
}
