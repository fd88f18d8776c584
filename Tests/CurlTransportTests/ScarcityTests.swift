// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import BatchwiseDownload
  import CurlTransport
  import Foundation
  import TestSupport
  import Testing

  @Suite("A process with no more descriptors", .timeLimit(.minutes(1)))
  struct ScarcityTests {
    // In processes of their own, for the limit is one of the whole process.

    @Test("says so of each transfer that wants one, and carries the others")
    func sockets() async {
      await #expect(processExitsWith: .success) {
        for driver in CurlTransport.Driver.allCases {
          // In another process, which has descriptors of its own.
          let server = try Nginx()
          try server.put("body".utf8, at: "item")
          let transport = try CurlTransport(driver: driver)
          var failed = 0
          try await withDescriptors(60) {
            let recorders = (0..<100).map { _ in Recorder() }
            // Most sockets are wanted before the first answer is read.
            transport.start(
              recorders.map { Transfer(url: server.url(of: "item"), handler: $0) })
            for recorder in recorders {
              let end = await recorder.answer.end
              if end == .complete { continue }
              failed += 1
              precondition(end?.reason == .connect && end?.remedy == .fewerAtOnce, "\(end as Any)")
            }
          }
          precondition(1...40 ~= failed, "\(failed)")
          // And when there are some again, it goes on.
          let last = await transport.fetch(server.url(of: "item"))
          precondition(last.end == .complete)
        }
      }
    }

    @Test("takes no lookup's failure for an unknown host")
    func lookups() async {
      await #expect(processExitsWith: .success) {
        for driver in CurlTransport.Driver.allCases {
          let transport = try CurlTransport(driver: driver)
          for count in [0, 1, 2, 3] {
            try await withDescriptors(count) {
              let end = await transport.fetch("http://\(nowhere(count))/").end
              precondition(end?.reason == .connect && end?.remedy == .fewerAtOnce, "\(end as Any)")
            }
          }
          try await withDescriptors(20) {
            let end = await transport.fetch("http://\(nowhere())/").end
            precondition(end?.reason == .dns && end?.remedy == .anotherAttempt, "\(end as Any)")
          }
        }
      }
    }

    @Test("cannot be given a transport")
    func transport() async {
      await #expect(processExitsWith: .success) {
        for driver in CurlTransport.Driver.allCases {
          try await withDescriptors(0) {
            do throws(CurlTransportError) {
              _ = try CurlTransport(driver: driver)
              preconditionFailure("there was a descriptor")
            } catch {
              precondition(!error.isBadOption)
            }
          }
        }
      }
    }
  }

  /// Runs a body while so many more descriptors can be had and no more.
  private func withDescriptors(_ count: Int, _ body: () async throws -> Void) async throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit
    // All below the lowest free one are taken; what lies above it and is taken is closed in this test.
    let lowest = dup(0)
    close(lowest)
    var taken: [Int32] = []
    limit.rlim_cur = rlim_t(lowest) + 300
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
    for descriptor in taken.suffix(count) { close(descriptor) }
    defer {
      for descriptor in taken.dropLast(count) { close(descriptor) }
      var before = before
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    }
    try await body()
  }
#endif
