// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting

/// A failure that names the element it belongs to.
struct Boom: Error, Equatable {
  var offset: Int
}

/// The numbers from zero, pulled one by one; not an array.
struct LazyNumbers: Sequence, Sendable {
  var count: Int

  func makeIterator() -> AnyIterator<Int> {
    var next = 0
    return AnyIterator { [count] in
      defer { next += 1 }
      return next < count ? next : nil
    }
  }
}

/// The numbers from zero as an asynchronous sequence that cannot fail.
struct AsyncNumbers: AsyncSequence, Sendable {
  typealias Element = Int
  typealias Failure = Never

  var count: Int
  /// Whether it waits for its cancellation, after the last number, instead of ending.
  var isSilentAtEnd = false
  /// How many numbers come in a row without a suspension between them.
  var burst = 1
  /// Called with every number that is given away.
  var onNext: @Sendable (Int) -> Void = { _ in }
  /// Called when it falls silent.
  var onSilence: @Sendable () -> Void = {}

  func makeAsyncIterator() -> Iterator { Iterator(source: self) }

  struct Iterator: AsyncIteratorProtocol {
    let source: AsyncNumbers
    var next = 0

    mutating func next() async -> Int? {
      await next(isolation: #isolation)
    }

    mutating func next(isolation: isolated (any Actor)?) async -> Int? {
      if next.isMultiple(of: source.burst) { await Task.yield() }
      guard next < source.count else {
        if source.isSilentAtEnd {
          source.onSilence()
          try? await Gate().passUnlessCancelled()
        }
        return nil
      }
      defer { next += 1 }
      source.onNext(next)
      return next
    }
  }
}

/// The numbers from zero as an asynchronous sequence that fails behind the last of them.
struct FailingNumbers: AsyncSequence, Sendable {
  typealias Element = Int
  typealias Failure = Boom

  var count: Int

  func makeAsyncIterator() -> Iterator { Iterator(count: count) }

  struct Iterator: AsyncIteratorProtocol {
    let count: Int
    var next = 0

    mutating func next() async throws(Boom) -> Int? {
      try await next(isolation: #isolation)
    }

    mutating func next(isolation: isolated (any Actor)?) async throws(Boom) -> Int? {
      await Task.yield()
      guard next < count else { throw Boom(offset: count) }
      defer { next += 1 }
      return next
    }
  }
}
