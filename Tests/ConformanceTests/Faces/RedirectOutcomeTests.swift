// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every face on every transport: redirects", .timeLimit(.minutes(2)))
struct RedirectOutcomeTests {
  @Test("are followed to where they lead", arguments: Carrier.allCases, Face.all)
  func followed(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    let other = try MisbehavingOrigin()
    other.on("/far", .ok("there"))
    for (number, status) in [301, 302, 303, 307, 308].enumerated() {
      setting.origin.on(
        "/\(number)", .redirect(to: "/\(number + 1)", status: status, body: "moved"))
    }
    setting.origin.on("/5", .redirect(to: other.url("/far")))
    let outcome = try await setting.download(["/0"], by: face)
    #expect(outcome.map(\.bytes) == [Array("there".utf8)])
    #expect(setting.origin.record.requests.map(\.path) == (0...5).map { "/\($0)" })
    #expect(other.record.requests.map(\.path) == ["/far"])
  }

  @Test("that never end, or end nowhere, are failures", arguments: Carrier.allCases, Face.all)
  func refused(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier)
    setting.origin.on("/a", .redirect(to: "/b"))
    setting.origin.on("/b", .redirect(to: "/a"))
    for number in 0..<20 { setting.origin.on("/\(number)", .redirect(to: "/\(number + 1)")) }
    setting.origin.on("/file", .redirect(to: "file:///etc/hosts"))
    setting.origin.on("/nonsense", .redirect(to: "http://[::"))
    for path in ["/a", "/0", "/file", "/nonsense"] {
      let outcome = try await setting.download([path], by: face)
      #expect(outcome.first?.failure?.reason == .redirect, "\(path)")
    }
    #expect(setting.files.isEmpty)
  }

  @Test(
    "take what may be a secret to the request's own origin alone", arguments: Carrier.allCases,
    Face.all)
  func secrets(_ carrier: Carrier, _ face: Face) async throws {
    let setting = try FaceSetting(carrier) { options in
      options.headers = ["X-All: 1", "Accept-Language: de"].compactMap { HeaderField($0) }
    }
    let home = setting.origin
    let other = try MisbehavingOrigin()
    home.on("/start", .redirect(to: "/near"))
    home.on("/near", .redirect(to: other.url("/far")))
    other.on("/far", .redirect(to: home.url("/back")))
    home.on("/back", .ok("fine"))
    home.on("/plain", .ok("plain"))
    let key = try #require(HeaderField("X-Key: secret"))
    let outcomes = try await setting.download(
      [
        DownloadRequest("http://me:word@127.0.0.1:\(home.port)/start", headers: [key]),
        DownloadRequest(home.url("/plain")),
      ], by: face, limit: 1)
    #expect(outcomes.map(\.bytes) == ["fine", "plain"].map { Array($0.utf8) })
    for request in home.record.requests + other.record.requests {
      let isItsOwn = ["/start", "/near"].contains(request.path)
      let isHome = isItsOwn || request.path == "/plain"
      #expect(request.field("Authorization") == (isItsOwn ? "Basic bWU6d29yZA==" : nil))
      #expect(request.field("X-Key") == (isItsOwn ? "secret" : nil))
      #expect(request.field("X-All") == (isHome ? "1" : nil))
      #expect(request.field("Accept-Language") == "de")
      #expect(request.field("User-Agent") == "tester/1")
      #expect(!request.target.contains("word"))
    }
    #expect(home.record.requests.map(\.path) == ["/start", "/near", "/back", "/plain"])
    #expect(other.record.requests.map(\.path) == ["/far"])
  }

  @Test("never lead from https to http", arguments: Carrier.allCases, Face.all)
  func downgrade(_ carrier: Carrier, _ face: Face) async throws {
    let folder = try TemporaryFolder()
    let certificate = "\(folder.path)/certificate.pem"
    try TestCertificate.write(to: certificate)
    let plain = try MisbehavingOrigin()
    plain.onEverythingElse(.ok("plain"))
    let secure = try MisbehavingOrigin(security: .tls)
    secure.on("/start", .redirect(to: plain.url("/")))
    secure.on("/good", .ok("good"))
    let setting = try FaceSetting(carrier, origin: secure, trusting: certificate)
    let outcome = try await setting.download(["/start"], by: face)
    #expect(plain.record.requests.isEmpty)
    try await checking(.ownCertificates, of: carrier) {
      #expect(outcome.first?.failure?.reason == .redirect)
      let good = try await setting.download(["/good"], by: face)
      #expect(good.first?.bytes == Array("good".utf8))
    }
  }
}
