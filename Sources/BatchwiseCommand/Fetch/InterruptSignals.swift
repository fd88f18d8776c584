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

  /// Calls `stop` on the first signal. On the second the process ends at once.
  init(stop: @escaping @Sendable () -> Void) {
    sources = [(SIGINT, ExitStatus.interrupted), (SIGTERM, .terminated)].map { [first] entry in
      let (number, status) = entry
      // Without this the default action would end the process before the source hears of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        let isFirst = first.status.withLock { received in
          defer { received = received ?? status }
          return received == nil
        }
        if isFirst { stop() } else { _exit(status.rawValue) }
      }
      source.resume()
      return source
    }
  }

  deinit { for source in sources { source.cancel() } }

  private final class FirstSignal: Sendable {
    let status = Mutex<ExitStatus?>(nil)
  }
}
