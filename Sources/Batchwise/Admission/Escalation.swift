// SPDX-License-Identifier: Apache-2.0

/// Tells when the priority of the current task is raised, where the system can.
func withEscalationHandler<Result>(
  _ operation: () async -> Result, onEscalation: @escaping @Sendable (TaskPriority) -> Void
) async -> Result {
  let priority = Task.currentPriority
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
    return await operation()
  }
  return await withTaskPriorityEscalationHandler {
    // A lift before the handler was there is not told again.
    if Task.currentPriority > priority { onEscalation(Task.currentPriority) }
    return await operation()
  } onPriorityEscalated: { _, priority in
    onEscalation(priority)
  }
}
