// SPDX-License-Identifier: Apache-2.0

import Testing

/// One of the rooms that admit work by the same rule, seen as what all of them have in common.
protocol Face: Sendable {
  /// Hands over a job, which stands behind those that were handed over before it.
  func add(_ job: Job)

  /// Cancels all jobs, so that none starts that waits.
  func cancelAll()

  /// Waits until all jobs are over; nothing is handed over afterwards.
  func idle() async
}

/// A face whose limit can be changed, and that tells what is true of it.
protocol AdjustableFace: Face {
  func setLimit(_ limit: Int)

  /// What is true at one moment.
  var status: FaceStatus { get }
}

/// A face that works for tasks, which can be cancelled.
protocol TaskFace: Face {
  /// Hands over a job as a task that is cancelled already.
  func addAsCancelled(_ job: Job) async throws
}

struct FaceStatus: Sendable, Equatable {
  var limit: Int
  var inFlight: Int
  var waiting: Int
}

/// How a face is made, and what it is called.
struct Maker<Room: Sendable>: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable (_ limit: Int) -> Room

  init(_ name: String, _ make: @escaping @Sendable (Int) -> Room) {
    testDescription = name
    self.make = make
  }
}

enum Faces {
  static let all: [Maker<any Face>] =
    [
      Maker("concurrentForEach") { ForEachFace(limit: $0) },
      Maker("concurrentResults") { ResultsFace(limit: $0) },
    ] + adjustable.map { maker in Maker(maker.testDescription) { maker.make($0) } }

  static let adjustable: [Maker<any AdjustableFace>] = [
    Maker("ConcurrencyLimiter") { LimiterFace(limit: $0) },
    Maker("KeyedLimiter by its total") { KeyedLimiterFace(limit: $0) },
    Maker("KeyedLimiter by a key") { KeyFace(limit: $0) },
    Maker("TaskQueue") { TaskQueueFace(limit: $0) },
    Maker("BoundedDispatchQueue with blocks") { DispatchFace(limit: $0, kind: .blocks) },
    Maker("BoundedDispatchQueue with callbacks") { DispatchFace(limit: $0, kind: .callbacks) },
  ]

  static let ofTasks: [Maker<any TaskFace>] = [
    Maker("concurrentForEach") { ForEachFace(limit: $0) },
    Maker("concurrentResults") { ResultsFace(limit: $0) },
    Maker("ConcurrencyLimiter") { LimiterFace(limit: $0) },
    Maker("KeyedLimiter by its total") { KeyedLimiterFace(limit: $0) },
    Maker("KeyedLimiter by a key") { KeyFace(limit: $0) },
    Maker("TaskQueue") { TaskQueueFace(limit: $0) },
  ]
}
