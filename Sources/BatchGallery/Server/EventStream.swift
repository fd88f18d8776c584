// SPDX-License-Identifier: Apache-2.0

internal import CMicrohttpd
internal import Synchronization

/// The stream of one page: the newest message, written as far as its connection takes it.
///
/// A page that reads slowly misses messages and gets the newest one, so a stream holds two at most. While
/// there is nothing to write its connection is suspended, which costs nothing.
final class EventStream: Sendable {
  private struct State {
    /// What is being written, and how much of it has been.
    var message: [UInt8] = []
    var written = 0
    /// What is to be written after it.
    var next: [UInt8]?
    /// The suspended connection.
    var suspended: Connection?
    var isOver = false
  }

  // A pointer that only libmicrohttpd looks behind; it is valid while the connection is suspended.
  private struct Connection: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private let state = Mutex(State())

  /// Takes the newest message, in place of one that has not been begun.
  func publish(_ message: [UInt8]) {
    state.withLock { state in
      state.next = message
      resume(&state)
    }
  }

  /// Ends the stream, in the middle of a message too.
  func end() {
    state.withLock { state in
      state.isOver = true
      resume(&state)
    }
  }

  private func resume(_ state: inout State) {
    if let connection = state.suspended.take() { MHD_resume_connection(connection.pointer) }
  }

  /// Writes what there is into a connection's buffer, or suspends the connection.
  ///
  /// - Returns: How many bytes; -1 at the end.
  func write(to buffer: UnsafeMutableRawBufferPointer, of connection: OpaquePointer) -> Int {
    let connection = Connection(pointer: connection)
    // The buffer is used during the call only, on the thread that brings it.
    nonisolated(unsafe) let buffer = buffer
    return state.withLock { state in
      if state.isOver { return -1 }
      if state.written == state.message.count {
        guard let next = state.next.take() else {
          state.suspended = connection
          MHD_suspend_connection(connection.pointer)
          return 0
        }
        state.message = next
        state.written = 0
      }
      let part = state.message[state.written...].prefix(buffer.count)
      buffer.copyBytes(from: part)
      state.written += part.count
      return part.count
    }
  }
}
