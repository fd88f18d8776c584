// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import Testing

  @testable import Batchwise

  @Suite("An alarm's memory", .timeLimit(.minutes(2)))
  struct AlarmMemoryTests {
    @Test("keeps nothing of a hundred thousand hours that were cancelled")
    func memory() async {
      await #expect(processExitsWith: .success) {
        @Sendable func cancelHours(_ count: Int) async {
          let alarm = Alarm.shared(for: ContinuousClock())
          for _ in 0..<count {
            alarm.cancel(alarm.set(at: alarm.now + .seconds(3_600)) {})
            let sleeper = Task { try await alarm.sleep(until: alarm.now + .seconds(3_600)) }
            sleeper.cancel()
            _ = await sleeper.result
          }
        }
        await cancelHours(2_000)
        let before = residentMemory()
        await cancelHours(100_000)
        let growth = residentMemory() - before
        precondition(growth < 4_000_000, "grew by \(growth) bytes")
        precondition(Alarm.shared(for: ContinuousClock()).count == 0)
      }
    }

    @Test("keeps nothing of a hundred thousand timeouts of an hour, with work that ends at once")
    func timeouts() async {
      await #expect(processExitsWith: .success) {
        @Sendable func runInTime(_ count: Int) async throws {
          for number in 0..<count {
            let result = try await withTimeout(.seconds(3_600)) { number }
            precondition(result == number)
          }
        }
        try await runInTime(2_000)
        let before = residentMemory()
        try await runInTime(100_000)
        let growth = residentMemory() - before
        precondition(growth < 4_000_000, "grew by \(growth) bytes")
        precondition(Alarm.shared(for: ContinuousClock()).count == 0)
      }
    }
  }
#endif
