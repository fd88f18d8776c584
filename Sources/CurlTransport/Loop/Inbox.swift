// SPDX-License-Identifier: Apache-2.0

package import BatchwiseDownload
internal import Synchronization

/// The one door between the callers' threads and the loop's: what is to be done, and whether the
/// loop has to be woken to hear of it.
///
/// A wake-up cannot be lost, because under one lock the loop looks for commands and falls asleep,
/// and under the same lock a caller leaves a command and learns that the loop sleeps.
package final class Inbox: Sendable {
  /// What a caller wants.
  package enum Command: Sendable {
    case start([Transfer])
    case cancel(any TransferHandler)
  }

  private struct State {
    var commands: [Command] = []
    var isAsleep = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  /// Makes an empty inbox whose loop `wake` ends the sleep of.
  package init(wake: @escaping @Sendable () -> Void) {
    self.wake = wake
  }

  /// Leaves a command.
  ///
  /// The loop is woken at most once for all that it finds when it wakes.
  package func post(_ command: Command) {
    let mustWake = state.withLock { state in
      state.commands.append(command)
      defer { state.isAsleep = false }
      return state.isAsleep
    }
    if mustWake { wake() }
  }

  /// Tells the loop to end.
  ///
  /// Nothing may be posted any more.
  /// The loop may be gone as soon as the lock is, so here it is woken under it.
  package func close() {
    state.withLock { state in
      state.isClosed = true
      if state.isAsleep { wake() }
    }
  }

  /// Moves the commands to the end of a list, and says whether the inbox is still open.
  package func take(into list: inout [Command]) -> Bool {
    state.withLock { state in
      state.isAsleep = false
      if list.isEmpty {
        swap(&list, &state.commands)
      } else {
        list += state.commands
        state.commands.removeAll(keepingCapacity: true)
      }
      return !state.isClosed
    }
  }

  /// Falls asleep, unless there is something to do.
  package func fallAsleep() -> Bool {
    state.withLock { state in
      state.isAsleep = state.commands.isEmpty && !state.isClosed
      return state.isAsleep
    }
  }
}
