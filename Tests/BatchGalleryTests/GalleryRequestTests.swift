// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BatchGallery
@testable import BatchwiseDownload

@Suite("What a page may ask for", .timeLimit(.minutes(1)))
struct GalleryRequestTests {
  private let token = "5ecret"

  private func understood(
    _ method: String, _ path: String, host: String? = "127.0.0.1:4000", origin: String? = nil,
    queries: [String: String] = [:], body: String = ""
  ) -> Result<GalleryRequest, GalleryRefusal> {
    Result { () throws(GalleryRefusal) in
      try GalleryRequest(
        PageRequest(
          method: method, path: path, host: host, origin: origin, queries: queries,
          body: Array(body.utf8)), token: token, port: 4000)
    }
  }

  private func status(of result: Result<GalleryRequest, GalleryRefusal>) -> Int? {
    if case .failure(let refusal) = result { refusal.status } else { nil }
  }

  private let own = "http://127.0.0.1:4000"

  @Test("The page, its events, its rows and its files are there for whoever knows the token")
  func reading() throws {
    #expect(try understood("GET", "/5ecret/").get() == .page)
    #expect(try understood("GET", "/5ecret/", host: "localhost:4000").get() == .page)
    #expect(try understood("HEAD", "/5ecret/").get() == .page)
    #expect(try understood("GET", "/5ecret/events").get() == .events)
    #expect(try understood("GET", "/5ecret/files/7").get() == .file(row: 7))
    #expect(
      try understood("GET", "/5ecret/rows").get()
        == .rows(GalleryRequest.RowWindow(kinds: nil, start: 0, count: 100)))
    let queries = ["kinds": "failed,in-flight", "from": "7", "count": "100000"]
    #expect(
      try understood("GET", "/5ecret/rows", queries: queries).get()
        == .rows(GalleryRequest.RowWindow(kinds: [.failed, .inFlight], start: 7, count: 500)))
  }

  @Test("The page itself may change things")
  func changing() throws {
    func post(_ path: String, _ body: String = "") throws -> GalleryRequest {
      try understood("POST", "/5ecret/\(path)", origin: own, body: body).get()
    }
    #expect(try post("start") == .start)
    #expect(try post("pause") == .pause)
    #expect(try post("resume") == .resume)
    #expect(try post("cancel") == .cancel)
    #expect(try post("retry") == .retryFailed)
    #expect(try post("retry/3") == .retry(row: 3))
    #expect(try post("limit", "12") == .limit(12))
    #expect(try post("limit", "0") == .limit(0))
    #expect(try post("add", "http://h/") == .add(Array("http://h/".utf8)))
  }

  @Test(
    "Another site's page changes nothing, whatever it knows",
    arguments: [
      nil, "null", "http://evil.example", "https://127.0.0.1:4000", "http://127.0.0.1",
      "http://127.0.0.1:4001", "http://localhost:4000", "http://127.0.0.1:4000.evil.example",
    ])
  func otherSites(origin: String?) {
    for path in ["start", "pause", "resume", "cancel", "retry", "retry/1", "limit", "add"] {
      let result = understood("POST", "/5ecret/\(path)", origin: origin, body: "1")
      #expect(status(of: result) == 403, "\(path)")
    }
  }

  @Test(
    "A name that somebody gives this machine's address is not answered",
    arguments: [
      nil, "", "evil.example", "evil.example:4000", "127.0.0.1", "127.0.0.1:4001", "127.0.0.2:4000",
      "localhost:4000:4000", "127.0.0.1:4000 ",
    ])
  func otherHosts(host: String?) {
    #expect(status(of: understood("GET", "/5ecret/", host: host)) == 421)
    let origin = host.map { "http://\($0)" }
    #expect(status(of: understood("POST", "/5ecret/start", host: host, origin: origin)) == 421)
  }

  @Test(
    "Without the token nothing is there",
    arguments: [
      "/", "", "/favicon.ico", "/5ecre/", "/5ecret1/", "//5ecret/", "/5ecres/", "5ecret/",
      "/%35ecret/",
      "/x/5ecret/", "/5ECRET/",
    ])
  func token(path: String) {
    #expect(status(of: understood("GET", path)) == 404)
    #expect(status(of: understood("POST", path + "start", origin: own)) == 404)
  }

  @Test("What makes no sense is refused, and changes nothing")
  func nonsense() {
    for path in ["/5ecret", "/5ecret/x", "/5ecret/files", "/5ecret/files/", "/5ecret/rows/1"] {
      let result = understood("GET", path)
      #expect(status(of: result) == 404 || status(of: result) == 400, "\(path)")
    }
    #expect(status(of: understood("GET", "/5ecret/files/../1")) == 404)
    #expect(status(of: understood("GET", "/5ecret/files/-1")) == 400)
    #expect(status(of: understood("GET", "/5ecret/rows", queries: ["from": "x"])) == 400)
    #expect(status(of: understood("GET", "/5ecret/rows", queries: ["kinds": "odd"])) == 400)
    #expect(status(of: understood("GET", "/5ecret/start")) == 404)
    #expect(status(of: understood("PUT", "/5ecret/start", origin: own)) == 405)
    for limit in ["", "-1", "1.5", "many", "1001", "99999999999999999999"] {
      let result = understood("POST", "/5ecret/limit", origin: own, body: limit)
      #expect(status(of: result) == 400, "\(limit)")
    }
  }
}
