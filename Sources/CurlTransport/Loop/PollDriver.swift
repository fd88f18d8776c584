// SPDX-License-Identifier: Apache-2.0

internal import CCurl

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Lets libcurl wait by itself: the driver for systems without epoll.
///
/// A round costs what is in flight and not what is ready, which does not show below a hundred
/// transfers.
final class PollDriver: LoopDriver {
  private let multi: UnsafeMutableRawPointer
  private let bell: Descriptor
  private let rope: Descriptor

  init(multi: UnsafeMutableRawPointer) throws(CurlTransportError) {
    self.multi = multi
    let pair = try Descriptor.pair()
    bell = try Descriptor(pair.0, of: "socketpair")
    rope = try Descriptor(pair.1, of: "socketpair")
  }

  // libcurl has a bell of its own, which cannot be waited for alone.
  func makeBell() -> @Sendable () -> Void {
    let number = rope.number
    return {
      var one: UInt8 = 1
      _ = send(number, &one, 1, CInt(MSG_DONTWAIT))
    }
  }

  func wait(atMost limit: Duration?) {
    let timeout = limit?.millisecondsRoundedUp ?? Duration.seconds(3600).millisecondsRoundedUp
    var descriptor = curl_waitfd(fd: bell.number, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    curl_multi_poll(multi, &descriptor, 1, timeout, nil)
    if descriptor.revents != 0 { silence() }
  }

  var timeToTimer: Duration? {
    var timer = -1
    curl_multi_timeout(multi, &timer)
    return timer < 0 ? nil : .milliseconds(timer)
  }

  func rest(atMost limit: Duration) -> Bool {
    var descriptor = pollfd(fd: bell.number, events: Int16(POLLIN), revents: 0)
    let isRung = poll(&descriptor, 1, limit.millisecondsRoundedUp) > 0
    if isRung { silence() }
    return !isRung
  }

  // libcurl looks by itself, and from version 8.0 on it sees both.
  func dropUnfitConnections() {}

  /// libcurl reads from every socket that is ready, each in its turn.
  func perform(while mayRead: () -> Bool) {
    if !mayRead(), timeToTimer != .zero { return }
    var running: CInt = 0
    curl_multi_perform(multi, &running)
  }

  func didOpen(_ socket: curl_socket_t) {}

  func willClose(_ socket: curl_socket_t) {}

  private func silence() {
    var rings: (UInt64, UInt64) = (0, 0)
    while recv(bell.number, &rings, MemoryLayout.size(ofValue: rings), CInt(MSG_DONTWAIT)) > 0 {}
  }
}
