// SPDX-License-Identifier: Apache-2.0

extension MisbehavingOrigin {
  /// How a request is answered.
  ///
  /// The ready-made ones below put the well-known sins in one word. For any other, write down what
  /// is to be sent:
  ///
  ///     origin.on("/odd", .raw("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok"))
  ///     origin.on("/odder", Behaviour { exchange in
  ///       exchange.send("HTTP/1.1 200 OK\r\n")
  ///       exchange.reset()
  ///     })
  public struct Behaviour: Sendable {
    /// Answers one request, on the connection's thread.
    public let play: @Sendable (Exchange) -> Void

    /// Answers by a closure, which runs on the connection's thread and may block it.
    public init(_ play: @escaping @Sendable (Exchange) -> Void) {
      self.play = play
    }
  }

  /// Where in an answer something happens.
  public enum Place: Sendable, CaseIterable {
    /// Before its first byte.
    case beforeHead
    /// After a part of its head.
    case inHead
    /// After its head and a part of its body.
    case inBody
  }
}

// MARK: Good answers

extension MisbehavingOrigin.Behaviour {
  /// 200 with a body of announced length; the connection lives on.
  public static func ok(_ body: String) -> Self { ok(Array(body.utf8)) }

  /// 200 with a body of announced length; the connection lives on.
  public static func ok(_ body: [UInt8]) -> Self {
    Self { $0.sendLast(Array("\(head(200))Content-Length: \(body.count)\r\n\r\n".utf8) + body) }
  }

  /// 200 with the request's own path as its body, by which a wrong body shows.
  public static var echoingPath: Self {
    Self { exchange in
      let path = exchange.request.path
      exchange.sendLast("\(head(200))Content-Length: \(path.utf8.count)\r\n\r\n\(path)")
    }
  }

  /// A status with a body of announced length; the connection lives on.
  public static func status(_ status: Int, _ body: String = "") -> Self {
    raw("\(head(status))Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  /// 204, which has no body.
  public static var noContent: Self { raw("\(head(204))\r\n") }

  /// 200 in chunks, told to its end.
  public static func chunked(_ chunks: [String], fields: String = "") -> Self {
    raw("\(head(200))Transfer-Encoding: chunked\r\n\(fields)\r\n\(written(chunks))0\r\n\r\n")
  }

  /// 200 with a body that ends where the connection does.
  public static func untilClose(_ body: String, version: String = "1.1") -> Self {
    raw("HTTP/\(version) 200 OK\r\nConnection: close\r\n\r\n\(body)", closing: true)
  }

  /// Interim answers before the final one.
  public static func interim(_ statuses: [Int], then final: Self) -> Self {
    Self { exchange in
      for status in statuses { exchange.send("\(head(status))Link: </style.css>\r\n\r\n") }
      final.play(exchange)
    }
  }

  /// A redirect; without a target it has no `Location`.
  public static func redirect(to target: String?, status: Int = 302, body: String = "") -> Self {
    let location = target.map { "Location: \($0)\r\n" } ?? ""
    return raw("\(head(status))\(location)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }
}

// MARK: Bad answers

extension MisbehavingOrigin.Behaviour {
  /// Sends exactly this, and then closes the connection or not.
  public static func raw(_ text: String, closing: Bool = false) -> Self {
    Self { exchange in
      exchange.sendLast(text)
      if closing { exchange.close() }
    }
  }

  /// 200 whose body ends with the connection before the announced length is reached.
  public static func endsEarly(after sent: Int, of announced: Int) -> Self {
    let body = String(repeating: "x", count: sent)
    return raw("\(head(200))Content-Length: \(announced)\r\n\r\n\(body)", closing: true)
  }

  /// 200 with these values of `Content-Length`, one field each, whatever the body's length is.
  public static func lengths(_ lengths: [String], body: String, closing: Bool = true) -> Self {
    let fields = lengths.map { "Content-Length: \($0)\r\n" }.joined()
    return raw("\(head(200))\(fields)\r\n\(body)", closing: closing)
  }

  /// 200 in chunks, without the last one.
  public static func chunkedCutOff(_ chunks: [String]) -> Self {
    raw("\(head(200))Transfer-Encoding: chunked\r\n\r\n\(written(chunks))", closing: true)
  }

  /// Answers up to a place and goes on only when the gate is open.
  public static func stalled(_ place: MisbehavingOrigin.Place, at gate: MisbehavingOrigin.Gate)
    -> Self
  {
    let (before, after) = halves(place)
    return Self { exchange in
      exchange.send(before)
      exchange.wait(at: gate)
      exchange.sendLast(after)
    }
  }

  /// Waits at the gate and then answers.
  public static func held(at gate: MisbehavingOrigin.Gate, then answer: Self) -> Self {
    Self { exchange in
      exchange.wait(at: gate)
      answer.play(exchange)
    }
  }

  /// Answers up to a place and resets the connection.
  public static func resets(_ place: MisbehavingOrigin.Place) -> Self {
    let (before, _) = halves(place)
    return Self { exchange in
      exchange.send(before)
      exchange.reset()
    }
  }

  /// Answers up to a place and closes the connection.
  public static func closes(_ place: MisbehavingOrigin.Place) -> Self {
    let (before, _) = halves(place)
    return Self { exchange in
      exchange.send(before)
      exchange.close()
    }
  }

  /// Answers well for so many requests on a connection, and then closes it without a word.
  public static func closesAfter(_ answers: Int, _ answer: Self) -> Self {
    Self { exchange in
      answer.play(exchange)
      if exchange.request.turn >= answers { exchange.close() }
    }
  }

  /// Answers well for so many requests on a connection, and closes or resets it when a further one
  /// arrives, unanswered.
  public static func dropsAfter(_ answers: Int, _ answer: Self, withReset: Bool = false) -> Self {
    Self { exchange in
      if exchange.request.turn <= answers { return answer.play(exchange) }
      if withReset { exchange.reset() } else { exchange.close() }
    }
  }

  /// Answers, and sends more right after it that answers no request.
  public static func stray(_ text: String, after answer: Self) -> Self {
    Self { exchange in
      answer.play(exchange)
      exchange.send(text)
    }
  }

  /// 200 with a field of so many bytes in its head.
  public static func hugeHead(_ bytes: Int) -> Self {
    raw("\(head(200))X-Huge: \(String(repeating: "y", count: bytes))\r\n\(ending)")
  }

  /// Bytes that are no HTTP.
  public static var garbage: Self { raw("220 mail.example ESMTP\r\n", closing: true) }

  private static let ending = "Content-Length: 10\r\n\r\n0123456789"

  private static func halves(_ place: MisbehavingOrigin.Place) -> (String, String) {
    let whole = head(200) + ending
    let length =
      switch place {
      case .beforeHead: 0
      case .inHead: 20
      case .inBody: whole.utf8.count - 5
      }
    return (String(whole.utf8.prefix(length)) ?? "", String(whole.utf8.dropFirst(length)) ?? "")
  }

  private static func head(_ status: Int) -> String { "HTTP/1.1 \(status) Status\r\n" }

  private static func written(_ chunks: [String]) -> String {
    chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
  }
}
