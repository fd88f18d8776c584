// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Turns INT and TERM into an orderly stop: the first asks the run to end, the second ends it.
///
/// The main thread does nothing but wait for them. Dispatch's signal sources are not used: on Linux
/// they lose a signal now and then, when the main thread, which Dispatch leaves open to signals,
/// takes it before Dispatch's own thread does.
final class InterruptSignals: Sendable {
  /// Those of this process.
  static let shared = InterruptSignals()

  private struct State {
    var first: ExitStatus?
    var stop: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// The status that tells the shell of the first signal, or nil if there was none.
  var status: ExitStatus? { state.withLock { $0.first } }

  /// From now on the first signal calls `stop`, where it would have ended the process before.
  func begin(stop: @escaping @Sendable () -> Void) { state.withLock { $0.stop = stop } }

  /// Keeps the signals for ``wait()``, whatever else they were to do.
  ///
  /// To be called while the main thread is the only one, so that all others inherit it.
  static func hold() {
    var signals = Self.signals
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    // A shell's background job is told to ignore some; those would never be waited for.
    for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
  }

  /// Waits for signals, one after the other, and acts on them.
  func wait() -> Never {
    var signals = Self.signals
    var number: Int32 = 0
    while true {
      if sigwait(&signals, &number) == 0 {
        receive(number == SIGINT ? .interrupted : .terminated)
      }
    }
  }

  private func receive(_ status: ExitStatus) {
    let stop = state.withLock { state in
      // It is called once.
      defer { (state.first, state.stop) = (state.first ?? status, nil) }
      return state.stop
    }
    if let stop { stop() } else { _exit(status.rawValue) }
  }

  private static var signals: sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] { sigaddset(&signals, number) }
    return signals
  }
}
