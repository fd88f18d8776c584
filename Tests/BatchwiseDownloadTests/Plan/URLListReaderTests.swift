// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

@testable import BatchwiseDownload

@Suite(.timeLimit(.minutes(1)))
struct URLListReaderTests {
  @Test("An item is returned as soon as its line is complete, though the pipe stays open")
  func asSoonAsComplete() async throws {
    let pipe = try OpenPipe()
    var reader = URLListReader(descriptor: pipe.reading)
    pipe.write("http://h/1\nhttp://h/2\nhttp://h/")
    #expect(try await reader.next(upTo: 10) == items("http://h/1", "http://h/2"))
    pipe.write("3\r")
    #expect(try await reader.next(upTo: 10) == items("http://h/3", from: 3))
    pipe.write("\nhttp://h/4\r\n")
    #expect(try await reader.next(upTo: 10) == items("http://h/4", from: 4))
    pipe.write("http://h/5")
    pipe.closeWriting()
    #expect(try await reader.next(upTo: 10) == items("http://h/5", from: 5))
    #expect(try await reader.next(upTo: 10) == nil)
    #expect(try await reader.next(upTo: 10) == nil)
  }

  @Test("No more items are returned than asked for, and none is lost")
  func upToCount() async throws {
    let pipe = try OpenPipe()
    pipe.write((1...10).map { "http://h/\($0)\n" }.joined())
    pipe.closeWriting()
    var reader = URLListReader(descriptor: pipe.reading)
    var found: [WorkItem] = []
    while let next = try await reader.next(upTo: 3) {
      #expect((1...3).contains(next.count))
      found += next
    }
    #expect(found == items("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", host: "http://h/"))
  }

  @Test("A regular file is read like a pipe, with or without a last line ending")
  func regularFile() async throws {
    let folder = try TemporaryFolder()
    for ending in ["", "\n", "\r\n\r\n# end\n"] {
      try folder.write(
        Array(("\u{FEFF}# list\r\n\r\n http://h/1 \r\nhttp://h/2" + ending).utf8), to: "list")
      let file = open(folder.path + "/list", O_RDONLY)
      var reader = URLListReader(descriptor: file, closesDescriptor: true)
      #expect(try await reader.next(upTo: 10)?.first == WorkItem(line: 3, address: "http://h/1"))
      if ending.isEmpty {
        #expect(try await reader.next(upTo: 10) == [WorkItem(line: 4, address: "http://h/2")])
      }
      #expect(try await reader.next(upTo: 10) == nil)
    }
  }

  @Test("Lines that cannot be addresses become items with a flaw, and the others are read")
  func flaws() async throws {
    let folder = try TemporaryFolder()
    var list = Array("http://h/1\n".utf8)
    list += Array("http://u:secret@h/".utf8) + [0xff, 0xfe] + Array("\n".utf8)
    list += Array("http://u:secret".utf8) + [UInt8](repeating: 0x78, count: 100_000)
    list += Array("@h/\nhttp://h/4\n".utf8)
    try folder.write(list, to: "list")
    var reader = URLListReader(
      descriptor: open(folder.path + "/list", O_RDONLY), closesDescriptor: true)
    var found: [WorkItem] = []
    while let next = try await reader.next(upTo: 10) { found += next }
    #expect(found.map(\.line) == [1, 2, 3, 4])
    #expect(found.map(\.flaw?.reason) == [nil, .badURL, .badURL, nil])
    #expect(found[1].flaw?.message.contains("UTF-8") == true)
    #expect(found[2].flaw?.message.contains("65536") == true)
    #expect(!found.contains { WebAddress.redacting($0.address).contains("secret") && $0.line > 1 })
  }

  @Test(
    "Every format is read from a file and from a pipe alike",
    arguments: [
      (ListFormat.tsv, "name\turl\r\na\thttp://h/1\r\nb\thttp://h/2"),
      (.csv, "name,url\na,\"http://h/1\"\nb,http://h/2\n"),
      (
        .ndjson,
        "{\"url\":\"http://h/1\",\"name\":\"a\"}\n{\"url\":\"http://h/2\",\"name\":\"b\"}"
      ),
    ])
  func formats(format: ListFormat, list: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(Array(list.utf8), to: "list")
    for format in [format, .auto] {
      let pipe = try OpenPipe()
      pipe.write(list)
      pipe.closeWriting()
      for (descriptor, closes) in [
        (open(folder.path + "/list", O_RDONLY), true), (pipe.reading, false),
      ] {
        var reader = URLListReader(
          descriptor: descriptor, format: format, closesDescriptor: closes)
        var found: [WorkItem] = []
        while let next = try await reader.next(upTo: 1) { found += next }
        #expect(found.map(\.address) == ["http://h/1", "http://h/2"])
        #expect(found.map(\.name) == ["a", "b"])
      }
    }
  }

  @Test("A record that is open when the list ends is a bad item, and those after it are read")
  func openAtTheEnd() async throws {
    let pipe = try OpenPipe()
    pipe.write("url\n\"http://h/1\nhttp://h/2\nhttp://h/3")
    pipe.closeWriting()
    var reader = URLListReader(descriptor: pipe.reading, format: .csv)
    var found: [WorkItem] = []
    while let next = try await reader.next(upTo: 2) { found += next }
    #expect(found.map(\.line) == [2, 3, 4])
    #expect(found.map { $0.flaw == nil } == [false, true, true])
  }

  @Test("A header line without url ends the list with an error before its first item")
  func badHeader() async throws {
    let pipe = try OpenPipe()
    pipe.write("# c\naddress,name\nhttp://h/1,a\n")
    var reader = URLListReader(descriptor: pipe.reading, format: .csv)
    let error = await #expect(throws: ListFormatError.self) { try await reader.next(upTo: 5) }
    #expect(error?.line == 2)
    pipe.closeWriting()
    #expect(try await reader.next(upTo: 5) == nil)
  }

  @Test("Cancelling ends the wait for a silent pipe, before it begins and while it lasts")
  func cancelWhileSilent() async throws {
    for yields in 0..<20 {
      let pipe = try OpenPipe()
      pipe.write("http://h/half")
      let reading = Task {
        var reader = URLListReader(descriptor: pipe.reading)
        return try await reader.next(upTo: 10)
      }
      for _ in 0..<yields { await Task.yield() }
      reading.cancel()
      // Never the half line, which would be another address.
      await #expect(throws: CancellationError.self) { try await reading.value }
    }
  }

  @Test("What cannot be read is an error", arguments: ["closed", "folder", "write-only file"])
  func unreadable(kind: String) async throws {
    let folder = try TemporaryFolder()
    let descriptor =
      switch kind {
      case "closed": Int32(1_000_000)
      case "folder": open(folder.path, O_RDONLY)
      default: open(folder.path + "/list", O_WRONLY | O_CREAT, 0o600)
      }
    var reader = URLListReader(descriptor: descriptor, closesDescriptor: kind != "closed")
    let error = await #expect(throws: SystemError.self) { try await reader.next(upTo: 1) }
    #expect(error?.code == (kind == "folder" ? EISDIR : EBADF))
  }

  @Test("A descriptor that another process has made non-blocking is waited for all the same")
  func nonBlocking() async throws {
    let pipe = try OpenPipe()
    _ = fcntl(pipe.reading, F_SETFL, O_NONBLOCK)
    let reading = Task {
      var reader = URLListReader(descriptor: pipe.reading)
      return try await reader.next(upTo: 1)
    }
    for _ in 0..<10 { await Task.yield() }
    pipe.write("http://h/1\n")
    #expect(try await reading.value == items("http://h/1"))
  }

  @Test("The descriptor is closed with the reader if asked for, and not otherwise")
  func closing() async throws {
    for closes in [false, true] {
      let pipe = try OpenPipe()
      do {
        var reader = URLListReader(descriptor: pipe.reading, closesDescriptor: closes)
        pipe.write("a\n")
        _ = try await reader.next(upTo: 1)
      }
      if closes {
        // The queue of the reader may hold it for a moment after it has answered.
        while pipe.hasReader { await Task.yield() }
        pipe.forgetReading()
      } else {
        #expect(pipe.hasReader)
      }
    }
  }

  private func items(_ addresses: String..., host: String = "", from line: Int = 1) -> [WorkItem] {
    addresses.enumerated().map { WorkItem(line: line + $0.offset, address: host + $0.element) }
  }
}

/// Both ends of a pipe, closed at the end unless they have been before.
private final class OpenPipe: Sendable {
  let reading: Int32
  let writing: Int32
  private let closed = Watched<Set<Int32>>([])

  init() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    (reading, writing) = (ends[0], ends[1])
    _ = fcntl(writing, F_SETFL, O_NONBLOCK)
  }

  deinit {
    for end in [reading, writing] where !closed.value.contains(end) { close(end) }
  }

  func write(_ text: String) {
    #expect(Foundation.write(writing, text, text.utf8.count) == text.utf8.count)
  }

  var hasReader: Bool {
    var status = pollfd(fd: writing, events: Int16(POLLOUT), revents: 0)
    return poll(&status, 1, 0) == 1 && status.revents & Int16(POLLERR) == 0
  }

  func closeWriting() {
    closed.update { _ = $0.insert(writing) }
    close(writing)
  }

  func forgetReading() { closed.update { _ = $0.insert(reading) } }
}
