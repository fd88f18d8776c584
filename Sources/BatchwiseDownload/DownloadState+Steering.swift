// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

/// What somebody who looks at a run may change while it goes on.
extension DownloadState {
  /// Somebody wants so many items in flight at most; 0 lets none start.
  ///
  /// Where the limit is to be found, it is looked for below that from now on.
  mutating func choose(limit: Int) {
    if options.findsLimit { rule = limit > 0 ? AIMDLimit(initial: limit, within: 1...limit) : nil }
    setLimit(limit)
  }

  /// Sets the most items in flight at once.
  mutating func setLimit(_ limit: Int) {
    guard limit != status.limit else { return }
    admission.setLimit(limit)
    status.limit = limit
  }

  /// Lets nothing more start until it is resumed; what is in flight goes on.
  mutating func setPaused(_ isPaused: Bool) {
    if isPaused { admission.pause() } else { admission.resume() }
    status.isPaused = isPaused
  }
}
