// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseTesting

extension MisbehavingOrigin.Request {
  /// The value of a field of the head, or nil if it has none of that name.
  public func field(_ name: String) -> String? {
    let prefix = name.lowercased() + ":"
    let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(prefix) }
    return line.map { String($0.dropFirst(prefix.count).drop { $0 == " " }) }
  }

  /// The first byte that is asked for, where the rest of a file is.
  public var offset: Int? {
    guard let range = field("Range"), range.hasPrefix("bytes="), range.hasSuffix("-") else {
      return nil
    }
    return Int(range.dropFirst("bytes=".count).dropLast())
  }
}

// MARK: Files of bytes, which may be gone on with

extension MisbehavingOrigin.Behaviour {
  /// A status with these fields, `Content-Length` aside, and a body.
  ///
  /// All of the body is announced. Of one that breaks off, so much is sent before the connection is
  /// closed, or before the rest waits at the gate.
  public static func answer(
    _ status: Int = 200, fields: [String] = [], _ body: [UInt8] = [], upTo sent: Int? = nil,
    heldAt gate: MisbehavingOrigin.Gate? = nil
  ) -> Self {
    Self { exchange in
      let lines = ["HTTP/1.1 \(status) Status", "Content-Length: \(body.count)"] + fields
      let head = Array(lines.map { $0 + "\r\n" }.joined().utf8) + Array("\r\n".utf8)
      let sent = min(sent ?? body.count, body.count)
      guard sent < body.count else { return exchange.sendLast(head + body) }
      exchange.send(head + body[..<sent])
      guard let gate else { return exchange.close() }
      exchange.wait(at: gate)
      exchange.sendLast(Array(body[sent...]))
    }
  }

  /// A file as a good server has it: all of it, its rest where that is asked for on a condition that
  /// holds, or the word that nothing has changed (RFC 9110, sections 13 and 14).
  ///
  /// The value of each field is a validator. Where the sending breaks off, counted from the file's
  /// beginning, the connection is closed, or the rest waits at the gate.
  public static func file(
    _ bytes: [UInt8], _ fields: [String], upTo end: Int? = nil,
    heldAt gate: MisbehavingOrigin.Gate? = nil
  ) -> Self {
    Self { exchange in
      let request = exchange.request
      func isThis(_ condition: String?) -> Bool {
        condition.map { value in fields.contains { $0.hasSuffix(": " + value) } } ?? false
      }
      let answer: Self
      if isThis(request.field("If-None-Match") ?? request.field("If-Modified-Since")) {
        answer = .raw("HTTP/1.1 304 Not Modified\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n")
      } else if let offset = request.offset, isThis(request.field("If-Range")) {
        answer = .rest(of: bytes, from: offset, fields, upTo: end, heldAt: gate)
      } else {
        answer = .answer(fields: fields, bytes, upTo: end, heldAt: gate)
      }
      answer.play(exchange)
    }
  }

  /// The rest of a file, or 416 if there is none.
  public static func rest(
    of bytes: [UInt8], from offset: Int, _ fields: [String] = [], upTo end: Int? = nil,
    heldAt gate: MisbehavingOrigin.Gate? = nil
  ) -> Self {
    guard offset < bytes.count else {
      return .answer(416, fields: fields + ["Content-Range: bytes */\(bytes.count)"])
    }
    let range = "Content-Range: bytes \(offset)-\(bytes.count - 1)/\(bytes.count)"
    return .answer(
      206, fields: fields + [range], Array(bytes[offset...]), upTo: end.map { $0 - offset },
      heldAt: gate)
  }

  /// One answer after the other, and the last one again and again.
  public static func inTurn(_ behaviours: [Self]) -> Self {
    let turn = Watched(-1)
    return Self { exchange in
      let number = turn.update { number in
        number += 1
        return number
      }
      behaviours[min(number, behaviours.count - 1)].play(exchange)
    }
  }
}
