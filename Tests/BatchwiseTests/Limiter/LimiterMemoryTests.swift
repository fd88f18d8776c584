// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import Testing

  @testable import Batchwise

  @Suite("A limiter's memory", .timeLimit(.minutes(2)))
  struct LimiterMemoryTests {
    @Test("comes back when 200,000 who wait are cancelled")
    func memory() async {
      await #expect(processExitsWith: .success) {
        let limiter = ConcurrencyLimiter(limit: 1)
        let permit = try await limiter.acquire()
        @Sendable func waitAndCancel(_ count: Int) async {
          await withDiscardingTaskGroup { group in
            for _ in 0..<count { group.addTask { try? await limiter.acquire().release() } }
            await limiter.waitUntilWaiting(count)
            group.cancelAll()
          }
        }
        // The first pays for what the runtime keeps.
        await waitAndCancel(200_000)
        let before = residentMemory()
        await waitAndCancel(200_000)
        let growth = residentMemory() - before
        precondition(growth < 16_000_000, "grew by \(growth) bytes")
        precondition(limiter.status == .init(limit: 1, inFlight: 1, waiting: 0))
        permit.release()
        precondition(limiter.isQuiet)
      }
    }
  }
#endif
