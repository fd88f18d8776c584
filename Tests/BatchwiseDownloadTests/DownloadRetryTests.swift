// SPDX-License-Identifier: Apache-2.0

import Batchwise
import Testing

@testable import BatchwiseDownload

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Trying again", .timeLimit(.minutes(1)))
struct DownloadRetryTests {
  private static let broken = DownloadFailure(.truncated, "Cut off", remedy: .anotherAttempt)
  private static func busy(_ hint: Duration? = nil) -> DownloadFailure {
    DownloadFailure(.status, status: 429, "Busy", remedy: .leavingHostAlone(hint))
  }

  private func options(retries: Int = 4, limit: Int = 3, perHost: Int = 3) -> DownloadOptions {
    var options = DownloadOptions()
    options.limit = limit
    options.limitPerHost = perHost
    options.retries = retries
    options.backoff = .constant(.seconds(10), jitter: .none)
    return options
  }

  @Test("A broken attempt pauses without a permit, and is repeated as often as is wanted")
  func attempts() throws {
    var state = TimedState(options(retries: 2, limit: 1))
    state.add(["http://h/a", "http://h/b"])
    for attempt in 1...3 {
      let job = try #require(state.admit().first)
      #expect(job.item.address.absolute == "http://h/a")
      #expect(job.attempts == attempt)
      state.ended(job.id, .failed(Self.broken, resume: nil))
      if attempt == 1 {
        // The other one uses the permit meanwhile.
        let other = try #require(state.admit().first)
        #expect(other.item.address.absolute == "http://h/b")
        state.ended(other.id, .left(resume: nil))
      }
      if attempt < 3 {
        #expect(state.inner.status.inFlight == 0)
        #expect(state.inner.status.waiting == 1)
        #expect(state.nextWake == state.now + .seconds(10))
        state.now += .seconds(10) - .nanoseconds(1)
        #expect(state.admit().isEmpty)
        state.now += .nanoseconds(1)
      }
    }
    #expect(state.inner.status.failed == 1)
    #expect(state.inner.status.waiting == 0)
    let words = state.inner.takeNews().compactMap(\.event).filter { $0.id == 1 }.map(\.kind.word)
    #expect(words == ["started", "retry", "started", "retry", "started", "failed"])
  }

  @Test("What cannot be better the next time fails at once")
  func never() throws {
    var state = TimedState(options())
    state.add(["http://h/a"])
    let job = try #require(state.admit().first)
    state.ended(job.id, .failed(DownloadFailure(.status, status: 404, "Gone"), resume: nil))
    #expect(state.inner.status.failed == 1)
    #expect(state.nextWake == nil)
  }

  @Test("A wrong checksum is worth one more attempt, and not two")
  func oneMore() throws {
    let wrong = DownloadFailure(.checksum, "Wrong", remedy: .oneMoreAttempt)
    var state = TimedState(options())
    state.add(["http://h/a"])
    for attempt in 1...2 {
      let job = try #require(state.admit().first)
      state.ended(job.id, .whole(nil))
      #expect(state.inner.status.settling == 1)
      state.judged(job.id, .failure(wrong))
      #expect(state.inner.status.settling == 0)
      #expect(state.inner.status.failed == attempt - 1)
      state.now += .seconds(10)
    }
  }

  @Test("A host that asks to be left alone is, and others go on; who waited longest is first again")
  func hostPause() throws {
    var state = TimedState(options(limit: 2, perHost: 2))
    state.add(["http://a/1", "http://a/2", "http://a/3", "http://b/1"])
    let first = state.admit()
    #expect(first.map(\.item.address.absolute) == ["http://a/1", "http://a/2"])
    state.ended(first[0].id, .failed(Self.busy(.seconds(5)), resume: nil))
    // No permit is held by the paused host's items.
    let other = state.admit()
    #expect(other.map(\.item.address.absolute) == ["http://b/1"])
    state.ended(first[1].id, .whole(nil))
    state.ended(other[0].id, .whole(nil))
    #expect(state.admit().isEmpty)
    let wake = try #require(state.nextWake)
    #expect(wake >= state.now + .seconds(5))
    state.now = wake
    // One at a time at first, for it has refused two.
    #expect(state.admit().map(\.item.address.absolute) == ["http://a/1"])
  }

  @Test(
    "A pause that is longer than is waited fails the host's items, and nothing more is asked of it")
  func tooLong() throws {
    var limited = options(limit: 1)
    limited.longestPause = .seconds(60)
    var state = TimedState(limited)
    state.add(["http://a/1", "http://a/2", "http://b/1"])
    let job = try #require(state.admit().first)
    state.ended(job.id, .failed(Self.busy(.seconds(61)), resume: nil))
    #expect(state.admit().map(\.item.address.absolute) == ["http://b/1"])
    #expect(state.inner.status.failed == 2)
    state.now += .seconds(61)
    state.add(["http://a/3"])
    state.ended(3, .left(resume: nil))
    #expect(state.admit().map(\.item.address.absolute) == ["http://a/3"])
  }

  @Test("When no more descriptors are to be had the limit falls, and nothing fails")
  func fewerAtOnce() {
    let exhausted = DownloadFailure(.connect, "Too many open files", remedy: .fewerAtOnce)
    var state = TimedState(options(retries: 0, limit: 3))
    state.add((1...4).map { "http://h/\($0)" })
    let first = state.admit()
    #expect(first.count == 3)
    state.ended(first[2].id, .failed(exhausted, resume: nil))
    #expect(state.inner.status.limit == 2)
    #expect(state.admit().isEmpty)
    state.ended(first[0].id, .whole(nil))
    // The item that found none is the next, before those that came after it.
    #expect(state.admit().map(\.id) == [3])
    #expect(state.inner.status.failed == 0)
  }

  @Test("A redirect to another host waits for that host's turn, with the item's own place")
  func redirected() throws {
    var state = TimedState(options(limit: 3, perHost: 1))
    state.add(["http://b/1", "http://a/1", "http://b/2"])
    let first = state.admit()
    #expect(first.map(\.item.address.absolute) == ["http://b/1", "http://a/1"])
    var route = Route()
    _ = try route.follow("http://b/x", from: first[1].item.address, status: 302)
    state.ended(first[1].id, .redirected(route))
    #expect(state.admit().isEmpty)
    state.ended(first[0].id, .whole(nil))
    let next = state.admit()
    #expect(next.map(\.id) == [2])
    #expect(next[0].address.absolute == "http://b/x")
    #expect(next[0].attempts == 1, "The attempt goes on")
    let started = state.inner.takeNews().compactMap(\.event).filter { $0.kind.word == "started" }
    #expect(started.map(\.id) == [1, 2])
  }

  @Test("After a stop nothing is tried again, and what pauses is left to the next run")
  func stopped() throws {
    var state = TimedState(options(limit: 2))
    state.add(["http://h/a", "http://h/b"])
    let jobs = state.admit()
    state.ended(jobs[0].id, .failed(Self.broken, resume: nil))
    state.stop(.stopped)
    #expect(state.inner.status.left == 1)
    state.ended(jobs[1].id, .failed(Self.broken, resume: nil))
    #expect(state.inner.status.left == 2)
    #expect(state.inner.status.failed == 0)
    #expect(state.inner.isOver)
  }

  @Test("The rate of starts is kept, and the state says when the next one may be")
  func rate() {
    var limited = options(limit: 10, perHost: 10)
    limited.rate = .tokenBucket(2, per: .seconds(1), burst: 1)
    var state = TimedState(limited)
    state.add((1...3).map { "http://h/\($0)" })
    #expect(state.admit().count == 1)
    for _ in 2...3 {
      #expect(state.nextWake == state.now + .milliseconds(500))
      state.now += .milliseconds(500)
      #expect(state.admit().count == 1)
    }
  }

  @Test("A limit that is found out rises with good answers and falls with refusals")
  func foundLimit() {
    var finding = options(limit: 64, perHost: 64)
    finding.findsLimit = true
    var state = TimedState(finding)
    #expect(state.inner.status.limit == 8)
    state.add((1...400).map { "http://h\($0)/" })
    for _ in 0..<40 {
      for job in state.admit() {
        state.now += .milliseconds(1)
        state.ended(job.id, .whole(nil))
        state.settled(job.id, .left)
      }
      _ = state.inner.takeNews()
    }
    let risen = state.inner.status.limit
    #expect(risen > 8)
    state.add((1...400).map { "http://g\($0)/" })
    let job = state.admit()[0]
    state.ended(job.id, .failed(Self.busy(), resume: nil))
    #expect(state.inner.status.limit < risen)
  }
}

extension TimedState {
  mutating func judged(_ id: Int, _ file: Result<WholeFile, DownloadFailure>) {
    inner.judged(id, file, at: DownloadState.Moment(time: now, date: .distantPast))
  }
}
