// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Synchronization
import Testing

@Suite("Every verb", .timeLimit(.minutes(2)))
struct EveryVerbTests {
  enum Key {
    @TaskLocal static var name = "nobody"
    @TaskLocal static var holder: Holder?
  }

  final class Holder: Sendable {}

  @Test(
    "returns at once when there is nothing to do, whatever the limit",
    arguments: Verb.allCases, [1, 8, .max])
  func empty(verb: Verb, limit: Int) async throws {
    for source in SmallWorld.Source.allCases {
      try await verb.run(source, count: 0, limit: limit) { _ in Issue.record("there is nothing") }
    }
  }

  @Test("runs every body once, whichever suspend and whichever do not", arguments: Verb.allCases)
  func everyBodyOnce(verb: Verb) async throws {
    for source in SmallWorld.Source.allCases {
      for limit in 1...7 {
        let seen = Mutex<[Int]>([])
        try await verb.run(source, count: 200, limit: limit) { element in
          if element.isMultiple(of: 2) { await Task.yield() }
          seen.withLock { $0.append(element) }
        }
        let isWhole = seen.withLock { $0.sorted() } == Array(0..<200)
        #expect(isWhole, "\(source), limit \(limit)")
      }
    }
  }

  @Test(
    "has exactly as many in flight as the limit allows, and enters no body before its turn",
    arguments: Verb.allCases, [1, 2, 7, 64])
  func peak(verb: Verb, limit: Int) async throws {
    for source in SmallWorld.Source.allCases {
      let probe = InFlightProbe()
      let gate = Gate()
      async let end: Void = verb.run(source, count: 100, limit: limit) { _ in
        await probe.body { await gate.pass() }
      }
      await probe.waitUntilStarted(limit)
      for _ in 0..<50 { await Task.yield() }
      #expect(probe.counts.started == limit, "\(source)")
      gate.open()
      try await end
      #expect(probe.peak == limit && probe.counts.ended == 100, "\(source)")
    }
  }

  @Test("starts no more tasks than the limit for ten thousand elements", arguments: Verb.allCases)
  func tasks(verb: Verb) async throws {
    for source in SmallWorld.Source.allCases {
      let tasks = Mutex<Set<Int>>([])
      try await verb.run(source, count: 10_000, limit: 10) { element in
        let task = withUnsafeCurrentTask { $0?.hashValue }
        _ = tasks.withLock { $0.insert(task ?? 0) }
        if element.isMultiple(of: 100) { await Task.yield() }
      }
      #expect(tasks.withLock { $0.count } <= 10, "\(source)")
    }
  }

  @Test(
    "is not deeper in the stack for many elements that are done at once", arguments: Verb.allCases)
  func noRecursion(verb: Verb) async throws {
    for source in SmallWorld.Source.allCases {
      for limit in [1, 8] {
        let ran = Atomic<Int>(0)
        try await verb.run(source, count: 20_000, limit: limit) { _ in
          ran.add(1, ordering: .relaxed)
        }
        #expect(ran.load(ordering: .relaxed) == 20_000, "\(source)")
      }
    }
  }

  @Test("carries the caller's task-local values into every body", arguments: Verb.allCases)
  func context(verb: Verb) async throws {
    for source in SmallWorld.Source.allCases {
      try await Key.$name.withValue("caller") {
        try await verb.run(source, count: 20, limit: 3) { _ in
          await Task.yield()
          #expect(Key.name == "caller")
        }
      }
    }
  }

  /// A child task keeps the task-local values it was born with, until it is gone.
  @Test(
    "leaves no task behind, whether it succeeds, fails or is cancelled", arguments: Verb.allCases)
  func noTaskIsLeft(verb: Verb) async {
    for source in SmallWorld.Source.allCases {
      for ending in 0..<3 {
        weak var held: Holder?
        do {
          let holder = Holder()
          held = holder
          await Key.$holder.withValue(holder) {
            _ = await Task {
              try await verb.run(source, count: 50, limit: 5) { element in
                await Task.yield()
                if element == 20, ending == 1 { throw Boom(offset: 20) }
                if element == 20, ending == 2 { withUnsafeCurrentTask { $0?.cancel() } }
              }
            }.result
          }
        }
        // The last of a task goes on a thread of the pool, which may be a moment later.
        while held != nil { await Task.yield() }
      }
    }
  }

  @Test("called by a cancelled task starts nothing and ends at once", arguments: Verb.allCases)
  func alreadyCancelled(verb: Verb) async {
    for source in SmallWorld.Source.allCases {
      for count in [0, 1, 1_000] {
        let probe = InFlightProbe()
        let task = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          try await verb.run(source, count: count, limit: 3) { _ in
            try await probe.body { try await Gate().passUnlessCancelled() }
          }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(probe.counts.started == 0, "\(source)")
      }
    }
  }

  @Test("cancelled reaches all in flight, starts nothing further, and awaits them")
  func cancelled() async {
    for verb in Verb.allCases {
      for source in SmallWorld.Source.allCases {
        let probe = InFlightProbe()
        let seen = Atomic<Int>(0)
        let task = Task {
          try await verb.run(source, count: 100, limit: 20) { _ in
            try await probe.body {
              defer { if Task.isCancelled { seen.add(1, ordering: .relaxed) } }
              try await Gate().passUnlessCancelled()
            }
          }
        }
        await probe.waitUntilStarted(20)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(seen.load(ordering: .relaxed) == 20, "\(verb), \(source)")
        #expect(probe.counts.started == 20 && probe.counts.inFlight == 0, "\(verb), \(source)")
      }
    }
  }

  @Test("cancelled while the source is silent ends at once", arguments: Verb.allCases)
  func silentSource(verb: Verb) async {
    let isSilent = Gate()
    let source = AsyncNumbers(count: 5, isSilentAtEnd: true, onSilence: { isSilent.open() })
    let task = Task {
      try await verb.run(source, limit: 2) { _ in await Task.yield() }
    }
    await isSilent.pass()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("returns normally only if every body has run, when cancelled at any step")
  func cancelledAtEveryStep() throws {
    for verb in [Verb.map, .compactMap, .forEach, .first] {
      for world in SmallWorld.every(upTo: 3, limits: 1...3, failing: false) {
        for seed in 0..<3 as Range<UInt64> {
          var (step, steps) = (0, 1)
          while step <= steps {
            let probe = InFlightProbe()
            let result: Result<Void, any Error>
            (result, steps) = try SteppingExecutor(seed: seed).run(cancellingAfter: step) {
              try await verb.run(world.source, count: world.count, limit: world.limit) { element in
                try await probe.body {
                  for _ in 0..<(element % 3) { await Task.yield() }
                  try Task.checkCancellation()
                }
              }
            }
            let note: Comment = "\(verb), \(world), seed \(seed), step \(step)"
            switch result {
            case .success: #expect(probe.counts.ended == world.count, note)
            case .failure(let error): #expect(error is CancellationError, note)
            }
            #expect(probe.counts.inFlight == 0, note)
            step += 1
          }
        }
      }
    }
  }
}
