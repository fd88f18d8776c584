// SPDX-License-Identifier: Apache-2.0

/// Tells when the priority of the current task is raised above what it was, where the system can.
func withEscalationHandler<Result>(
  since priority: TaskPriority?,
  _ operation: () async -> Result, onEscalation: @escaping @Sendable (TaskPriority) -> Void
) async -> Result {
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
    return await operation()
  }
  return await withTaskPriorityEscalationHandler {
    // A lift before the handler was there is not told again.
    let current = Task.currentPriority
    if let priority, current > priority { onEscalation(current) }
    return await operation()
  } onPriorityEscalated: { _, priority in
    onEscalation(priority)
  }
}
