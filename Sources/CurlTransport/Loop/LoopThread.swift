// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The thread a loop runs on.
struct LoopThread: Sendable {
  #if canImport(Glibc)
    private let thread: pthread_t
  #else
    // Here it is a pointer, but one that is never followed: a name, as it is a number elsewhere.
    private nonisolated(unsafe) let thread: pthread_t
  #endif

  /// Starts a thread that runs the loop to its end.
  init(running loop: CurlLoop) throws(CurlTransportError) {
    let argument = Unmanaged.passRetained(loop)
    #if canImport(Darwin)
      var started: pthread_t?
    #else
      var started = pthread_t()
    #endif
    let result = pthread_create(&started, nil, runLoop, argument.toOpaque())
    #if canImport(Darwin)
      guard result == 0, let started else {
        argument.release()
        throw CurlTransportError("pthread_create failed: \(String(cString: strerror(result))).")
      }
    #else
      guard result == 0 else {
        argument.release()
        throw CurlTransportError("pthread_create failed: \(String(cString: strerror(result))).")
      }
    #endif
    thread = started
  }

  /// Whether the caller runs on this thread.
  var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

  /// Waits until the thread has ended.
  func join() { pthread_join(thread, nil) }

  /// Lets the thread end by itself, with nobody waiting for it.
  func detach() { pthread_detach(thread) }
}

#if canImport(Darwin)
  private func runLoop(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    run(Unmanaged<CurlLoop>.fromOpaque(argument))
    return nil
  }
#else
  private func runLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { run(Unmanaged<CurlLoop>.fromOpaque(argument)) }
    return nil
  }
#endif

private func run(_ loop: Unmanaged<CurlLoop>) {
  // Writing to a connection that the server has closed raises this signal in the thread that
  // writes. Blocked here, it does no harm, and what the rest of the process does with it is left
  // alone. Threads that libcurl starts to look up names inherit this.
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGPIPE)
  pthread_sigmask(SIG_BLOCK, &signals, nil)
  loop.takeRetainedValue().run()
}
