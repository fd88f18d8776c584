// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import BatchwiseDownload
  import TestSupport
  import Testing

  @Suite("On Linux, Foundation", .timeLimit(.minutes(1)))
  struct FatalTests {
    // In a process of its own, for it is one that ends. When it no longer does, the limit can go.

    @Test("ends the process when fields come behind the last chunk")
    func trailers() async {
      await #expect(processExitsWith: .failure) {
        try await fetch("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n")
      }
    }

    @Test("ends the process when a head breaks off before it tells a length")
    func cutInHead() async {
      await #expect(processExitsWith: .failure) { try await fetch("ETag: \"o") }
      await #expect(processExitsWith: .failure) {
        try await fetch("\r\nHTTP/1.1 200 OK\r\n", status: 103)
      }
    }

    @Test("lets the process live when nothing of this happens")
    func good() async {
      await #expect(processExitsWith: .success) {
        try await fetch("Content-Length: 2\r\nETag: \"o")
        try await fetch("Content-Length: 0\r\n\r\n", status: 103)
      }
    }
  }

  private func fetch(_ rest: String, status: Int = 200) async throws {
    let origin = try MisbehavingOrigin()
    origin.on("/", .raw("HTTP/1.1 \(status) OK\r\n\(rest)", closing: true))
    _ = try await Carrier.urlSession.make().fetch(origin.url())
  }
#endif
