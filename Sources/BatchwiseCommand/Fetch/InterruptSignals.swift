// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Turns INT and TERM into an orderly stop: the first asks the run to end, the second ends it.
final class InterruptSignals {
  private let first = FirstSignal()
  private let sources: [any DispatchSourceSignal]

  /// The status that tells the shell of the first signal, or nil if there was none.
  var status: ExitStatus? { first.status.withLock { $0 } }

  /// Calls `stop` on the first signal, and ends the process at once on the second.
  ///
  /// Returns when it hears every signal to come. Until then a signal still does what it always does,
  /// and ends the process; in between there is no moment in which one would be lost.
  init(stop: @escaping @Sendable () -> Void) async {
    sources = [(SIGINT, ExitStatus.interrupted), (SIGTERM, .terminated)].map { [first] entry in
      let (number, status) = entry
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        let isFirst = first.status.withLock { received in
          defer { received = received ?? status }
          return received == nil
        }
        if isFirst { stop() } else { _exit(status.rawValue) }
      }
      return source
    }
    for source in sources {
      await withCheckedContinuation { continuation in
        source.setRegistrationHandler {
          // Elsewhere Dispatch itself replaces what a signal does; ignoring it there would lose it.
          #if canImport(Darwin)
            signal(Int32(source.handle), SIG_IGN)
          #endif
          continuation.resume()
        }
        source.resume()
      }
    }
  }

  deinit { for source in sources { source.cancel() } }

  private final class FirstSignal: Sendable {
    let status = Mutex<ExitStatus?>(nil)
  }
}
