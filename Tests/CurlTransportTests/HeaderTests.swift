// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("A request's head", .timeLimit(.minutes(1)))
struct HeaderTests {
  let origin: MisbehavingOrigin

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok("fine"))
  }

  private func fields(_ lines: String...) throws -> [HeaderField] {
    try lines.map { try #require(HeaderField($0)) }
  }

  /// Sends a request, and returns the lines of its head after the first two.
  private func send(
    _ headers: [HeaderField], by transport: CurlTransport, to url: String? = nil,
    usesNetrc: Bool = false
  ) async -> [Substring] {
    let recorder = Recorder()
    transport.start([
      Transfer(
        url: url ?? origin.url(), headers: headers, usesNetrc: usesNetrc, handler: recorder)
    ])
    #expect(await recorder.answer.end == .complete)
    let head = origin.record.requests.last?.head ?? ""
    return head.split(separator: "\r\n").dropFirst().map { $0 }
  }

  @Test(
    "has a transfer's own fields, and the next transfer's not",
    arguments: CurlTransport.Driver.allCases)
  func own(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(.init(userAgent: "tester/1"), driver: driver)
    let host = "Host: 127.0.0.1:\(origin.port)"
    #expect(
      await send(
        try fields("X-Key: a", "X-Key: b", "Range: bytes=5-", "If-Range: \"e\""), by: transport)
        == [
          host[...], "User-Agent: tester/1", "Accept: */*", "X-Key: a", "X-Key: b",
          "Range: bytes=5-", "If-Range: \"e\"",
        ])
    #expect(await send([], by: transport) == [host[...], "User-Agent: tester/1", "Accept: */*"])
  }

  @Test("has a field of the transport's replaced by name", arguments: CurlTransport.Driver.allCases)
  func replaced(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(.init(userAgent: "tester/1"), driver: driver)
    #expect(
      await send(
        try fields("accept: image/png", "USER-agent: other", "host: else.invalid"), by: transport)
        == ["Host: else.invalid", "accept: image/png", "USER-agent: other"])
    #expect(
      await send(
        try fields("Authorization: Bearer t"), by: transport,
        to: "http://me:word@127.0.0.1:\(origin.port)/"
      ).filter { $0.hasPrefix("Authorization") } == ["Authorization: Bearer t"])
  }

  @Test("may have fields without a value", arguments: CurlTransport.Driver.allCases)
  func empty(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let head = await send(try fields("X-Empty:", "X-Semicolon: ;", "Accept: "), by: transport)
    #expect(head.contains("X-Empty:"))
    #expect(head.contains("X-Semicolon: ;"))
    #expect(head.contains { $0 == "Accept:" || $0 == "Accept: " })
    #expect(!head.contains("Accept: */*"))
  }

  @Test("never announces a body", arguments: CurlTransport.Driver.allCases)
  func body(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    for _ in 0..<2 {
      let head = await send(
        try fields("content-LENGTH: 100", "Transfer-Encoding: chunked", "X-A: 1"), by: transport)
      #expect(head.dropFirst() == ["Accept: */*", "X-A: 1"])
    }
    #expect(origin.record.connections == 1)
  }

  // MARK: netrc

  private func netrc(_ text: String) throws -> (TemporaryFolder, CurlTransport.Options) {
    let folder = try TemporaryFolder()
    try folder.write(Array(text.utf8), to: "netrc")
    return (folder, CurlTransport.Options(netrcPath: "\(folder.path)/netrc"))
  }

  private func authorization(_ head: [Substring]) -> [Substring] {
    head.filter { $0.lowercased().hasPrefix("authorization") }
  }

  @Test(
    "has a name and password of the netrc file, if the transfer may have one and has none",
    arguments: CurlTransport.Driver.allCases)
  func netrc(_ driver: CurlTransport.Driver) async throws {
    let (folder, options) = try netrc(
      "machine other.invalid login no password no\nmachine 127.0.0.1 login me password word\n")
    let transport = try CurlTransport(options, driver: driver)
    let expected: [Substring] = ["Authorization: Basic bWU6d29yZA=="]
    for _ in 0..<2 {
      #expect(authorization(await send([], by: transport, usesNetrc: true)) == expected)
      #expect(authorization(await send([], by: transport)) == [])
    }
    for user in ["you:yours@", "you@", "@"] {
      let head = await send(
        [], by: transport, to: "http://\(user)127.0.0.1:\(origin.port)/", usesNetrc: true)
      #expect(authorization(head).allSatisfy { !expected.contains($0) })
    }
    let own = try fields("Authorization: Bearer t")
    #expect(
      authorization(await send(own, by: transport, usesNetrc: true)) == ["Authorization: Bearer t"])
    withExtendedLifetime(folder) {}
  }

  @Test(
    "goes without a netrc file's entry where there is none",
    arguments: CurlTransport.Driver.allCases)
  func noEntry(_ driver: CurlTransport.Driver) async throws {
    let (folder, options) = try netrc("machine other.invalid login no password no\n")
    let transport = try CurlTransport(options, driver: driver)
    #expect(authorization(await send([], by: transport, usesNetrc: true)) == [])
    let missing = try CurlTransport(.init(netrcPath: "\(folder.path)/none"), driver: driver)
    #expect(authorization(await send([], by: missing, usesNetrc: true)) == [])
  }

  @Test(
    "has the default entry's name, with no password of anybody else's",
    arguments: CurlTransport.Driver.allCases)
  func defaultEntry(_ driver: CurlTransport.Driver) async throws {
    let (folder, options) = try netrc(
      "machine other.invalid login no password secret\ndefault login anyone\n")
    let transport = try CurlTransport(options, driver: driver)
    let head = authorization(await send([], by: transport, usesNetrc: true))
    #expect(head == ["Authorization: Basic YW55b25lOg=="] || head == [])
    withExtendedLifetime(folder) {}
  }
}
