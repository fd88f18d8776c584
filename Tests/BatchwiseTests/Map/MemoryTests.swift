// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import Batchwise
  import Testing

  /// In a process of its own each, so that no other test's memory is measured.
  @Suite("Memory stays flat", .timeLimit(.minutes(2)))
  struct MemoryTests {
    @Test("for a for-each over a million elements, whatever the source")
    func forEach() async {
      await #expect(processExitsWith: .success) {
        await (0..<10_000).concurrentForEach(limit: 8) { _ in }
        await AsyncNumbers(count: 10_000).concurrentForEach(limit: 8) { _ in }
        let before = residentMemory()
        await (0..<1_000_000).concurrentForEach(limit: 8) { _ in }
        await LazyNumbers(count: 300_000).concurrentForEach(limit: 8) { _ in }
        await AsyncNumbers(count: 300_000).concurrentForEach(limit: 8) { _ in }
        let growth = residentMemory() - before
        precondition(growth < 4_000_000, "grew by \(growth) bytes")
      }
    }

    @Test("for streamed results of a kilobyte each, in either order")
    func results() async {
      await #expect(processExitsWith: .success) {
        func read(_ count: Int, _ order: ConcurrentResultsOrder) async {
          let results = (0..<count).concurrentResults(limit: 8, order: order) { element in
            [UInt8](repeating: UInt8(truncatingIfNeeded: element), count: 1_024)
          }
          for await _ in results {}
        }
        await read(1_000, .source)
        await read(1_000, .completion)
        let before = residentMemory()
        await read(50_000, .source)
        await read(50_000, .completion)
        let growth = residentMemory() - before
        precondition(growth < 4_000_000, "grew by \(growth) bytes")
      }
    }
  }
#endif
