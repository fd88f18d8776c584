// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("The nginx of the tests", .timeLimit(.minutes(1)))
struct NginxTests {
  @Test("It serves the files that a test puts there")
  func serves() throws {
    let nginx = try Nginx()
    let content = [UInt8](repeating: 7, count: 100_000)
    try nginx.put(content, at: "some/folder/picture.png")
    #expect(
      nginx.url(of: "some/folder/picture.png").hasSuffix(":\(nginx.port)/some/folder/picture.png"))
    let answer = try ask(nginx, for: "/some/folder/picture.png")
    #expect(answer.starts(with: Array("HTTP/1.1 200 OK\r\n".utf8)))
    #expect(answer.suffix(content.count) == content[...])
  }

  @Test("It obeys the directives of a test")
  func directives() throws {
    let nginx = try Nginx(directives: "location /teapot { return 418; }")
    #expect(try ask(nginx, for: "/teapot").starts(with: Array("HTTP/1.1 418".utf8)))
  }

  @Test("A server that cannot start says why")
  func cannotStart() throws {
    let failure = #expect(throws: Nginx.Failure.self) { try Nginx(directives: "no_such_word;") }
    #expect(failure?.description.contains("no_such_word") == true)
  }

  @Test("After stopping, the port is free and the folder is gone")
  func stop() throws {
    let nginx = try Nginx()
    nginx.stop()
    nginx.stop()
    #expect(try LoopbackListener(port: nginx.port).port == nginx.port)
    #expect(!FileManager.default.fileExists(atPath: nginx.root))
  }

  @Test("Several run beside each other")
  func several() throws {
    let servers = try (0..<4).map { _ in try Nginx() }
    #expect(Set(servers.map(\.port)).count == 4)
    for (number, server) in servers.enumerated() {
      try server.put("server \(number)".utf8, at: "who.txt")
    }
    for (number, server) in servers.enumerated() {
      let answer = String(decoding: try ask(server, for: "/who.txt"), as: UTF8.self)
      #expect(answer.hasSuffix("server \(number)"))
    }
  }

  private func ask(_ nginx: Nginx, for path: String) throws -> [UInt8] {
    let connection = try LoopbackConnection(port: nginx.port)
    try connection.sendRequest(for: path)
    return try connection.readToEnd()
  }
}
