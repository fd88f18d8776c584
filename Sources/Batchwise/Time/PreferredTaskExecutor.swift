// SPDX-License-Identifier: Apache-2.0

/// The executor that the current task prefers, if it does and the system can tell.
///
/// What a call starts that is not a child task takes it over, so that whoever takes the steps of the
/// caller takes these as well.
var preferredTaskExecutor: (any TaskExecutor)? {
  guard #available(macOS 26.4, iOS 26.4, watchOS 26.4, tvOS 26.4, visionOS 26.4, *) else {
    return nil
  }
  return withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
}
