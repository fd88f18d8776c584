// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

/// What a page asks of the gallery.
enum GalleryRequest: Equatable {
  case page
  /// What has changed, from now on.
  case events
  case rows(RowWindow)
  case file(row: Int)
  case start, pause, resume, cancel
  case retry(row: Int)
  case retryFailed
  case limit(Int)
  case add([UInt8])

  /// Some of the rows.
  struct RowWindow: Equatable {
    var kinds: Set<DownloadRow.Kind>?
    var start: Int
    var count: Int

    /// The most rows in one answer: more than fit any screen.
    static let most = 500
  }
}

/// Why a request is not granted.
struct GalleryRefusal: Error, Equatable {
  var status: Int
  var message: String
}

extension GalleryRequest {
  /// Understands a request, if it may come from the gallery's own page.
  init(_ request: PageRequest, token: String, port: UInt16) throws(GalleryRefusal) {
    let path = try Self.path(of: request, token: token, port: port)
    self = request.method == "POST" ? try Self.post(path, request) : try Self.get(path, request)
  }

  /// The parts of the path behind the token, if the request may come from the gallery's own page; its body
  /// is not looked at.
  ///
  /// Another site's page may make a browser send requests here too, or give the name of its host this
  /// machine's address. So the `Host` must be this machine's, the path must begin with the token, and what
  /// changes something must come from a page of this origin (RFC 6454).
  static func path(
    of request: PageRequest, token: String, port: UInt16
  ) throws(GalleryRefusal) -> [String] {
    let hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    guard let host = request.host, hosts.contains(host) else {
      throw GalleryRefusal(status: 421, message: "This is no server of that host")
    }
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard let first = parts.first, isSame(first, token) else {
      throw GalleryRefusal(status: 404, message: "Nothing is here; use the whole address")
    }
    switch request.method {
    case "GET", "HEAD": break
    case "POST":
      guard request.origin == "http://\(host)" else {
        throw GalleryRefusal(status: 403, message: "Only the gallery's own page may ask for this")
      }
    default: throw GalleryRefusal(status: 405, message: "GET and POST are understood")
    }
    return parts.dropFirst().map { String($0) }
  }

  private static func get(
    _ path: [String], _ request: PageRequest
  ) throws(GalleryRefusal) -> GalleryRequest {
    switch path {
    case [""]: return .page
    case ["events"]: return .events
    case ["rows"]:
      return .rows(
        RowWindow(
          kinds: try kinds(request.query("kinds")),
          start: try number(request.query("from") ?? "0"),
          count: min(RowWindow.most, try number(request.query("count") ?? "100"))))
    case let path where path.count == 2 && path[0] == "files":
      return .file(row: try number(path[1]))
    default: throw GalleryRefusal(status: 404, message: "Nothing is here")
    }
  }

  private static func post(
    _ path: [String], _ request: PageRequest
  ) throws(GalleryRefusal) -> GalleryRequest {
    switch path {
    case ["start"]: return .start
    case ["pause"]: return .pause
    case ["resume"]: return .resume
    case ["cancel"]: return .cancel
    case ["retry"]: return .retryFailed
    case let path where path.count == 2 && path[0] == "retry":
      return .retry(row: try number(path[1]))
    case ["limit"]:
      let limit = try number(String(decoding: request.body, as: UTF8.self))
      guard limit <= mostAtOnce else {
        throw GalleryRefusal(status: 400, message: "The limit is a number from 0 to \(mostAtOnce)")
      }
      return .limit(limit)
    case ["add"]: return .add(request.body)
    default: throw GalleryRefusal(status: 404, message: "Nothing is here")
    }
  }

  /// The most that a page may have in flight at once.
  static let mostAtOnce = 1000

  private static func kinds(
    _ text: String?
  ) throws(GalleryRefusal) -> Set<DownloadRow.Kind>? {
    guard let text, !text.isEmpty else { return nil }
    var kinds: Set<DownloadRow.Kind> = []
    for word in text.split(separator: ",") {
      guard let kind = DownloadRow.Kind(rawValue: String(word)) else {
        throw GalleryRefusal(status: 400, message: "There is no such state")
      }
      kinds.insert(kind)
    }
    return kinds
  }

  private static func number(_ text: String) throws(GalleryRefusal) -> Int {
    guard let number = Int(text), number >= 0 else {
      throw GalleryRefusal(status: 400, message: "A number from 0 was expected")
    }
    return number
  }
}

/// Whether two texts are the same, found out in a time that tells nothing of where they differ.
private func isSame(_ one: Substring, _ other: String) -> Bool {
  guard one.utf8.count == other.utf8.count else { return false }
  return zip(one.utf8, other.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
}
