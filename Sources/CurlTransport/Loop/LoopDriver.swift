// SPDX-License-Identifier: Apache-2.0

internal import CCurl

/// How a loop waits for its sockets and lets libcurl work on them.
///
/// All methods but `makeBell` run on the loop's thread.
protocol LoopDriver: AnyObject {
  /// What ends a wait; may be called from any thread while the loop lives.
  func makeBell() -> @Sendable () -> Void

  /// Waits until a socket is ready, libcurl's own timer is due, the bell has rung, or the time is
  /// over; without a time, for as long as it takes.
  func wait(atMost limit: Duration?)

  /// How long it is until libcurl's own timer is due, if it is set.
  var timeToTimer: Duration? { get }

  /// Waits until the bell has rung or the time is over, and looks at no socket; may be called while
  /// libcurl works.
  ///
  /// - Returns: Whether it was the time that ended it.
  func rest(atMost limit: Duration) -> Bool

  /// Sees to it that no new transfer is given a pooled connection that its server has closed, or in
  /// which bytes are waiting that answer no request.
  func dropUnfitConnections()

  /// Lets libcurl do whatever can be done without waiting.
  ///
  /// - Parameter mayRead: Whether one more socket may be read from; asked before each, if the driver
  ///   sees them one by one.
  func perform(while mayRead: () -> Bool)

  /// Learns that libcurl has opened a socket for a connection.
  func didOpen(_ socket: curl_socket_t)

  /// Learns that libcurl is about to close a connection's socket.
  func willClose(_ socket: curl_socket_t)
}
