// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The outputs of some of the elements, which every worker keeps for itself until the end.
///
/// So a run that keeps little takes little memory, however many elements it has, and needs no lock.
@usableFromInline
final class SparseOutputs<Output: Sendable>: Sendable {
  /// What one worker has kept; its offsets rise, for elements are claimed in source order.
  ///
  /// `@unchecked Sendable` holds because one worker alone appends, and all others read only when
  /// the workers have been awaited.
  @usableFromInline final class Run: @unchecked Sendable {
    @usableFromInline var kept: [(offset: Int, output: Output)] = []

    @usableFromInline init() {}

    @inlinable func append(_ output: Output, at offset: Int) {
      kept.append((offset, output))
    }
  }

  private let runs = Mutex<[Run]>([])

  @usableFromInline init() {}

  /// A run for a worker that begins.
  @usableFromInline func makeRun() -> Run {
    let run = Run()
    runs.withLock { $0.append(run) }
    return run
  }

  @usableFromInline var allRuns: [Run] { runs.withLock { $0 } }

  /// All outputs in source order.
  ///
  /// The standard library's sort finds the runs, and merges them.
  @inlinable func merged() -> [Output] {
    let runs = allRuns
    var all = runs.first?.kept ?? []
    for run in runs.dropFirst() { all += run.kept }
    if runs.count > 1 { all.sort { $0.offset < $1.offset } }
    return all.map(\.output)
  }
}

extension Engine.Outlet {
  /// Keeps what is not nil.
  @inlinable static func compact<Wrapped: Sendable>(
    into outputs: SparseOutputs<Wrapped>
  ) -> Self where Output == Wrapped? {
    .sink {
      let run = outputs.makeRun()
      return { offset, output in
        if let output { run.append(output, at: offset) }
      }
    }
  }
}
