// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Foundation
import SQLiteJournal
import TestSupport
import Testing

extension CommandRuns {
  @Suite("Secrets of a run")
  struct SecretRunTests {
    /// What every secret of these tests holds, and what Basic authentication makes of `me:s3cret`.
    private static let secrets = ["s3cret", "bWU6czNjcmV0", "eW91OnMzY3JldA"]
    /// What may be told to anybody.
    private static let harmless = ["Accept: image/*", "Accept-Language: fr", "User-Agent: mine"]

    private let setting: RunSetting
    private let other: MisbehavingOrigin
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      other = try MisbehavingOrigin()
      other.onEverythingElse(.ok("hello"))
      origin.onEverythingElse(.ok("hello"))
    }

    /// Headers of the command line: some that may go anywhere, and some that may not.
    private var headers: [String] {
      let fields =
        Self.harmless + [
          "Authorization: Bearer s3cret", "Cookie: id=s3cret", "X-Key: s3cret",
          "Referer: http://h/s3cret", "Proxy-Authorization: s3cret",
        ]
      return fields.flatMap { ["-H", $0] }
    }

    /// An item with a name and password, a header of its own, or neither.
    private func item(_ path: String, user: String? = nil, header: String? = nil) -> String {
      let url = origin.url(path).replacing("http://", with: "http://\(user.map { $0 + "@" } ?? "")")
      let field = header.map { #","header":"\#($0)""# } ?? ""
      return #"{"url":"\#(url)"\#(field)}"#
    }

    // MARK: - Other origins

    @Test("What is a secret goes to the item's own origin, redirects within it included")
    func own() async throws {
      origin.on("/a", .redirect(to: "/b"))
      let ending = try await setting.fetch(
        headers, list: [item("/a", header: "X-Token: s3cret")])
      #expect(ending.status == 0)
      #expect(origin.record.requests.count == 2)
      for request in origin.record.requests {
        for name in ["Authorization", "Cookie", "X-Key", "X-Token", "Referer"] {
          #expect(request.field(name)?.contains("s3cret") == true, "\(name) for \(request.path)")
        }
      }
      let named = try await setting.fetch(list: [item("/c", user: "me:s3cret")])
      #expect(named.status == 0)
      #expect(origin.record.requests.last?.field("Authorization") == "Basic bWU6czNjcmV0")
    }

    @Test("No secret follows a redirect to another origin, and none comes back from there")
    func redirects() async throws {
      // Away; away and back; back with a name and password of the other's choice.
      origin.on("/1", .redirect(to: other.url("/land")))
      origin.on("/2", .redirect(to: other.url("/back")))
      other.on("/back", .redirect(to: origin.url("/home")))
      origin.on("/3", .redirect(to: other.url("/named")))
      other.on("/named", .redirect(to: "http://you:s3cret@127.0.0.1:\(origin.port)/home2"))
      // Another name of the same machine is another origin.
      origin.on("/4", .redirect(to: "http://localhost:\(origin.port)/home3"))
      let list = (1...4).map { item("/\($0)", header: "X-Token: s3cret") }
      let named = (1...4).map { item("/\($0)?named", user: "me:s3cret") }
      let ending = try await setting.fetch(headers, list: list + named)
      #expect(ending.status == 0 || ending.status == 1)
      let away =
        other.record.requests + origin.record.requests.filter { $0.path.hasPrefix("/home") }
      #expect(away.count >= 12)
      for request in away where request.path != "/home2" {
        expectNoSecret(in: request.head, "\(request.path)")
        for field in Self.harmless { #expect(request.head.contains(field + "\r\n")) }
      }
      // What the redirect itself names is no secret of ours.
      for request in away where request.path == "/home2" {
        for name in ["Cookie", "X-Key", "X-Token", "Referer"] {
          #expect(request.field(name) == nil)
        }
        #expect(request.field("Authorization")?.contains("Bearer") != true)
        #expect(request.field("Authorization")?.contains("bWU6czNjcmV0") != true)
      }
    }

    @Test("An entry of the netrc file goes to the first hop's machine and to no redirect's target")
    func netrc() async throws {
      let path = setting.folder.path + "/netrc"
      try
        "machine 127.0.0.1 login me password s3cret\nmachine localhost login you password s3cret\n"
        .write(toFile: path, atomically: false, encoding: .utf8)
      origin.on("/1", .redirect(to: other.url("/land")))
      origin.on("/2", .redirect(to: "http://localhost:\(origin.port)/home"))
      origin.on("/3", .redirect(to: other.url("/back")))
      other.on("/back", .redirect(to: origin.url("/home")))
      origin.on("/4", .redirect(to: "/near"))
      let list = (1...4).map { origin.url("/\($0)") }
      let ending = try await setting.fetch(["--netrc"], list: list, environment: ["NETRC": path])
      #expect(ending.status == 0)
      for request in other.record.requests { expectNoSecret(in: request.head, request.path) }
      for request in origin.record.requests {
        if request.path == "/home" {
          expectNoSecret(in: request.head, request.path)
        } else {
          #expect(request.field("Authorization") == "Basic bWU6czNjcmV0", "\(request.path)")
        }
      }
      // Not asked for, it is not read.
      let count = origin.record.requests.count
      let fresh = try await setting.fetch(["--fresh"], list: list, environment: ["NETRC": path])
      #expect(fresh.status == 0)
      for request in origin.record.requests[count...] {
        expectNoSecret(in: request.head, request.path)
      }
    }

    @Test("Cookies that a server sets are given back to nobody")
    func cookies() async throws {
      origin.on("/1", .answer(fields: ["Set-Cookie: id=s3cret"], [65]))
      let ending = try await setting.fetch(
        ["-n", "1"], list: [origin.url("/1"), origin.url("/2")])
      #expect(ending.status == 0)
      for request in origin.record.requests { #expect(request.field("Cookie") == nil) }
    }

    // MARK: - What is told and remembered

    @Test("No secret is told, and the list of what is not done alone holds them")
    func told() async throws {
      origin.on("/gone", .status(404))
      origin.on("/loop", .redirect(to: "http://me:s3cret@127.0.0.1:\(origin.port)/loop"))
      origin.on("/wrong", .redirect(to: "ftp://me:s3cret@h/s3cret"))
      origin.on("/hurt", .inTurn([.status(500), .ok("hello")]))
      let list = [
        item("/good", user: "me:s3cret", header: "X-Token: s3cret"),
        item("/gone", user: "me:s3cret", header: "X-Token: s3cret"), item("/loop"), item("/wrong"),
        item("/hurt", user: "me:s3cret"), #"{"url":"http://me:s3cret@host:x/"}"#,
        #"{"url":"http://me:s3cret@127.0.0.1:1/a","header":"no header but s3cret"}"#,
        #"{"url":"http://me:s3cret@127.0.0.1:1/a","name":5}"#,
        #"{"url":"http://me:s3cret@no-such-host.invalid/a"}"#,
      ]
      let unfinished = setting.folder.path + "/unfinished"
      let ending = try await setting.fetch(
        headers + ["-v", "--retries", "1", "--unfinished", unfinished], list: list)
      #expect(ending.status == 1)
      #expect(try ending.events.endedIDs == Array(1...list.count))
      expectNoSecret(in: ending.output + ending.errors, "what is told")
      expectNoSecret(in: try await setting.status().output, "the status")
      try expectNoSecretKept()
      let left = try String(contentsOfFile: unfinished, encoding: .utf8)
      #expect(left.contains("me:s3cret@") && left.contains("X-Token: s3cret"))
      #expect(!left.contains("X-Key"))
      let mode = try FileManager.default.attributesOfItem(atPath: unfinished)[.posixPermissions]
      #expect((mode as? NSNumber)?.intValue == 0o600)
    }

    @Test(
      "A proxy alone hears its password, which is not told and not kept",
      arguments: [true, false])
    func proxy(isNamed: Bool) async throws {
      let proxy = try MisbehavingOrigin()
      proxy.onEverythingElse(.ok("hello"))
      proxy.on("/gone", .status(404))
      proxy.on("/denied", .status(407))
      proxy.on("/moved", .redirect(to: other.url("/land")))
      let list = ["good", "gone", "denied", "moved"].map { origin.url("/\($0)") }
      func arguments(_ port: UInt16) -> ([String], environment: [String: String]) {
        let address = "http://me:s3cret@127.0.0.1:\(port)"
        return isNamed
          ? (["-v", "--retries", "0", "--proxy", address], [:])
          : (["-v", "--retries", "0"], ["http_proxy": address, "no_proxy": ""])
      }
      let (words, environment) = arguments(proxy.port)
      let ending = try await setting.fetch(
        words, list: list + ["https://far.invalid/tunnel"], environment: environment)
      #expect(ending.status == 1)
      #expect(try ending.events.of("done").count == 2)
      #expect(proxy.record.requests.count >= 5)
      for request in proxy.record.requests {
        #expect(request.field("Proxy-Authorization") == "Basic bWU6czNjcmV0", "\(request.path)")
      }
      #expect(origin.record.connections == 0 && other.record.connections == 0)
      // And one that is not there.
      let (deadWords, deadEnvironment) = arguments(1)
      let dead = try await setting.fetch(
        deadWords, list: [origin.url("/dead")], environment: deadEnvironment)
      #expect(try dead.events.reasons.keys.sorted() == ["connect"])
      for told in [ending, dead] {
        expectNoSecret(in: told.output + told.errors, "what is told")
      }
      expectNoSecret(in: try await setting.status().output, "the status")
      try expectNoSecretKept()
    }

    @Test("A run that is killed leaves no secret in what it had begun to write")
    func killed() async throws {
      var generator = SeededGenerator(seed: 5)
      let gate = MisbehavingOrigin.Gate()
      origin.on(
        "/long", .file(generator.bytes(2_000_000), ["ETag: \"1\""], upTo: 1_500_000, heldAt: gate))
      origin.on("/gone", .status(404))
      let list = [
        item("/gone", user: "me:s3cret"), item("/good", user: "me:s3cret"),
        item("/long", user: "me:s3cret", header: "X-Token: s3cret"),
      ]
      let run = try setting.start(headers, list: list)
      try await setting.waitForJournal(run) { $0.partial == 1 && $0.failed == 1 && $0.done == 1 }
      await setting.kill(run)
      try expectNoSecretKept()
    }

    @Test("What is refused on the command line is not shown with its secret")
    func refused() async throws {
      for arguments in [
        ["-H", "X-Key s3cret"], ["-H", "X-Key: s3cret\u{1}"],
        ["http://me:s3cret@h/", "--limit", "0"],
        ["-i", "http://me:s3cret@h/list"], ["--proxy", "http://me:s3cret@:x"],
      ] {
        let ending = try await setting.fetch(arguments)
        #expect(ending.status == 64, "\(arguments)")
        expectNoSecret(in: ending.output + ending.errors, "\(arguments)")
      }
    }

    // MARK: -

    private func expectNoSecret(
      in text: String, _ what: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
      for secret in Self.secrets where text.contains(secret) {
        Issue.record("\(what) holds \(secret): \(text)", sourceLocation: sourceLocation)
      }
    }

    /// Looks through every byte beside the files: the journal, its log, and whatever else is there.
    private func expectNoSecretKept(sourceLocation: SourceLocation = #_sourceLocation) throws {
      let names = TemporaryFolder.names(in: setting.output + "/.batchwise")
      #expect(names.contains("journal.sqlite"))
      for name in names {
        let bytes = try #require(setting[".batchwise/" + name])
        for secret in Self.secrets {
          #expect(
            Data(bytes).range(of: Data(secret.utf8)) == nil, "\(name) holds \(secret)",
            sourceLocation: sourceLocation)
        }
      }
    }
  }
}
