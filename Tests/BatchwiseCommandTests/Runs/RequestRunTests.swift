// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension CommandRuns {
  @Suite("How a run asks")
  struct RequestRunTests {
    private let setting: RunSetting
    private let proxy: MisbehavingOrigin
    private var origin: MisbehavingOrigin { setting.origin }

    init() throws {
      setting = try RunSetting()
      proxy = try MisbehavingOrigin()
      origin.onEverythingElse(.ok("direct"))
      proxy.onEverythingElse(.ok("by proxy"))
    }

    @Test("Everything goes through the proxy that is named, and not through the environment's")
    func proxied() async throws {
      let other = try MisbehavingOrigin()
      let list = [origin.url("/near"), "http://far.invalid/far"]
      let ending = try await setting.fetch(
        ["--proxy", "http://127.0.0.1:\(proxy.port)"], list: list,
        environment: ["http_proxy": other.url(), "no_proxy": "127.0.0.1"])
      #expect(ending.status == 0)
      #expect(Set(proxy.record.requests.map(\.target)) == Set(list))
      #expect(proxy.record.requests.count == 2)
      #expect(origin.record.connections == 0 && other.record.connections == 0)
      setting.expectOnly(["near": Array("by proxy".utf8), "far": Array("by proxy".utf8)])
    }

    @Test("The environment's proxy serves where none is named, and an empty name means none")
    func environment() async throws {
      let environment = ["http_proxy": proxy.url(), "no_proxy": ""]
      let ending = try await setting.fetch([origin.url("/a")], environment: environment)
      #expect(ending.status == 0)
      #expect(proxy.record.requests.map(\.target) == [origin.url("/a")])
      let direct = try await setting.fetch(
        ["--proxy", "", origin.url("/b")], environment: environment)
      #expect(direct.status == 0)
      #expect(proxy.record.requests.count == 1)
      setting.expectOnly(["a": Array("by proxy".utf8), "b": Array("direct".utf8)])
    }

    @Test("HTTP/2 is spoken where it is asked for, and nowhere else")
    func version() async throws {
      let server = try Nginx(
        isSecured: true, directives: "location / { return 200 $server_protocol; }")
      for (arguments, protocolName) in [
        ([], "HTTP/1.1"), (["--http", "2"], "HTTP/2.0"), (["--http", "1.1"], "HTTP/1.1"),
      ] {
        let list = (1...20).map { server.url(of: "\($0)") }
        let ending = try await setting.fetch(["--insecure", "--fresh"] + arguments, list: list)
        #expect(ending.status == 0, "\(arguments)")
        setting.expectOnly(
          Dictionary(
            uniqueKeysWithValues: (1...20).map { ("\($0)", Array(protocolName.utf8)) }),
          "\(arguments)")
        // nginx tells the length, which alone makes the end of an answer by HTTP/2 sure.
        #expect(try ending.events.of("done").allSatisfy { $0.proof == "length" })
      }
    }

    @Test("A server is trusted that a given certificate vouches for, or nobody need vouch for")
    func trust() async throws {
      let server = try Nginx(isSecured: true)
      try server.put("hello".utf8, at: "a")
      let certificates = setting.folder.path + "/certificates.pem"
      try TestCertificate.certificate.write(
        toFile: certificates, atomically: false, encoding: .utf8)
      let arguments = ["--no-journal", "--retries", "0", server.url(of: "a")]
      let refused = try await setting.fetch(arguments)
      #expect(refused.status == 1)
      #expect(try refused.events.reasons.keys.sorted() == ["tls"])
      #expect(setting.files == [])
      let vouched = try await setting.fetch(["--cacert", certificates] + arguments)
      #expect(vouched.status == 0)
      #expect(try vouched.events.of("done").count == 1)
      let careless = try await setting.fetch(["--insecure"] + arguments)
      #expect(careless.status == 0)
    }
  }
}
