// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Fetching from nginx")
  struct NginxRunTests {
    @Test("A thousand files are the same byte for byte, and a second run asks for none")
    func thousand() async throws {
      let nginx = try Nginx()
      var contents: [String: [UInt8]] = [:]
      for number in 1...1000 {
        let times = number == 1000 ? 600_000 : number * 7 % 1000
        let bytes = Array(String(repeating: "\(number) ", count: times).utf8)
        contents["\(number).bin"] = bytes
        try nginx.put(bytes, at: "\(number).bin")
      }
      let list = contents.keys.map { nginx.url(of: $0) }.joined(separator: "\n")
      let folder = try TemporaryFolder()
      let arguments = ["fetch", "-n", "16", "-o", folder.path, "--events", "-"]

      let first = try await CommandRun.ending(arguments, input: .text(list))
      #expect(first.status == 0)
      #expect(Set(folder.files) == Set(contents.keys))
      for (name, bytes) in contents where folder[name] != bytes {
        Issue.record("\(name) is not what the server has")
      }
      let events = try first.events
      let done = events.of("done")
      #expect(done.count == 1000)
      for event in done { #expect(event.bytes == contents[event.file ?? ""]?.count) }
      #expect(done.allSatisfy { $0.proof == "length" && $0.status == 200 })
      #expect(events.last?.bytes == contents.values.map(\.count).reduce(0, +))

      let second = try await CommandRun.ending(arguments, input: .text(list))
      #expect(second.status == 0)
      #expect(try second.events.reasons.mapValues(\.count) == ["already-done": 1000])
      let part = list.split(separator: "\n").prefix(200).joined(separator: "\n")
      let third = try await CommandRun.ending(arguments + ["--refresh"], input: .text(part))
      #expect(third.status == 0)
      #expect(try third.events.reasons.mapValues(\.count) == ["unchanged": 200])
      let fourth = try await CommandRun.ending(arguments + ["--no-journal"], input: .text(part))
      #expect(fourth.status == 0)
      #expect(try fourth.events.reasons.mapValues(\.count) == ["unchanged": 200])
      #expect(Set(folder.files) == Set(contents.keys))
    }

    @Test("A file that has changed is replaced when it is asked for, and not before")
    func changed() async throws {
      let nginx = try Nginx()
      let folder = try TemporaryFolder()
      let arguments = ["fetch", "-o", folder.path, nginx.url(of: "a.tar.gz"), "--events", "-"]
      try nginx.put(Array("old".utf8), at: "a.tar.gz")
      #expect(try await CommandRun.ending(arguments).status == 0)
      try nginx.put(Array("newer".utf8), at: "a.tar.gz")
      let plain = try await CommandRun.ending(arguments)
      #expect(try plain.events.reasons.keys.sorted() == ["already-done"])
      #expect(folder["a.tar.gz"] == Array("old".utf8))
      let refreshed = try await CommandRun.ending(arguments + ["--refresh"])
      #expect(refreshed.status == 0)
      #expect(try refreshed.events.of("done").map(\.file) == ["a.tar.gz"])
      #expect(folder.files == ["a.tar.gz"])
      #expect(folder["a.tar.gz"] == Array("newer".utf8))
    }
  }
}
