// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import BatchwiseTesting
import CurlTransport
import TestSupport
import Testing

@Suite("A transport's options", .timeLimit(.minutes(1)))
struct OptionsTests {
  private func complaint(_ options: CurlTransport.Options) -> CurlTransportError? {
    do throws(CurlTransportError) {
      _ = try CurlTransport(options: options)
      return nil
    } catch {
      return error
    }
  }

  @Test("that cannot work are refused, and named")
  func refused() throws {
    let folder = try TemporaryFolder()
    try folder.write(Array("no certificate".utf8), to: "text")
    for (options, words) in [
      (.init(bandwidth: 0), "0"), (.init(bandwidth: -5), "-5"),
      (.init(proxy: "http://"), "http://"), (.init(proxy: "http://[::1"), "[::1"),
      (.init(proxy: "ftp://host:1"), "ftp://host:1"),
      (.init(proxy: "http://host:99999"), "host:99999"),
      (.init(proxy: "http://a b/"), "a b"), (.init(proxy: "http://h\0st"), "h\0st"),
      (.init(caCertificates: "\(folder.path)/none"), "/none cannot be read: No such file"),
      (.init(caCertificates: folder.path), "cannot be read: Is a directory"),
      (.init(caCertificates: "\(folder.path)/text"), "no certificates in \(folder.path)/text"),
      (.init(userAgent: "a\r\nEvil: 1"), "user agent"),
    ] as [(CurlTransport.Options, String)] {
      let error = try #require(complaint(options))
      #expect(error.isBadOption)
      #expect(error.description.contains(words), "\(error)")
      #expect(!error.description.hasSuffix("."))
    }
  }

  @Test("are refused without a word of what is secret in them")
  func secrets() throws {
    for proxy in ["ftp://me:secret@host", "http://me:secret@[::1", "gopher://secret@h:1"] {
      let error = try #require(complaint(.init(proxy: proxy)))
      #expect(!error.description.contains("secret"))
      #expect(!error.description.contains("me:"))
    }
  }

  @Test("may name every kind of proxy")
  func kinds() {
    for proxy in [
      "", "host", "host:3128", "http://host", "HTTPS://u:p@host:1", "socks5h://[::1]:1080",
      "socks4a://host", "socks://host",
    ] {
      #expect(complaint(.init(proxy: proxy)) == nil)
    }
  }

  @Test("send everything through one proxy", arguments: CurlTransport.Driver.allCases)
  func proxy(_ driver: CurlTransport.Driver) async throws {
    let proxy = try MisbehavingOrigin()
    proxy.onEverythingElse(.ok("by proxy"))
    let origin = try MisbehavingOrigin()
    origin.onEverythingElse(.ok("direct"))
    // What the environment says counts no more, its exceptions neither.
    let environment = ProxySettings(http: "http://127.0.0.1:1", exceptions: "127.0.0.1")
    let options = CurlTransport.Options(proxy: "me:word@127.0.0.1:\(proxy.port)")
    let transport = try CurlTransport(options, driver: driver, proxies: environment)
    #expect(await transport.fetch(origin.url("/x")).body == "by proxy")
    #expect(await transport.fetch("http://far.invalid/y").body == "by proxy")
    let heads = proxy.record.requests.map(\.head)
    #expect(heads.allSatisfy { $0.contains("Proxy-Authorization: Basic bWU6d29yZA==\r\n") })
    let none = try CurlTransport(.init(proxy: ""), driver: driver, proxies: environment)
    #expect(await none.fetch(origin.url("/x")).body == "direct")
  }

  @Test("tell of a proxy that is not there, and not of its password")
  func deadProxy() async throws {
    for proxy in ["127.0.0.1:1", "http://me:word@127.0.0.1:1"] {
      let transport = try CurlTransport(options: .init(proxy: proxy))
      let end = await transport.fetch("http://far.invalid/").end
      #expect(end?.reason == .connect)
      #expect(end?.message?.contains("the proxy 127.0.0.1:1:") == true)
      #expect(end?.message?.contains("word") == false)
    }
  }

  @Test(
    "tell what a proxy said that does not connect", arguments: CurlTransport.Driver.allCases,
    [(403, .none), (407, .none), (502, .anotherAttempt)] as [(Int, DownloadFailure.Remedy)])
  func refusingProxy(
    _ driver: CurlTransport.Driver, _ answer: (Int, DownloadFailure.Remedy)
  ) async throws {
    let proxy = try MisbehavingOrigin()
    proxy.onEverythingElse(.status(answer.0))
    let options = CurlTransport.Options(proxy: "http://127.0.0.1:\(proxy.port)")
    let end = try await CurlTransport(options, driver: driver).fetch("https://far.invalid/").end
    #expect(end?.reason == .connect)
    #expect(end?.remedy == answer.1)
  }
}
