// SPDX-License-Identifier: Apache-2.0

import BatchwiseTesting
import Testing

@testable import BatchwiseDownload

@Suite("How a host is paced", .timeLimit(.minutes(1)))
struct HostPaceTests {
  private var random = SeededGenerator(seed: 7)

  @Test(
    "Without a hint the pause doubles from refusal to refusal, up to a minute, give or take a tenth"
  )
  mutating func doubling() {
    var pace = HostPace()
    var now = Duration.seconds(100)
    for expected in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
      let pause = pace.refused(
        nil, of: now, at: now, inFlight: 4, limit: 6, using: &random)
      let tenth = Duration.milliseconds(expected * 100)
      #expect((.seconds(expected) - tenth...(.seconds(expected) + tenth)).contains(pause))
      #expect(pace.isPaused(at: now))
      now += pause
      #expect(!pace.isPaused(at: now))
    }
  }

  @Test("What the host asks for is never undercut, and hardly exceeded")
  mutating func hint() {
    for seconds in [0, 1, 30, 3600] {
      var pace = HostPace()
      let now = Duration.seconds(5)
      let pause = pace.refused(
        .seconds(seconds), of: now, at: now, inFlight: 1, limit: 6, using: &random)
      #expect(pause >= .seconds(seconds))
      #expect(pause <= .seconds(seconds) * 1.1)
    }
  }

  @Test("Requests that were under way when the pause began tell nothing new")
  mutating func together() {
    var pace = HostPace()
    let now = Duration.seconds(100)
    let first = pace.refused(nil, of: now, at: now, inFlight: 6, limit: 6, using: &random)
    #expect(pace.limit(atMost: 6) == 3)
    for _ in 0..<5 {
      let later = now + .milliseconds(10)
      let rest = pace.refused(nil, of: now, at: later, inFlight: 5, limit: 6, using: &random)
      #expect(rest == first - .milliseconds(10))
    }
    #expect(pace.limit(atMost: 6) == 3)
  }

  @Test("A longer wish among them counts")
  mutating func longerWish() {
    var pace = HostPace()
    let now = Duration.seconds(100)
    _ = pace.refused(.seconds(1), of: now, at: now, inFlight: 2, limit: 6, using: &random)
    _ = pace.refused(.seconds(9), of: now, at: now, inFlight: 1, limit: 6, using: &random)
    #expect(pace.isPaused(at: now + .seconds(9) - .nanoseconds(1)))
    _ = pace.refused(.seconds(2), of: now, at: now, inFlight: 1, limit: 6, using: &random)
    #expect(pace.isPaused(at: now + .seconds(9) - .nanoseconds(1)))
  }

  @Test("Its limit falls by half with each refusal, and rises again with good answers")
  mutating func limit() {
    var pace = HostPace()
    var now = Duration.seconds(100)
    for expected in [4, 2, 1, 1] {
      now += pace.refused(nil, of: now, at: now, inFlight: 8, limit: 8, using: &random)
      // What was in flight under the old limit is over by then.
      for _ in 0..<8 { pace.answered(at: now, inFlight: 0) }
      #expect(pace.limit(atMost: 8) == expected)
    }
    for _ in 0..<200 { pace.answered(at: now, inFlight: 8) }
    #expect(pace.limit(atMost: 8) == 8)
  }

  @Test("After a long quiet time all is forgiven")
  mutating func forgiven() {
    var pace = HostPace()
    let now = Duration.seconds(100)
    let pause = pace.refused(nil, of: now, at: now, inFlight: 6, limit: 6, using: &random)
    let later = now + pause + .seconds(30)
    #expect(!pace.isForgiven(at: later - .seconds(1)))
    #expect(pace.isForgiven(at: later))
    pace.answered(at: later, inFlight: 1)
    #expect(pace.limit(atMost: 6) == 6)
    let again = pace.refused(nil, of: later, at: later, inFlight: 6, limit: 6, using: &random)
    #expect(again <= .milliseconds(1100))
  }
}
