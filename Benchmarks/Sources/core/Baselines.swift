// SPDX-License-Identifier: Apache-2.0

/// The sliding window as it is written by hand: a child task for every element.
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

/// The same into a stream, as it is often written: in completion order, and without backpressure.
func slidingStream<Element: Sendable, Output: Sendable>(
  _ elements: [Element], limit: Int, _ transform: @escaping @Sendable (Element) async -> Output
) -> AsyncStream<Output> {
  AsyncStream { continuation in
    let task = Task {
      await withTaskGroup(of: Output.self) { group in
        var waiting = elements.makeIterator()
        func start() {
          guard let element = waiting.next() else { return }
          group.addTask { await transform(element) }
        }
        for _ in 0..<limit { start() }
        while let output = await group.next() {
          continuation.yield(output)
          start()
        }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
  }
}

/// An `AsyncStream` and nothing else: a task yields the elements, and nobody transforms them.
func bareStream<Element: Sendable>(_ elements: [Element]) -> AsyncStream<Element> {
  AsyncStream { continuation in
    let task = Task {
      for element in elements { continuation.yield(element) }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
  }
}

/// Tasks that yield, so many times in all, and do nothing else.
func yields(_ count: Int, tasks: Int) async {
  await withDiscardingTaskGroup { group in
    for _ in 0..<tasks {
      group.addTask { for _ in 0..<count / tasks { await Task.yield() } }
    }
  }
}
