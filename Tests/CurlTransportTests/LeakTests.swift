// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import BatchwiseDownload
  import CurlTransport
  import Foundation
  import TestSupport
  import Testing

  @Suite("A program that lets go of its transport", .timeLimit(.minutes(2)))
  struct LeakTests {
    @Test("has lost no socket after ten thousand transfers")
    func tenThousand() async {
      // In a process of its own, where nobody else opens sockets. A loop that lived on would keep
      // one as well: the dead end of its connections, or libcurl's own pair to be woken by.
      await #expect(processExitsWith: .success) {
        for driver in CurlTransport.Driver.allCases {
          // Once before counting, so that what is set up once in a process is there.
          try await fetch(count: 10, with: driver)
          let before = openSockets()
          try await fetch(count: 10_000, with: driver)
          precondition(openSockets() == before)
        }
      }
    }
  }

  private func fetch(count: Int, with driver: CurlTransport.Driver) async throws {
    let origin = try MisbehavingOrigin()
    let transport = try CurlTransport(driver: driver)
    defer { withExtendedLifetime((origin, transport)) {} }
    origin.onEverythingElse(.dropsAfter(50, .echoingPath))
    origin.on("/long", .status(404, String(repeating: "n", count: 200_000)))
    origin.on("/cut", .resets(.inBody))
    let urls = (0..<count).map {
      origin.url($0 % 100 == 0 ? "/long" : $0 % 100 == 1 ? "/cut" : "/\($0)")
    }
    let result = await Batch(urls, transport: transport).run(limit: 16)
    precondition(result.ends.count { $0 != .complete } <= count / 100 + 1)
  }

  private func openSockets() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
      return target?.hasPrefix("socket:") == true
    }
  }
#endif
