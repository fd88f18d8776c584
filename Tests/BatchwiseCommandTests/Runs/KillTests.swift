// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Runs that are killed")
  struct KillTests {
    /// The files of a list: short ones, one that is empty, and two that are worth keeping a part of.
    private static let files: [String: [UInt8]] = {
      var generator = SeededGenerator(seed: 3)
      var files = ["empty": [] as [UInt8]]
      for number in 1...20 { files["\(number)"] = generator.bytes(number * number * 100) }
      files["long"] = generator.bytes(1_500_000)
      files["longer"] = generator.bytes(2_500_000)
      return files
    }()

    @Test("A hundred kills at any moment: what is there is whole, and only the rest is done again")
    func hundred() async throws {
      let seed = UInt64.random(in: 0...999_999)
      print("The kills are those of seed \(seed)")
      var generator = SeededGenerator(seed: seed)
      let clock = ContinuousClock()
      let end = clock.now + .seconds(40)
      var kills = 0
      while kills < 100, clock.now < end {
        let setting = try RunSetting()
        serve(on: setting.origin, &generator)
        let list = Self.files.keys.sorted().map { setting.origin.url("/\($0)") }
        // The first ones after the other, the last one until it has done its work.
        for _ in 0..<Int.random(in: 2...12, using: &generator) where kills < 100 {
          let asked = setting.asked
          let before = Set(setting.files)
          let run = try setting.start(["-n", "4"], list: list)
          try await Task.sleep(for: .milliseconds(Int.random(in: 0...150, using: &generator)))
          await setting.kill(run)
          kills += 1
          try setting.check(before, asked, "seed \(seed), kill \(kills)")
        }
        let asked = setting.asked
        let before = Set(setting.files)
        let last = try await setting.fetch(["-n", "4"], list: list)
        #expect(last.status == 0, "seed \(seed), after kill \(kills): \(last.errors)")
        try setting.check(before, asked, "seed \(seed), after kill \(kills)")
        setting.expectOnly(Self.files, "seed \(seed), after kill \(kills)")
        #expect(try last.events.endedIDs == Array(1...Self.files.count))
        let skipped = try last.events.of("skipped").compactMap(\.file)
        #expect(Set(skipped).isSuperset(of: before), "seed \(seed), after kill \(kills)")
      }
      #expect(kills >= 30, "This machine is very slow: \(kills) kills")
    }

    /// Lets an origin serve the files, each after a moment of its own.
    private func serve(on origin: MisbehavingOrigin, _ generator: inout SeededGenerator) {
      for (name, bytes) in Self.files {
        let pause = UInt32.random(in: 0...12_000, using: &generator)
        let middle = bytes.count * 2 / 3
        origin.on(
          "/\(name)",
          MisbehavingOrigin.Behaviour { exchange in
            usleep(pause)
            let offset = exchange.request.offset ?? 0
            guard bytes.count > 1_000_000, offset < middle else {
              return MisbehavingOrigin.Behaviour.file(bytes, ["ETag: \"\(name)\""]).play(exchange)
            }
            // In two halves, so that there is a moment between them.
            exchange.sendHead(of: bytes, from: offset, tag: "\"\(name)\"")
            exchange.send(Array(bytes[offset..<middle]))
            usleep(pause * 4)
            exchange.sendLast(Array(bytes[middle...]))
          })
      }
    }

    @Test("Each kill at the very beginning leaves a journal that the next run can use")
    func early() async throws {
      let setting = try RunSetting()
      setting.origin.onEverythingElse(.ok("hello"))
      for delay in 0..<25 {
        let run = try setting.start(list: [setting.origin.url("/\(delay)")])
        usleep(UInt32(delay) * 1500)
        await setting.kill(run)
      }
      let list = (0..<25).map { setting.origin.url("/\($0)") }
      #expect(try await setting.fetch(list: list).status == 0)
      let names = (0..<25).map { (String($0), Array("hello".utf8)) }
      setting.expectOnly(Dictionary(uniqueKeysWithValues: names))
    }
  }
}

extension RunSetting {
  /// How often each path has been asked for.
  fileprivate var asked: [String: Int] {
    Dictionary(grouping: origin.record.requests, by: \.path).mapValues(\.count)
  }

  /// Looks at what a run has left behind: whole files only, and none of those fetched that were there.
  fileprivate func check(
    _ before: Set<String>, _ asked: [String: Int], _ comment: Comment
  ) throws {
    let now = self.asked
    for name in files {
      let bytes = try #require(CommandRuns.KillTests.expected(name), "\(name), \(comment)")
      expect(bytes, as: name, comment)
    }
    #expect(Set(files).isSuperset(of: before), comment)
    for name in before {
      #expect(now["/\(name)"] == asked["/\(name)"], "\(name) was fetched again, \(comment)")
    }
  }
}

extension CommandRuns.KillTests {
  fileprivate static func expected(_ name: String) -> [UInt8]? { files[name] }
}

extension MisbehavingOrigin.Exchange {
  /// Sends the head of a file, or of the rest of one.
  fileprivate func sendHead(of bytes: [UInt8], from offset: Int, tag: String) {
    let range = "Content-Range: bytes \(offset)-\(bytes.count - 1)/\(bytes.count)\r\n"
    send(
      "HTTP/1.1 \(offset > 0 ? 206 : 200) Status\r\nETag: \(tag)\r\n\(offset > 0 ? range : "")"
        + "Content-Length: \(bytes.count - offset)\r\n\r\n")
  }
}
