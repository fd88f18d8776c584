// SPDX-License-Identifier: Apache-2.0

/// What the command tells the shell when it ends.
enum ExitStatus: Int32 {
  /// Every item is done or was skipped; an empty list too.
  case success = 0
  /// At least one item failed.
  case someFailed = 1
  /// Something is wrong with what was typed (`EX_USAGE`).
  case usage = 64
  /// The output folder or the events file cannot be made (`EX_CANTCREAT`).
  case cannotCreate = 73
  /// The disk is full, or a file that the run depends on cannot be read or written (`EX_IOERR`).
  case inputOutput = 74
  /// Interrupted by INT.
  case interrupted = 130
  /// Interrupted by TERM.
  case terminated = 143
}
