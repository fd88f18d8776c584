// SPDX-License-Identifier: Apache-2.0

/// First in, first out, at amortised constant cost.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  @discardableResult
  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head].take()
    head += 1
    // The space of what was popped is given back once it is the larger half, so an element is
    // moved at most once on average.
    if head > 32, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }
}
