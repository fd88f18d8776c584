// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension MisbehavingOrigin {
  /// One request that is being answered: what a behaviour works with, on the connection's thread.
  ///
  /// A behaviour that returns without closing leaves the connection open for the next request.
  public final class Exchange: Sendable {
    /// What was asked.
    public let request: Request

    private let connection: Connection
    private let stage: Stage
    private let state = Mutex(State())

    private struct State {
      var hasEnded = false
      var hasClosed = false
    }

    init(request: Request, connection: Connection, _ stage: Stage) {
      self.request = request
      self.connection = connection
      self.stage = stage
    }

    /// Sends bytes, with more to come.
    public func send(_ bytes: [UInt8]) { connection.send(bytes) }

    /// Sends bytes with more to come, and says whether the client was there to take them.
    public func sendSome(_ bytes: [UInt8]) -> Bool { connection.send(bytes) }

    /// Sends text, with more to come.
    public func send(_ text: String) { connection.send(Array(text.utf8)) }

    /// Sends the answer's last bytes; the request no longer counts as in flight.
    public func sendLast(_ bytes: [UInt8]) {
      endOnce()
      connection.send(bytes)
    }

    /// Sends the answer's last text; the request no longer counts as in flight.
    public func sendLast(_ text: String) { sendLast(Array(text.utf8)) }

    /// Blocks this connection's thread until the gate is open.
    public func wait(at gate: Gate) {
      stage.willWait(at: gate)
      gate.wait()
    }

    /// Blocks until bytes come that are no part of what was read, and returns them; nothing if the
    /// client closes.
    public func receive() -> [UInt8]? { connection.receive() }

    /// Blocks until the client closes the connection or sends more.
    public func waitForClient() { _ = connection.readHead() }

    /// Closes the connection in an orderly way.
    public func close() {
      endOnce()
      state.withLock { $0.hasClosed = true }
      connection.close()
    }

    /// Closes the connection with a reset: what the client has not yet read is lost to it.
    public func reset() {
      endOnce()
      state.withLock { $0.hasClosed = true }
      connection.closeWithReset()
    }

    var hasClosed: Bool { state.withLock { $0.hasClosed } }

    func endOnce() {
      let isFirst = state.withLock { state in
        defer { state.hasEnded = true }
        return !state.hasEnded
      }
      if isFirst { stage.endRequest() }
    }
  }
}
