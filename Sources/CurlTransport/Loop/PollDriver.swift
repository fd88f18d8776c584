// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// Lets libcurl wait by itself: the driver for systems without epoll.
///
/// A round costs what is in flight and not what is ready, which does not show below a hundred
/// transfers.
final class PollDriver: LoopDriver {
  private let multi: UnsafeMutableRawPointer

  init(multi: UnsafeMutableRawPointer) {
    self.multi = multi
  }

  func makeBell() -> @Sendable () -> Void {
    // The one call that libcurl allows from any thread while others work with the handle.
    nonisolated(unsafe) let multi = multi
    return { curl_multi_wakeup(multi) }
  }

  func wait(atMost limit: Duration?) {
    let timeout = limit?.millisecondsRoundedUp ?? Duration.seconds(3600).millisecondsRoundedUp
    curl_multi_poll(multi, nil, 0, timeout, nil)
  }

  // libcurl looks by itself, and from version 8.0 on it sees both.
  func dropUnfitConnections() {}

  func perform() {
    var running: CInt = 0
    curl_multi_perform(multi, &running)
  }

  func didOpen(_ socket: curl_socket_t) {}

  func willClose(_ socket: curl_socket_t) {}
}
