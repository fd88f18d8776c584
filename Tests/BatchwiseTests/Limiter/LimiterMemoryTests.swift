// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import Testing

  @testable import Batchwise

  @Suite("A limiter's memory", .timeLimit(.minutes(2)))
  struct LimiterMemoryTests {
    /// Of the state alone: what the runtime keeps of 200,000 tasks is not ours.
    @Test("comes back when 200,000 who wait are cancelled")
    func memory() async {
      await #expect(processExitsWith: .success) {
        var state = LimiterState<Int>(AdmissionState(limit: 0), nesting: .shares)
        /// What it needs while all wait, and what is left when all are cancelled.
        func waitAndCancel(_ count: Int) -> (needed: Int, left: Int) {
          let before = residentMemory()
          var tickets: [SlabID] = []
          tickets.reserveCapacity(count)
          for number in 0..<count {
            let answer = state.enterOrWait(AdmissionRequest(), inside: { [] }) { .medium }.answer
            guard case .waits(let ticket) = answer else { preconditionFailure("no place") }
            _ = state.suspend(ticket, number)
            tickets.append(ticket)
          }
          let needed = residentMemory() - before
          for ticket in tickets {
            precondition(state.cancel(ticket).count == 1)
          }
          return (needed, residentMemory() - before)
        }
        _ = waitAndCancel(100)
        let (needed, left) = waitAndCancel(200_000)
        precondition(needed > 20_000_000, "so few as \(needed) bytes show nothing")
        precondition(left < needed / 4, "\(left) of \(needed) bytes are left")
        precondition(state.isQuiet)
      }
    }

    @Test("does not grow with the keys that were ever used")
    func keys() async {
      await #expect(processExitsWith: .success) {
        let limiter = KeyedLimiter<Int>(limit: 1, limitPerKey: 1)
        func use(_ keys: Range<Int>) {
          for key in keys { limiter.tryAcquire(for: key)?.release() }
        }
        use(0..<10_000)
        let before = residentMemory()
        use(10_000..<410_000)
        let growth = residentMemory() - before
        precondition(growth < 4_000_000, "grew by \(growth) bytes")
        precondition(limiter.isQuiet)
      }
    }
  }
#endif
