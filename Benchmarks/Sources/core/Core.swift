// SPDX-License-Identifier: Apache-2.0

import Batchwise

@main
struct Core {
  static let count = 1_000_000

  static func main() async throws {
    let numbers = Array(0..<count)
    let clock = ContinuousClock()
    func time(_ name: String, _ body: () async -> Void) async {
      if CommandLine.arguments.count > 1, !CommandLine.arguments.contains(name) { return }
      for _ in 0..<3 {
      let d = await clock.measure { await body() }
      print(name, d / count)
      }
    }
    await time("window") { _ = await slidingWindow(numbers, limit: 8) { $0 &+ 1 } }
    await time("array") { _ = await numbers.concurrentMap(limit: 8) { $0 &+ 1 } }
    await time("lazy") { _ = await numbers.lazy.map { $0 ^ 1 }.concurrentMap(limit: 8) { $0 &+ 1 } }
    await time("range") { _ = await (0..<count).concurrentMap(limit: 8) { $0 &+ 1 } }
    await time("foreach") { await (0..<count).concurrentForEach(limit: 8) { _ in } }
    await time("foreach 100") { await (0..<count).concurrentForEach(limit: 100) { _ in } }
    await time("foreach max") { await (0..<count).concurrentForEach(limit: .max) { _ in } }
    await time("array max") { await numbers.concurrentForEach(limit: .max) { _ in } }
    await time("async") { _ = await AsyncNumbers().concurrentMap(limit: 8) { $0 &+ 1 } }
    await time("results") { for await _ in (0..<count).concurrentResults(limit: 8, { $0 &+ 1 }) {} }
  }
}
struct AsyncNumbers: AsyncSequence, Sendable {
  typealias Element = Int
  struct Iterator: AsyncIteratorProtocol { var n = 0
    mutating func next(isolation: isolated (any Actor)?) async -> Int? { if n == Core.count { return nil }; n += 1; return n }
    mutating func next() async -> Int? { await next(isolation: nil) }
  }
  func makeAsyncIterator() -> Iterator { Iterator() }
}

/// The sliding window that is written by hand: a child task for every element.
func slidingWindow<Element: Sendable, Output: Sendable>(
  _ elements: [Element], limit: Int, _ transform: @escaping @Sendable (Element) async -> Output
) async -> [Output] {
  await withTaskGroup(of: (Int, Output).self) { group in
    var results = [Output?](repeating: nil, count: elements.count)
    var started = 0
    func start() {
      let index = started
      started += 1
      group.addTask { (index, await transform(elements[index])) }
    }
    while started < min(limit, elements.count) { start() }
    while let (index, output) = await group.next() {
      results[index] = output
      if started < elements.count { start() }
    }
    return results.compactMap { $0 }
  }
}
