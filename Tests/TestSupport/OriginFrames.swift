// SPDX-License-Identifier: Apache-2.0

extension MisbehavingOrigin.Behaviour {
  /// Answers the first request of an HTTP/2 connection with a head, a part of a body, and whatever
  /// ends it; for the path `*`, which the preface of HTTP/2 asks for.
  ///
  /// The fields are those besides the status, in lower case; the body is what is sent of it.
  public static func frames(
    status: Int = 200, fields: [(String, String)] = [], body: String, end: StreamEnd
  ) -> Self {
    Self { exchange in
      exchange.sendFrame(.settings, flags: 0, stream: 0, [])
      guard let stream = exchange.receiveRequest() else { return exchange.close() }
      exchange.sendFrame(.settings, flags: 1, stream: 0, [])
      let all = [(":status", "\(status)")] + fields
      exchange.sendFrame(.headers, flags: 4, stream: stream, all.flatMap(literal))
      exchange.sendFrame(.data, flags: end == .flag ? 1 : 0, stream: stream, Array(body.utf8))
      switch end {
      case .flag: break
      case .reset(let code):
        exchange.sendFrame(
          .reset, flags: 0, stream: stream, (0..<4).map { UInt8(code >> (24 - 8 * $0) & 255) })
      case .goAway:
        exchange.sendFrame(.goAway, flags: 0, stream: 0, [UInt8](repeating: 0, count: 8))
        return exchange.close()
      case .close: return exchange.close()
      }
      while exchange.receive() != nil {}
      exchange.close()
    }
  }

  /// How a stream of HTTP/2 ends.
  public enum StreamEnd: Sendable, Equatable {
    /// As it should: by a flag in its last frame.
    case flag
    /// By a reset with an error's code; 0 is no error.
    case reset(UInt32)
    /// With the whole connection, after a word of farewell.
    case goAway
    /// With the whole connection.
    case close
  }

  /// A field of a head, written out (RFC 7541, section 6.2.2).
  private static func literal(_ name: String, _ value: String) -> [UInt8] {
    [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
  }
}

private enum FrameKind: UInt8 {
  case data = 0
  case headers = 1
  case reset = 3
  case settings = 4
  case goAway = 7
}

extension MisbehavingOrigin.Exchange {
  fileprivate func sendFrame(_ kind: FrameKind, flags: UInt8, stream: UInt8, _ payload: [UInt8]) {
    let count = payload.count
    send(
      [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), kind.rawValue, flags]
        + [0, 0, 0, stream] + payload)
  }

  /// Reads up to the first frame that asks for something, and returns its stream.
  fileprivate func receiveRequest() -> UInt8? {
    // The rest of the preface: "SM" and an empty line.
    var bytes: [UInt8] = []
    var start = 6
    while let more = receive() {
      bytes += more
      while bytes.count >= start + 9 {
        let length = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
        if bytes[start + 3] == FrameKind.headers.rawValue { return bytes[start + 8] }
        start += 9 + length
      }
    }
    return nil
  }
}
