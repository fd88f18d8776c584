// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchGallery
@testable import BatchwiseDownload

/// One gallery of a batch that runs, asked through sockets in so many words.
@Suite("A gallery and its server", .timeLimit(.minutes(1)))
struct GalleryTests {
  private let live = LiveBatch()
  private let folder: TemporaryFolder
  private let run: DownloadRun
  private let gallery: Gallery

  init() throws {
    folder = try TemporaryFolder()
    let transport = FakeTransport { url in
      switch url.suffix(4) {
      case ".png": .body(ResponseHead(status: 200, framing: .length(Int64(png.count))), png)
      case ".404": .body(ResponseHead(status: 404, framing: .length(0)), [])
      default: .body(ResponseHead(status: 200, framing: .length(Int64(html.count))), html)
      }
    }
    let output = try OutputFolder(path: folder.path)
    run = DownloadRun(transport: transport, folder: output)
    gallery = try Gallery(of: live, run: run, folder: output, port: 0)
  }

  private var path: String { URL(string: gallery.address)?.path() ?? "" }
  private var port: UInt16 { UInt16(URL(string: gallery.address)?.port ?? 0) }
  private var host: String { "127.0.0.1:\(port)" }

  /// Asks for a path below the token, and returns the whole answer.
  private func ask(
    _ path: String, _ method: String = "GET", body: String? = nil
  ) async throws -> String {
    let connection = try LoopbackConnection(port: port)
    let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
    try connection.send(
      "\(method) \(self.path)\(path) HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://\(host)\r\n"
        + "Connection: close\r\n\(length)\r\n\(body ?? "")")
    return try await waiting { String(decoding: try connection.readToEnd(), as: UTF8.self) }
  }

  /// Does what blocks its thread on one that may be blocked.
  private func waiting<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
  }

  private func read(_ connection: LoopbackConnection, until text: String) async throws -> String {
    try await waiting { try connection.read(until: text) }
  }

  /// Runs the batch until every row has ended.
  private func runAll(_ addresses: [String]) async {
    live.add(addresses.map { WorkItem(address: $0) })
    live.start()
    live.finish()
    _ = await run.run(live.source, reportingTo: live)
  }

  @Test("The page asks nobody else for anything, and runs nothing but what is in it")
  func page() async throws {
    let answer = try await ask("")
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    for field in [
      "default-src 'none'", "frame-ancestors 'none'", "X-Content-Type-Options: nosniff",
      "Referrer-Policy: no-referrer", "Cache-Control: no-store",
    ] {
      #expect(answer.contains(field))
    }
    #expect(
      !answer.contains("{{") && !answer.contains("http://www") && !answer.contains("https://"))
    let nonce = try #require(answer.firstMatch(of: /script-src 'nonce-(\w+)'/)?.1)
    #expect(answer.contains("<script nonce=\"\(nonce)\">"))
    // Another answer, another mark.
    #expect(!(try await ask("").contains("'nonce-\(nonce)'")))
  }

  @Test(
    "A picture is sent as one; a web page, whatever its name, is a download that may do nothing")
  func files() async throws {
    await runAll(["http://h/a.png", "http://h/page.png.html", "http://h/gone.404"])
    let picture = try await ask("files/0")
    #expect(picture.contains("\r\nContent-Type: image/png\r\n"))
    #expect(picture.contains("\r\nContent-Security-Policy: sandbox; default-src 'none'"))
    #expect(!picture.contains("attachment"))
    let page = try await ask("files/1")
    #expect(page.contains("\r\nContent-Type: application/octet-stream\r\n"))
    #expect(page.contains("\r\nContent-Disposition: attachment\r\n"))
    #expect(page.contains("\r\nX-Content-Type-Options: nosniff\r\n"))
    #expect(page.contains("sandbox") && page.hasSuffix("<script>alert(1)</script>"))
    #expect(try await ask("files/2").hasPrefix("HTTP/1.1 404"))
    #expect(try await ask("files/9").hasPrefix("HTTP/1.1 404"))
    #expect(try await ask("files/0", "HEAD").hasSuffix("\r\n\r\n"))
  }

  @Test("A link that lies where a file was is not followed")
  func links() async throws {
    await runAll(["http://h/a.png"])
    let path = folder.path + "/a.png"
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
    #expect(try await ask("files/0").hasPrefix("HTTP/1.1 404"))
  }

  @Test("Rows come without secrets, with what became of them")
  func rows() async throws {
    await runAll(["http://me:secret@h/a.png", "http://h/gone.404"])
    let answer = try await ask("rows?kinds=failed")
    #expect(answer.contains("\"total\":1") && answer.contains("\"reason\":\"status\""))
    #expect(answer.contains("\"status\":404") && !answer.contains("a.png"))
    let all = try await ask("rows?from=0&count=1")
    #expect(all.contains("\"total\":2") && all.contains("http://h/a.png"))
    #expect(!all.contains("secret") && !all.contains("gone"))
  }

  @Test("A reader of events is told at once how things are, and then of every change")
  func events() async throws {
    let following = Task { await gallery.follow() }
    let connection = try LoopbackConnection(port: port)
    try connection.send("GET \(path)events HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    #expect(try await read(connection, until: "\"rows\":0").contains("text/event-stream"))
    #expect(
      try await ask("add", "POST", body: "http://h/a.png\nhttp://h/b.png\n").contains("\"added\":2")
    )
    #expect(try await read(connection, until: "\"rows\":2").contains("\"waiting\":2"))
    #expect(try await ask("limit", "POST", body: "5").hasPrefix("HTTP/1.1 204"))
    _ = try await read(connection, until: "\"limit\":5")
    #expect(try await ask("pause", "POST", body: "").hasPrefix("HTTP/1.1 204"))
    _ = try await read(connection, until: "\"isPaused\":true")
    gallery.runEnded()
    _ = try await read(connection, until: "\"isOver\":true")
    following.cancel()
    await following.value
    // A suspended connection is ended too.
    gallery.stop()
    gallery.stop()
    _ = try? await waiting { try connection.readToEnd() }
    #expect(throws: (any Error).self) { try LoopbackConnection(port: port) }
  }

  /// Sends the head of a request with a long body and nothing of that, and returns the answer.
  private func answer(to path: String, host: String, length: Int) async throws -> String {
    let connection = try LoopbackConnection(port: port)
    try connection.send(
      "POST \(path) HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://\(host)\r\n"
        + "Content-Length: \(length)\r\n\r\n")
    return try await read(connection, until: "\r\n\r\n")
  }

  @Test("What is not granted is answered before its body comes, and so is what is too long")
  func early() async throws {
    let most = PageRequest.longestBody
    #expect(
      try await answer(to: path + "add", host: host, length: most + 1).hasPrefix("HTTP/1.1 413"))
    #expect(
      try await answer(to: path + "add", host: "evil.example", length: most)
        .hasPrefix("HTTP/1.1 421"))
    #expect(try await answer(to: "/guess/add", host: host, length: most).hasPrefix("HTTP/1.1 404"))
    // What does not say how long it is has its connection closed when it is too long.
    let connection = try LoopbackConnection(port: port)
    try connection.send(
      "POST \(path)add HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://\(host)\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n")
    let chunk =
      "100000\r\n" + String(repeating: "http://h/\n\n\n\n\n\n\n\n", count: 1 << 16) + "\r\n"
    await #expect(throws: (any Error).self) {
      try await waiting { for _ in 0..<64 { try connection.send(chunk) } }
    }
    #expect(live.counts.all == 0)
  }

  @Test("A start goes on also with what was paused before it was cancelled")
  func pausedAndCancelled() async throws {
    async let running: DownloadReport = run.run(live.source, reportingTo: live)
    for path in ["pause", "cancel"] { _ = try await ask(path, "POST", body: "") }
    #expect(run.status.isPaused)
    _ = try await ask("add", "POST", body: "http://h/a.png")
    _ = try await ask("start", "POST", body: "")
    while case let counts = live.counts, counts.kinds[.done] != 1 {
      await live.waitForChange(since: counts.version)
    }
    live.finish()
    #expect(await running.status.done == 1)
  }

  @Test(
    "What is no request does no harm",
    arguments: ["\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9\r\n\r\n"])
  func garbage(text: String) async throws {
    let connection = try LoopbackConnection(port: port)
    try connection.send(text)
    #expect(try await ask("").hasPrefix("HTTP/1.1 200"))
  }

  @Test("A port that is taken is a failure that names it")
  func taken() throws {
    let failure = #expect(throws: Gallery.CannotServe.self) {
      try Gallery(of: live, run: run, folder: try OutputFolder(path: folder.path), port: port)
    }
    #expect(failure?.port == port && failure?.cause.isEmpty == false)
  }
}

private let png =
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 0, count: 80)
private let html = Array("<!doctype html><script>alert(1)</script>".utf8)
