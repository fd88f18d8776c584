// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import SQLiteJournal
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Which files are wanted, and how far they are known to be right")
  struct FilterRunTests {
    private static let png: [UInt8] =
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8)
      + [UInt8](repeating: 0, count: 700)
    private static let page = Array("<!DOCTYPE html><html><body>Not found</body></html>".utf8)

    private let setting: RunSetting
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws { setting = try RunSetting() }

    // MARK: - Sizes

    @Test("A file that is too large is refused by its head, or as soon as it is")
    func tooLarge() async throws {
      let sent = Watched(0)
      origin.on("/announced", .ok([UInt8](repeating: 1, count: 200_000)))
      origin.on(
        "/endless",
        MisbehavingOrigin.Behaviour { exchange in
          exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
          // Until the client has gone.
          while exchange.sendSome(
            Array("400\r\n".utf8) + [UInt8](repeating: 1, count: 1024) + [13, 10])
          {
            sent.update { $0 += 1024 }
          }
          exchange.close()
        })
      origin.on("/close", .untilClose(String(repeating: "x", count: 100_001)))
      origin.on("/exact", .ok([UInt8](repeating: 1, count: 100_000)))
      origin.on("/chunked", .chunked([String(repeating: "x", count: 100_000)]))
      let names = ["announced", "endless", "close", "exact", "chunked"]
      let ending = try await setting.fetch(
        ["--max-size", "100000"], list: names.map { origin.url("/\($0)") })
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(
        events.reasons["too-large"]?.sorted()
          == ["announced", "close", "endless"].map { origin.url("/\($0)") })
      #expect(events.of("retry").isEmpty)
      #expect(sent.value < 8 << 20)
      #expect(setting.files == ["chunked", "exact"])
    }

    @Test("A file that is too small is refused by its head or at its end")
    func tooSmall() async throws {
      origin.on("/announced", .ok("1234"))
      origin.on("/chunked", .chunked(["12", "34"]))
      origin.on("/close", .untilClose("1234"))
      origin.on("/empty", .ok(""))
      origin.on("/exact", .ok("12345"))
      origin.on("/exact-chunked", .chunked(["123", "45"]))
      let names = ["announced", "chunked", "close", "empty", "exact", "exact-chunked"]
      let ending = try await setting.fetch(
        ["--min-size", "5"], list: names.map { origin.url("/\($0)") })
      #expect(ending.status == 1)
      #expect(try ending.events.reasons["too-small"]?.count == 4)
      #expect(setting.files == ["exact", "exact-chunked"])
    }

    @Test("A resumed file counts as a whole, and a part of one that is too large does not stay")
    func resumed() async throws {
      var generator = SeededGenerator(seed: 6)
      let bytes = generator.bytes(2_000_000)
      let gate = MisbehavingOrigin.Gate()
      for (number, arguments) in [
        ["--max-size", "1900000"], ["--max-size", "1100000"], ["--min-size", "2000001"],
      ].enumerated() {
        let setting = try RunSetting(origin)
        let url = origin.url("/\(number)")
        origin.on("/\(number)", .file(bytes, ["ETag: \"1\""], upTo: 1_500_000, heldAt: gate))
        let run = try setting.start(list: [url])
        try await setting.waitForJournal(run) { $0.partial == 1 }
        await setting.kill(run)
        origin.on("/\(number)", .file(bytes, ["ETag: \"1\""]))
        let ending = try await setting.fetch(arguments, list: [url])
        #expect(ending.status == 1, "\(arguments)")
        let reason = try ending.events.of("failed").first?.reason
        #expect(reason == (number < 2 ? "too-large" : "too-small"), "\(arguments)")
        setting.expectOnly([:], "\(arguments)")
      }
    }

    // MARK: - Kinds

    @Test("A page under a picture's name is refused, whatever it is called")
    func pictures() async throws {
      let (png, page) = (Self.png, Self.page)
      let answers: [String: (type: String?, bytes: [UInt8], isWanted: Bool)] = [
        "good.png": ("image/png", png, true), "parameters.png": ("Image/PNG; q=1", png, true),
        "untyped.png": (nil, png, true), "octets.png": ("application/octet-stream", png, true),
        "called-page.png": ("text/html", page, false), "page.png": ("image/png", page, false),
        "octets-page.png": ("application/octet-stream", page, false),
        "untyped-page.png": (nil, page, false), "called-page-only.png": ("text/html", png, false),
        "empty.png": ("image/png", [], false),
        "json.png": ("application/json", Array("{}".utf8), false),
      ]
      for (name, answer) in answers {
        let fields = answer.type.map { ["Content-Type: " + $0] } ?? []
        origin.on("/" + name, .answer(fields: fields, answer.bytes))
      }
      let list = answers.keys.sorted().map { origin.url("/" + $0) }
      let ending = try await setting.fetch(["--expect", "image"], list: list)
      let events = try ending.events
      for (name, answer) in answers {
        let event = events.ending(of: origin.url("/" + name))
        #expect(event?.event == (answer.isWanted ? "done" : "failed"), "\(name)")
        if !answer.isWanted { #expect(event?.reason == "wrong-type", "\(name)") }
      }
      #expect(events.of("retry").isEmpty)
      #expect(setting.files == answers.filter(\.value.isWanted).keys.sorted())
    }

    // MARK: - What the list says

    @Test("Every kind of digest is compared with, and a size that the list gives is held to")
    func fields() async throws {
      origin.onEverythingElse(.ok("hello"))
      origin.on("/announced", .ok("hello!"))
      origin.on("/chunked", .chunked(["hello", "!"]))
      let digests = [
        "md5:5d41402abc4b2a76b9719d911017c592",
        "SHA1:AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D",
        "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "sha512:9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc"
          + "6e14b8c5da0c4663475c2e5c3adef46f73bcdec043",
      ]
      let list =
        digests.enumerated().map { #"{"url":"\#(origin.url("/\($0)"))","checksum":"\#($1)"}"# }
        + ["announced", "chunked", "right"].map { #"{"url":"\#(origin.url("/" + $0))","size":5}"# }
        + [
          #"{"url":"\#(origin.url("/none"))","checksum":"crc32:00000000"}"#,
          #"{"url":"\#(origin.url("/short"))","sha256":"abc"}"#,
          #"{"url":"\#(origin.url("/number"))","size":"many"}"#,
        ]
      let ending = try await setting.fetch(list: list)
      let events = try ending.events
      #expect(ending.status == 1)
      #expect(events.of("done").count { $0.proof == "checksum" } == 4)
      #expect(
        events.reasons["size"]?.sorted()
          == ["announced", "chunked", "number"].map { origin.url("/" + $0) })
      #expect(
        events.reasons["checksum"]?.sorted() == ["none", "short"].map { origin.url("/" + $0) })
      #expect(events.ending(of: origin.url("/right"))?.proof == "length")
      #expect(setting.files == ["0", "1", "2", "3", "right"])
    }

    @Test("The proof tells how far the bytes are known to be right")
    func proof() async throws {
      let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
      origin.on("/length", .ok("hello"))
      origin.on("/chunks", .chunked(["hel", "lo"]))
      origin.on("/close", .untilClose("hello"))
      origin.on("/checked", .untilClose("hello"))
      origin.on("/empty", .ok(""))
      let list =
        ["length", "chunks", "close", "empty"].map { #"{"url":"\#(origin.url("/" + $0))"}"# }
        + [#"{"url":"\#(origin.url("/checked"))","sha256":"\#(digest)"}"#]
      let ending = try await setting.fetch(list: list)
      let events = try ending.events
      #expect(ending.status == 0)
      for (name, proof) in [
        ("length", "length"), ("chunks", "length"), ("close", "unverified"), ("empty", "length"),
        ("checked", "checksum"),
      ] {
        let event = events.ending(of: origin.url("/" + name))
        #expect(event?.proof == proof, "\(name)")
        if name != "empty" { #expect(event?.sha256 == digest, "\(name)") }
      }
    }
  }
}
