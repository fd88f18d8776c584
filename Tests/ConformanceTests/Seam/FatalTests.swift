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
        let origin = try MisbehavingOrigin()
        origin.on(
          "/",
          .raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n")
        )
        _ = try await Carrier.urlSession.make().fetch(origin.url())
      }
    }
  }
#endif
