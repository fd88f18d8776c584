// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseProgress
import BatchwiseTesting
import Foundation
import Testing

@Suite("The progress of a task queue", .timeLimit(.minutes(1)))
@MainActor
struct ReportTests {
  /// A queue whose items end when the test says so, and what is reported of it.
  private final class World {
    let queue = TaskQueue<Void>(limit: 2)
    let progress: Progress
    private var gates: [Gate] = []
    private var following: Task<Void, Never>?

    @MainActor init(expecting total: Int64 = 0, in parent: Progress? = nil) {
      progress = Progress.discreteProgress(totalUnitCount: total)
      parent?.addChild(progress, withPendingUnitCount: 1)
    }

    @MainActor func follow() {
      following = Task { [queue, progress] in await queue.report(to: progress) }
    }

    @MainActor func add(_ count: Int) {
      for _ in 0..<count {
        let gate = Gate()
        gates.append(gate)
        queue.add { try await gate.passUnlessCancelled() }
      }
    }

    /// Lets the first items end.
    @MainActor func end(_ count: Int) {
      for gate in gates.prefix(count) { gate.open() }
      gates.removeFirst(count)
    }

    @MainActor func stopFollowing() { following?.cancel() }

    /// Waits until nothing is reported any more.
    @MainActor func over() async { await following?.value }

    /// Waits until the progress says so; it is changed on this actor, between two turns of it.
    @MainActor func reports(_ completed: Int64, of total: Int64) async {
      while (progress.completedUnitCount, progress.totalUnitCount) != (completed, total) {
        await Task.yield()
      }
    }
  }

  @Test("counts items that were added and items that are over")
  func counts() async {
    let world = World()
    world.add(3)
    world.follow()
    await world.reports(0, of: 3)
    world.end(1)
    await world.reports(1, of: 3)
    world.add(2)
    await world.reports(1, of: 5)
    #expect(!world.progress.isIndeterminate)
    #expect(world.progress.fractionCompleted == 0.2)
    world.end(4)
    world.queue.finish()
    await world.over()
    #expect(world.progress.completedUnitCount == 5)
    #expect(world.progress.isFinished)
  }

  @Test("counts items that failed, were cancelled or were refused as over")
  func otherEnds() async {
    let world = World()
    world.queue.add { throw CancellationError() }
    let waiting = world.queue.add { try await Gate().passUnlessCancelled() }
    waiting.cancel()
    world.queue.finish()
    world.queue.add {}
    world.follow()
    await world.over()
    #expect(world.progress.completedUnitCount == 3)
    #expect(world.progress.totalUnitCount == 3)
  }

  /// Such an item is neither in flight nor waiting, and was not counted: the rest looked like the end.
  @Test("counts an item that lends its place to one it waits for")
  func lending() async {
    let world = World()
    let (queue, gate) = (world.queue, Gate())
    queue.setLimit(1)
    queue.add { try await queue.add { try await gate.passUnlessCancelled() }.value }
    world.follow()
    while queue.status.lending == 0 { await Task.yield() }
    queue.finish()
    await world.reports(0, of: 2)
    #expect(queue.status.inFlight == 1)
    #expect(!world.progress.isFinished)
    gate.open()
    await world.over()
    #expect(world.progress.completedUnitCount == 2)
    #expect(queue.status.lending == 0)
  }

  @Test("is indeterminate while nobody knows how much is to come")
  func indeterminate() async {
    let world = World()
    world.follow()
    await world.reports(0, of: -1)
    #expect(world.progress.isIndeterminate)
    world.add(1)
    await world.reports(0, of: 1)
    #expect(!world.progress.isIndeterminate)
    world.end(1)
    await world.reports(1, of: -1)
    #expect(world.progress.isIndeterminate)
    #expect(!world.progress.isFinished)
    world.queue.finish()
    await world.over()
    #expect(world.progress.isFinished)
    #expect(world.progress.totalUnitCount == 1)
  }

  @Test("counts towards the total that the app expects, until more were added")
  func expected() async {
    let world = World(expecting: 4)
    world.follow()
    world.add(1)
    world.end(1)
    await world.reports(1, of: 4)
    #expect(!world.progress.isIndeterminate)
    world.add(5)
    await world.reports(1, of: 6)
    world.end(5)
    world.queue.finish()
    await world.over()
    #expect(world.progress.isFinished)
    #expect(world.progress.totalUnitCount == 6)
  }

  @Test("is finished in the end, also if fewer came than expected, or none", arguments: [0, 2])
  func fewer(count: Int) async {
    let parent = Progress.discreteProgress(totalUnitCount: 1)
    let world = World(expecting: 9, in: parent)
    world.follow()
    world.add(count)
    world.end(count)
    world.queue.finish()
    await world.over()
    #expect(world.progress.isFinished)
    #expect(parent.isFinished)
  }

  @Test("finishes no parent before the queue is finished")
  func parent() async {
    let parent = Progress.discreteProgress(totalUnitCount: 2)
    let world = World(in: parent)
    world.follow()
    for _ in 0..<3 {
      world.add(2)
      world.end(2)
      while world.progress.totalUnitCount != -1 { await Task.yield() }
      #expect(parent.completedUnitCount == 0)
      world.add(1)
      while world.progress.totalUnitCount < 0 { await Task.yield() }
      world.end(1)
    }
    world.queue.finish()
    await world.over()
    #expect(parent.completedUnitCount == 1)
    #expect(parent.fractionCompleted == 0.5)
  }

  @Test("cancels the queue when it or its parent is cancelled", arguments: [false, true])
  func cancellation(isParent: Bool) async {
    let parent = Progress.discreteProgress(totalUnitCount: 1)
    let world = World(in: parent)
    world.add(5)
    world.follow()
    await world.reports(0, of: 5)
    #expect(world.progress.isCancellable)
    isParent ? parent.cancel() : world.progress.cancel()
    await world.over()
    #expect(world.queue.status.isFinished)
    #expect(world.queue.status.counts.cancelled == 5)
    #expect(world.progress.isFinished)
    #expect(world.progress.isCancelled)
  }

  @Test("cancels the queue at once if it was cancelled before")
  func cancelledBefore() async {
    let world = World()
    world.progress.cancel()
    world.add(3)
    world.follow()
    await world.over()
    #expect(world.queue.status.counts.cancelled == 3)
  }

  @Test("pauses and resumes the queue")
  func pause() async {
    let world = World()
    world.follow()
    world.add(4)
    await world.reports(0, of: 4)
    #expect(world.progress.isPausable)
    world.progress.pause()
    while !world.queue.status.isPaused { await Task.yield() }
    world.end(4)
    await world.reports(2, of: 4)
    #expect(world.queue.status.waiting == 2)
    world.progress.resume()
    world.queue.finish()
    await world.over()
    #expect(world.progress.completedUnitCount == 4)
  }

  @Test("stays where it is when the caller is cancelled, and the queue goes on")
  func callerCancelled() async {
    let world = World()
    world.add(2)
    world.follow()
    await world.reports(0, of: 2)
    world.end(1)
    await world.reports(1, of: 2)
    world.stopFollowing()
    await world.over()
    world.end(1)
    world.queue.finish()
    await world.queue.run()
    #expect(world.queue.status.counts.succeeded == 2)
    #expect(world.progress.completedUnitCount == 1)
    #expect(!world.progress.isCancelled)
  }

  @Test("holds neither queue nor progress afterwards")
  func lifetime() async {
    weak var queue: TaskQueue<Void>?
    let progress: Progress
    do {
      let world = World()
      (queue, progress) = (world.queue, world.progress)
      world.follow()
      world.add(1)
      world.end(1)
      world.queue.finish()
      await world.over()
    }
    #expect(queue == nil)
    #expect(progress.cancellationHandler == nil)
    #expect(progress.pausingHandler == nil)
    #expect(progress.resumingHandler == nil)
    #expect(!progress.isCancellable && !progress.isPausable)
  }
}
