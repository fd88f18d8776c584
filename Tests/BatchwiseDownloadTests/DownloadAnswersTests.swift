// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct DownloadAnswersTests {
  // MARK: - Bodies

  @Test(
    "A body that is shorter or longer than announced makes no file",
    arguments: [
      (5, ["1234"]), (5, []), (5, ["123", "456"]), (0, ["1"]), (1_000_000_000_000, ["1"]),
    ]
  )
  func wrongLength(announced: Int, pieces: [String]) async throws {
    let failure = try await failure(of: pieces, .length(Int64(announced)))
    #expect(failure?.reason == .truncated)
    #expect(failure?.status == 200)
    #expect(failure?.message.contains("\(announced)") == true)
  }

  @Test(
    "A body makes a file that says how far it is known to be whole",
    arguments: [
      (BodyFraming.length(6), ["123", "", "456"], DownloadedFile.Proof.length),
      (.length(0), [], .length), (.chunked, ["123", "456"], .length), (.chunked, [], .length),
      (.untilClose, ["123456"], .unverified), (.untilClose, [], .unverified),
    ])
  func proofs(
    framing: BodyFraming, pieces: [String], proof: DownloadedFile.Proof
  ) async throws {
    let fetch = try Fetch { _ in
      .pieces(ResponseHead(status: 200, framing: framing), pieces.map { Array($0.utf8) })
    }
    let report = await fetch.run(["http://h/a"])
    guard case .done(let file)? = fetch.log.endings[1]?.first else {
      Issue.record("\(fetch.log.events)")
      return
    }
    #expect(file.proof == proof)
    #expect(file.bytes == pieces.joined().utf8.count)
    #expect(file.status == 200 && file.attempts == 1)
    #expect(file.duration >= .zero && file.duration <= report.duration)
    #expect(fetch.folder["a"] == Array(pieces.joined().utf8))
  }

  @Test(
    "A transfer that fails in the midst of a body makes no file, and keeps its own reason",
    arguments: [DownloadFailure.Reason.truncated, .timeout, .protocol])
  func brokenBody(reason: DownloadFailure.Reason) async throws {
    let failure = try await failure(
      of: ["1234"], .chunked, then: .failed(DownloadFailure(reason, "Broken")))
    #expect(failure == DownloadFailure(reason, "Broken"))
  }

  @Test("An answer of which there is no head is a failure, however it ends")
  func noHead() async throws {
    for end in [TransferEnd.complete, .redirect(to: "http://h/b")] {
      let fetch = try Fetch { _ in .end(end) }
      await fetch.run(["http://h/a"])
      #expect(fetch.log.failures["http://h/a"]?.reason == .protocol)
      #expect(fetch.folder.names == [])
    }
  }

  @Test("What was not committed is gone when the run returns, though the transport keeps a handler")
  func keptHandler() async throws {
    let transport = KeepingTransport()
    let folder = try TemporaryFolder()
    let downloader = DownloadRun(
      transport: transport, folder: try OutputFolder(path: folder.path, namelessFiles: false),
      options: .limited(to: 1))
    _ = await downloader.run(
      WorkList(addresses: ["http://h/a", "http://h/b"]), reportingTo: EventLog())
    defer { transport.handlers.update { $0 = [] } }
    #expect(transport.handlers.value.count == 2)
    #expect(TemporaryFolder.names(in: folder.path + "/.batchwise") == [])
  }

  // MARK: - Statuses

  @Test(
    "An answer that brings no file makes none, whatever its body says",
    arguments: [100, 204, 205, 206, 300, 304, 400, 401, 403, 404, 410, 416, 429, 500, 503, 599])
  func refusals(status: Int) async throws {
    let failure = try await failure(of: ["page"], .length(4), status: status)
    #expect(failure?.reason == .status)
    #expect(failure?.status == status)
    #expect(failure?.message.contains("\(status)") == true)
  }

  @Test("An answer that brings a file makes one", arguments: [200, 201, 203, 226, 299])
  func successes(status: Int) async throws {
    let fetch = try Fetch { _ in
      .body(ResponseHead(status: status, framing: .length(1)), [7])
    }
    await fetch.run(["http://h/a"])
    #expect(fetch.folder["a"] == [7])
  }

  // MARK: - Redirects

  @Test("A redirect is followed, and the file bears the name of the first address")
  func followed() async throws {
    for status in [301, 302, 303, 307, 308] {
      let fetch = try Fetch { url in
        url == "http://h/a.png" ? .redirect(status, to: "https://other/b.jpeg?x") : .file(url)
      }
      let report = await fetch.run(["http://h/a.png"])
      #expect(fetch.transport.record.value.urls == ["http://h/a.png", "https://other/b.jpeg?x"])
      #expect(fetch.log.files == ["http://h/a.png": "a.png"])
      #expect(fetch.folder["a.png"] == Array("https://other/b.jpeg?x".utf8))
      #expect(report.status.done == 1 && report.status.peakInFlight == 1)
    }
  }

  @Test("Ten redirects are followed and an eleventh is not")
  func tenRedirects() async throws {
    for count in [10, 11] {
      let fetch = try Fetch { url in
        let hop = Int(url.dropFirst(9)) ?? 0
        return hop == count ? .file("end") : .redirect(to: "http://h/\(hop + 1)")
      }
      await fetch.run(["http://h/0"])
      #expect(fetch.transport.record.value.urls.count == 11)
      #expect(fetch.log.files == (count == 10 ? ["http://h/0": "0"] : [:]))
      #expect(
        fetch.log.failures.mapValues(\.reason) == (count == 10 ? [:] : ["http://h/0": .redirect]))
    }
  }

  @Test(
    "A redirect that leads where it must not ends there, and nobody else is asked",
    arguments: [
      ("http://h/a", "http://h/a"), ("http://h/a", "HTTP://h/a#x"), ("https://h/a", "http://h/b"),
      ("http://h/a", "ftp://h/b"), ("http://h/a", "file:///etc/passwd"), ("http://h/a", "data:,x"),
      ("http://h/a", "javascript:x"), ("http://h/a", ""), ("http://h/a", "/b"),
      ("http://h/a", "http://"), ("http://h/a", "http://u:secret@h\u{0}/"),
    ])
  func refusedRedirects(from: String, target: String) async throws {
    let fetch = try Fetch { _ in .redirect(to: target) }
    await fetch.run([from])
    #expect(fetch.transport.record.value.urls == [from])
    #expect(fetch.log.failures[from]?.reason == .redirect)
    #expect(fetch.log.failures[from]?.status == 302)
    #expect(fetch.log.failures[from]?.message.contains("secret") == false)
    #expect(fetch.folder.names == [])
  }

  @Test("A circle of redirects is left when it closes")
  func circle() async throws {
    let next = ["http://h/a": "http://h/b", "http://h/b": "http://h/c", "http://h/c": "http://h/b"]
    let fetch = try Fetch { .redirect(to: next[$0] ?? "") }
    await fetch.run(["http://h/a"])
    #expect(fetch.transport.record.value.urls == ["http://h/a", "http://h/b", "http://h/c"])
    #expect(fetch.log.failures["http://h/a"]?.message.contains("circle") == true)
  }

  @Test("A redirect with a status that redirects nowhere is a failure with that status")
  func oddRedirect() async throws {
    let fetch = try Fetch { _ in .redirect(304, to: "http://h/b") }
    await fetch.run(["http://h/a"])
    #expect(fetch.log.failures["http://h/a"]?.reason == .status)
    #expect(fetch.transport.record.value.urls.count == 1)
  }

  @Test("A password goes along within its origin, to no other, and into no event")
  func passwords() async throws {
    let fetch = try Fetch { url in
      switch url {
      case "http://u:secret@h/a": .redirect(to: "http://h/b")
      case "http://u:secret@h/b": .redirect(to: "http://u:secret@other/c")
      default: .file(url)
      }
    }
    await fetch.run(["http://u:secret@h/a"])
    #expect(
      fetch.transport.record.value.urls == [
        "http://u:secret@h/a", "http://u:secret@h/b", "http://other/c",
      ])
    #expect(!"\(fetch.log.events)".contains("secret"))
  }

  // MARK: -

  private func failure(
    of pieces: [String], _ framing: BodyFraming, status: Int = 200,
    then end: TransferEnd = .complete
  ) async throws -> DownloadFailure? {
    let fetch = try Fetch(namelessFiles: false) { _ in
      .pieces(
        ResponseHead(status: status, framing: framing), pieces.map { Array($0.utf8) }, then: end)
    }
    await fetch.run(["http://h/a"])
    #expect(fetch.folder.names == [])
    return fetch.log.failures["http://h/a"]
  }
}

/// Breaks off every body, and never lets go of a handler.
private struct KeepingTransport: Transport {
  let handlers = Watched<[any TransferHandler]>([])

  func start(_ transfers: [Transfer]) {
    for transfer in transfers {
      handlers.update { $0.append(transfer.handler) }
      Task {
        _ = transfer.handler.receive(head: ResponseHead(status: 200, framing: .chunked))
        _ = [1].withUnsafeBytes(transfer.handler.receive(body:))
        transfer.handler.finish(.failed(DownloadFailure(.truncated, "Broken off")))
      }
    }
  }

  func cancel(_ handler: any TransferHandler) {}
}
