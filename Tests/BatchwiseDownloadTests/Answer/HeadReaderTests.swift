// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import Testing

@Suite("The head reader", .timeLimit(.minutes(1)))
struct HeadReaderTests {
  private func read(_ lines: String...) -> [HeadReader.Step] {
    var reader = HeadReader()
    return lines.map { line in
      Array("\(line)\r\n".utf8).withUnsafeBytes { reader.read(line: $0) }
    }
  }

  private func framing(_ fields: String..., status: Int = 200) -> HeadReader.Step? {
    var reader = HeadReader()
    var last: HeadReader.Step?
    for line in ["HTTP/1.1 \(status) Some Words"] + fields + [""] {
      last = Array("\(line)\r\n".utf8).withUnsafeBytes { reader.read(line: $0) }
    }
    return last
  }

  @Test("tells the head at its empty line and not before")
  func steps() {
    let head = ResponseHead(status: 206, framing: .length(12))
    #expect(
      read("HTTP/1.1 206 Partial Content", "Content-Length: 12", "Server: x", "")
        == [.more, .more, .more, .head(head)])
  }

  @Test("knows field names in any case and values in any white space")
  func spelling() {
    #expect(framing("CONTENT-length:\t 7 ") == .head(.init(status: 200, framing: .length(7))))
    #expect(framing("content-length:7") == .head(.init(status: 200, framing: .length(7))))
    #expect(
      framing("transfer-ENCODING: gzip , Chunked") == .head(.init(status: 200, framing: .chunked)))
    #expect(
      framing("X-Content-Length: 7", "Content-Length-Not: 7")
        == .head(.init(status: 200, framing: .untilClose)))
  }

  @Test("lets chunks win over a length, and a status without a body over both")
  func precedence() {
    #expect(
      framing("Content-Length: 3", "Transfer-Encoding: chunked", "Content-Length: 4")
        == .head(.init(status: 200, framing: .chunked)))
    for status in [204, 304] {
      #expect(
        framing("Content-Length: 3", status: status)
          == .head(.init(status: status, framing: .length(0))))
    }
  }

  @Test("begins anew with every answer, interim ones included")
  func interim() {
    let head = ResponseHead(status: 200, framing: .untilClose)
    #expect(
      read("HTTP/1.1 103 Early", "Content-Length: 9", "", "HTTP/1.1 200 OK", "")
        == [.more, .more, .more, .more, .head(head)])
  }

  @Test("ignores what follows the head")
  func trailers() {
    #expect(
      read("HTTP/1.1 200 OK", "", "Content-Length: 9", "", "HTTP/1.1 500 Late", "").dropFirst(2)
        == [.more, .more, .more, .more])
  }

  @Test("accepts the largest length and no larger one")
  func largest() {
    #expect(
      framing("Content-Length: \(Int64.max)")
        == .head(.init(status: 200, framing: .length(.max))))
    guard case .broken = framing("Content-Length: 9223372036854775808") else {
      Issue.record("one more than the largest number was read")
      return
    }
  }

  @Test("keeps the address of a redirect alone")
  func location() {
    for (status, expected) in [(200, nil), (201, nil), (302, "/there"), (308, "/there")] {
      var reader = HeadReader()
      for line in ["HTTP/1.1 \(status) X", "Location: /there ", "Location: /second", ""] {
        _ = Array("\(line)\r\n".utf8).withUnsafeBytes { reader.read(line: $0) }
      }
      #expect(reader.location == expected)
    }
  }
}
