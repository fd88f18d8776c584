// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("A request", .timeLimit(.minutes(1)))
struct RequestTests {
  let origin: MisbehavingOrigin

  init() throws {
    origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok("fine"))
  }

  @Test("says what it must and nothing more", arguments: CurlTransport.Driver.allCases)
  func head(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(.init(userAgent: "tester/1"), driver: driver)
    _ = await transport.fetch(origin.url("/a?b=c"))
    #expect(
      origin.record.requests.map(\.head) == [
        "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nUser-Agent: tester/1\r\n"
          + "Accept: */*\r\n\r\n"
      ])
  }

  @Test("asks for the path as it is written", arguments: CurlTransport.Driver.allCases)
  func path(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    let paths = ["/a/../b", "/./c", "/%2e%2e/d", "/e//f", "/%zz", "/g#fragment"]
    for path in paths { _ = await transport.fetch(origin.url(path)) }
    #expect(
      origin.record.requests.map(\.target)
        == ["/a/../b", "/./c", "/%2e%2e/d", "/e//f", "/%zz", "/g"])
  }

  @Test("carries the address's name and password", arguments: CurlTransport.Driver.allCases)
  func credentials(_ driver: CurlTransport.Driver) async throws {
    let transport = try CurlTransport(driver: driver)
    _ = await transport.fetch("http://me:open%20sesame@127.0.0.1:\(origin.port)/")
    _ = await transport.fetch(origin.url())
    let heads = origin.record.requests.map(\.head)
    #expect(heads.first?.contains("Authorization: Basic bWU6b3BlbiBzZXNhbWU=\r\n") == true)
    #expect(heads.last?.contains("Authorization") == false)
  }

  @Test("goes to the proxy of its scheme", arguments: CurlTransport.Driver.allCases)
  func proxy(_ driver: CurlTransport.Driver) async throws {
    let proxies = ProxySettings(
      http: "http://127.0.0.1:\(origin.port)", exceptions: "\(nowhere()),127.0.0.1")
    let transport = try CurlTransport(driver: driver, proxies: proxies)
    let through = await transport.fetch("http://far.invalid/x")
    #expect(through.body == "fine")
    #expect(origin.record.requests.last?.target == "http://far.invalid/x")
    #expect(await transport.fetch("http://\(nowhere())/").end?.reason == .dns)
    #expect(await transport.fetch("https://\(nowhere(1))/").end?.reason == .dns)
    _ = await transport.fetch(origin.url("/near"))
    #expect(origin.record.requests.last?.target == "/near")
  }

  @Test("for a host in Unicode asks for its ASCII name", arguments: CurlTransport.Driver.allCases)
  func unicodeHost(_ driver: CurlTransport.Driver) async throws {
    let proxies = ProxySettings(http: "http://127.0.0.1:\(origin.port)")
    let transport = try CurlTransport(driver: driver, proxies: proxies)
    _ = await transport.fetch("http://bücher.invalid/%C3%BC")
    #expect(origin.record.requests.last?.target == "http://xn--bcher-kva.invalid/%C3%BC")
  }

  @Test("looks for no proxy in the environment but the one it was given")
  func environment() {
    let variables = [
      "http_proxy": "http://a:1", "HTTP_PROXY": "http://never:1", "HTTPS_PROXY": "http://b:2",
      "ALL_PROXY": "http://c:3", "NO_PROXY": "local,.example",
    ]
    #expect(
      ProxySettings { variables[$0] }
        == ProxySettings(http: "http://a:1", https: "http://b:2", exceptions: "local,.example"))
    #expect(
      ProxySettings { ["ALL_PROXY": "http://c:3", "https_proxy": ""][$0] }
        == ProxySettings(http: "http://c:3", https: "http://c:3"))
    #expect(ProxySettings { ["HTTP_PROXY": "http://never:1"][$0] } == ProxySettings())
  }
}
