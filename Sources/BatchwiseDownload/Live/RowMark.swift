// SPDX-License-Identifier: Apache-2.0

/// What goes with an item of a batch that somebody looks at: which row it is, and what it came to before
/// in the same run.
///
/// An item that has come to an end before is one that somebody asks for once more. It begins anew: what
/// is recorded of it does not keep it from being tried, and it is no duplicate of itself.
struct RowMark: Sendable, Equatable {
  /// The row.
  let row: Int
  /// The end that a run has counted, and that counts no more once it is tried again.
  var end: End?
  /// The path that it had claimed, and may have again.
  var path: OutputPath?

  enum End: Sendable {
    /// It has failed in this run, or was left by it.
    case failed, left
    /// An earlier run of the batch had it, and this one has counted nothing.
    case before
  }
}
