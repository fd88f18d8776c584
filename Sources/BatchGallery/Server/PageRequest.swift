// SPDX-License-Identifier: Apache-2.0

/// One request, as far as a page of this machine needs it.
struct PageRequest {
  var method: String
  /// The path, with its escapes resolved, and without the query.
  var path: String
  var host: String?
  var origin: String?
  var queries: [String: String] = [:]
  var body: [UInt8] = []

  /// The value of a query, if it is there.
  func query(_ name: String) -> String? { queries[name] }

  /// The most bytes of a body: some hundred thousand pasted addresses.
  static let longestBody = 16 << 20
  /// The queries that are looked at.
  static let knownQueries = ["kinds", "from", "count"]
}

/// What a request is answered with.
struct PageAnswer {
  var status: Int
  var fields: [(name: String, value: String)] = []
  var body: Body

  enum Body {
    case bytes([UInt8])
    /// The bytes of a file, which is closed when they are sent.
    case file(descriptor: Int32, size: Int64)
    /// A first message, and then what is published from now on, until the reader goes away.
    case stream(first: @Sendable () -> [UInt8])
  }

  /// A text, or JSON.
  init(_ status: Int, type: String, _ body: [UInt8]) {
    self.status = status
    self.body = .bytes(body)
    fields = [("Content-Type", type), ("Cache-Control", "no-store")] + Self.always
  }

  /// Something else.
  init(_ status: Int, _ fields: [(name: String, value: String)], _ body: Body) {
    self.status = status
    self.body = body
    self.fields = fields + Self.always
  }

  /// What goes with every answer: that it is what its type says, of no use to another origin, and that the
  /// address, which holds the token, is told nobody.
  private static let always: [(name: String, value: String)] = [
    ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
  ]
}
