// SPDX-License-Identifier: Apache-2.0

/// First in, first out, at amortised constant cost.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[head] }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  @discardableResult
  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    defer { forgetFirst() }
    return elements[head].take()
  }

  /// The space of what was popped is given back once it is the larger half, so each element is
  /// moved at most once on average.
  private mutating func forgetFirst() {
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: head <= 32)
      head = 0
    } else if head > 32, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
  }

  /// Empties the queue and returns what it held, in order.
  mutating func removeAll() -> [Element] {
    defer { self = Queue() }
    return elements[head...].compactMap { $0 }
  }
}
