// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import TestSupport
import Testing

@Suite("Of every transport: a redirect", .timeLimit(.minutes(1)))
struct RedirectTests {
  let origin: MisbehavingOrigin

  init() throws { origin = try MisbehavingOrigin() }

  private func fetch(
    _ behaviour: MisbehavingOrigin.Behaviour, by carrier: Carrier, recorder: Recorder = Recorder()
  ) async throws -> Recorder.Answer {
    origin.on("/deep/item", behaviour)
    return try await carrier.make().fetch(
      origin.url("/deep/item?a=b"), timeouts: TransferTimeouts(idle: .seconds(1)),
      recorder: recorder)
  }

  @Test(
    "is not followed, and told as an absolute address", arguments: Carrier.allCases,
    [
      ("/other", "/other"), ("other?q=1", "/deep/other?q=1"), ("../up", "/up"),
      ("a b", "/deep/a%20b"), ("?c=d", "/deep/item?c=d"), ("/%41%2Fx", "/%41%2Fx"),
      ("//127.0.0.1:1/x", nil), ("http://example.invalid/x", nil), ("ftp://example.invalid/x", nil),
      ("https://example.invalid:8443/a?b=%20", nil),
    ])
  func target(_ carrier: Carrier, _ targets: (String, String?)) async throws {
    let answer = try await fetch(.redirect(to: targets.0, body: "moved"), by: carrier)
    let absolute = targets.0.hasPrefix("//") ? "http:\(targets.0)" : targets.0
    #expect(answer.head?.status == 302)
    #expect(answer.end == .redirect(to: targets.1.map { origin.url($0) } ?? absolute))
    #expect(origin.record.requests.count == 1, "the transport must not follow")
  }

  @Test("is one by each of its statuses", arguments: Carrier.allCases, [301, 302, 303, 307, 308])
  func status(_ carrier: Carrier, _ status: Int) async throws {
    let answer = try await fetch(.redirect(to: "/next", status: status), by: carrier)
    #expect(answer.head?.status == status)
    #expect(answer.end == .redirect(to: origin.url("/next")))
  }

  @Test("that leads nowhere is complete", arguments: Carrier.allCases)
  func nowhere(_ carrier: Carrier) async throws {
    for body in ["", "moved"] {
      let answer = try await fetch(.redirect(to: nil, body: body), by: carrier)
      #expect(answer.head?.status == 302)
      #expect(answer.end == .complete)
    }
  }

  @Test("has its body told, if that is wanted", arguments: Carrier.allCases)
  func body(_ carrier: Carrier) async throws {
    for target in ["/next", nil] {
      let answer = try await fetch(.redirect(to: target, body: "moved"), by: carrier)
      try await checking(.bodyOfRedirect, of: carrier) { #expect(answer.body == "moved") }
    }
  }

  @Test("to nonsense fails", arguments: Carrier.allCases)
  func nonsense(_ carrier: Carrier) async throws {
    #expect(try await fetch(.redirect(to: "http://[::"), by: carrier).end?.reason == .redirect)
  }

  @Test(
    "to whatever a server may write ends well", arguments: Carrier.allCases,
    [
      "//", "///", "//[::1", "//a b/", "//h:99999999/", "//u@h/", "?%zz", "#%zz", "/%zz#%",
      "?a[]=|",
      "#a%20b|", ":", ":80", "a:b", "mailto:x@y", "http:", "http:///x", "http://", "https:x",
      "/\u{fc}?\u{fc}#\u{fc}", "\\\\h\\x", "javascript:alert(1)", "../../../..", ".", "",
      "//h:80:80/", "/a:b//c", "%", "http://h:-1/", "//%41/", "?", "#", "{}<>\"^`",
      "/\u{1}\u{7f}",
    ])
  func hostile(_ carrier: Carrier, _ target: String) async throws {
    let end = try await fetch(.redirect(to: target), by: carrier).end
    switch end {
    case .redirect, .complete: break
    default: #expect(end?.reason == .redirect || end?.reason == .protocol)
    }
  }

  @Test("whose body is discarded is told", arguments: Carrier.allCases)
  func discarded(_ carrier: Carrier) async throws {
    for size in [0, 10, 200_000] {
      let answer = try await fetch(
        .redirect(to: "/next", body: String(repeating: "b", count: size)), by: carrier,
        recorder: Recorder(decision: .discard))
      #expect(answer.end == .redirect(to: origin.url("/next")))
    }
  }

  @Test("is told before the end of its own body", arguments: Carrier.allCases)
  func endless(_ carrier: Carrier) async throws {
    try await checking(.redirectBeforeItsBody, of: carrier) {
      let gate = MisbehavingOrigin.Gate()
      let answer = try await fetch(
        MisbehavingOrigin.Behaviour { exchange in
          exchange.send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 1000000\r\n\r\n")
          exchange.wait(at: gate)
        }, by: carrier, recorder: Recorder(decision: .discard))
      #expect(answer.end == .redirect(to: origin.url("/next")))
    }
  }
}
