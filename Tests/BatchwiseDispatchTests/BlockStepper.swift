// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Synchronization

/// Stands where a Dispatch queue stands, and runs a block only when a test takes the step.
///
/// The seed decides which block is the next. A block that is in the middle of its work may take a
/// step itself: that is how two of them are at work at one moment on one thread.
final class BlockStepper: Sendable {
  private struct State {
    var blocks: [@Sendable () -> Void] = []
    var random: SeededGenerator
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

  /// Takes in a block, without running it.
  func submit(_ block: @escaping @Sendable () -> Void) {
    state.withLock { $0.blocks.append(block) }
  }

  /// How many blocks have been taken in and not been run.
  var count: Int { state.withLock { $0.blocks.count } }

  /// Runs one of the blocks; false if there is none.
  @discardableResult
  func step() -> Bool {
    let block = state.withLock { state -> (@Sendable () -> Void)? in
      guard let index = state.blocks.indices.randomElement(using: &state.random) else {
        return nil
      }
      return state.blocks.remove(at: index)
    }
    guard let block else { return false }
    block()
    return true
  }

  /// A number that the seed decides.
  func random(in range: Range<Int>) -> Int {
    state.withLock { Int.random(in: range, using: &$0.random) }
  }
}
