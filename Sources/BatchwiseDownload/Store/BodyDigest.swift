// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDispatch
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The digests of a file that is being written.
///
/// The first bytes are taken in as they come, which for a small file is all there is to do. A longer
/// file is read again a little behind the writing, on another thread, so that the thread that
/// receives loses nothing to it; what is read has just been written, so the disk is not asked.
final class BodyDigest: Sendable {
  /// How much is taken in at once as it comes.
  static let atOnce: Int64 = 64 * 1024
  /// How far the reading stays behind the writing, at least.
  private static let behind: Int64 = 512 * 1024

  private struct State {
    /// How much has been taken in, and how much has been written.
    var taken: Int64 = 0
    var written: Int64 = 0
    /// Whether somebody is reading, or about to, to whom the digests belong meanwhile.
    var isFollowing = false
    /// Why the file could not be read again.
    var failure: SystemError?
    var whenDone: (@Sendable (Outcome) -> Void)?

    var isComplete: Bool { taken == written || failure != nil }
  }

  /// The digests, or why the file could not be read again.
  typealias Outcome = Result<[Checksum], SystemError>

  private static let queue = BoundedDispatchQueue(
    label: "batchwise.digest", limit: max(1, ProcessInfo.processInfo.activeProcessorCount - 1))

  private let file: OpenFile
  private let digests: [any RunningDigest]
  private let state: Mutex<State>

  /// Begins with an empty file, or with one of which that much is written.
  init(_ digests: [any RunningDigest], of file: OpenFile, written: Int64 = 0) {
    self.file = file
    self.digests = digests
    state = Mutex(State(written: written))
  }

  /// Takes note of bytes that have been written at the end.
  func wrote(_ bytes: UnsafeRawBufferPointer) {
    let follows = state.withLock { state in
      state.written += Int64(bytes.count)
      if state.written <= Self.atOnce, state.taken + Int64(bytes.count) == state.written {
        for digest in digests { digest.update(bytes) }
        state.taken = state.written
        return false
      }
      guard !state.isFollowing, state.written - state.taken >= Self.behind else { return false }
      state.isFollowing = true
      return true
    }
    if follows { Self.queue.async { self.follow() } }
  }

  /// Ends the digests: with an outcome now if it is known, or else later, on another thread.
  func finish(_ later: @escaping @Sendable (Outcome) -> Void) -> Outcome? {
    let (isKnown, follows) = state.withLock { state -> (Bool, Bool) in
      if !state.isFollowing, state.isComplete { return (true, false) }
      state.whenDone = later
      defer { state.isFollowing = true }
      return (false, !state.isFollowing)
    }
    if follows { Self.queue.async { self.follow() } }
    return isKnown ? outcome : nil
  }

  private var outcome: Outcome {
    if let failure = state.withLock({ $0.failure }) { return .failure(failure) }
    return .success(digests.map { $0.finish() })
  }

  /// Reads on to where the writing is, again and again while it is far ahead.
  private func follow() {
    while true {
      let (start, end) = state.withLock { ($0.taken, $0.written) }
      let reached = Result { () throws(SystemError) in
        try file.read(from: start, to: end) { bytes in
          for digest in digests { digest.update(bytes) }
        }
      }
      let (tell, goesOn) = state.withLock { state -> ((@Sendable (Outcome) -> Void)?, Bool) in
        switch reached {
        case .success(end): state.taken = end
        // It is shorter than what was written: somebody else has changed it.
        case .success: state.failure = .inputOutput
        case .failure(let failure): state.failure = failure
        }
        if state.isComplete, let tell = state.whenDone.take() { return (tell, false) }
        let goesOn =
          state.failure == nil
          && (state.whenDone != nil || state.written - state.taken >= Self.behind)
        state.isFollowing = goesOn
        return (nil, goesOn)
      }
      if let tell { return tell(outcome) }
      if !goesOn { return }
    }
  }
}
