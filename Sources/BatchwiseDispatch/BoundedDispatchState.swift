// SPDX-License-Identifier: Apache-2.0

internal import Batchwise

/// Which jobs of a bounded queue may start, and who waits for it to be idle: a pure value.
///
/// Every event returns what is to be done when the lock is gone.
struct BoundedDispatchState<Job, Notification> {
  typealias Grant = AdmissionState<Job>.Grant

  /// What is to be done when the lock is gone.
  struct Effects {
    var starts: [(job: Job, grant: Grant)] = []
    var notifications: [Notification] = []
  }

  private var admission: AdmissionState<Job>
  private var notifications: [Notification] = []
  private var suspensions = 0

  init(limit: Int) {
    admission = AdmissionState(limit: limit)
  }

  /// What is true at this moment.
  var status: BoundedDispatchQueue.Status {
    BoundedDispatchQueue.Status(
      limit: admission.limit, inFlight: admission.inFlight, waiting: admission.waiting,
      isSuspended: suspensions > 0)
  }

  /// Takes in a job.
  mutating func add(_ job: Job) -> Effects {
    _ = admission.wait(job, for: AdmissionRequest())
    return settle()
  }

  /// Notes that a job has ended.
  mutating func end(_ grant: Grant) -> Effects {
    admission.leave(grant)
    return settle()
  }

  /// Takes out all jobs that wait.
  mutating func takeWaiting() -> (jobs: [Job], effects: Effects) {
    let jobs = admission.cancelAll()
    return (jobs, settle())
  }

  /// Notes whom to tell when nothing waits and nothing is in flight.
  mutating func notify(_ notification: Notification) -> Effects {
    notifications.append(notification)
    return settle()
  }

  mutating func setLimit(_ limit: Int) -> Effects {
    admission.setLimit(limit)
    return settle()
  }

  /// Starts nothing more until as many `resume` have followed.
  mutating func suspend() {
    suspensions += 1
    admission.pause()
  }

  mutating func resume() -> Effects {
    precondition(suspensions > 0, "a queue was resumed more often than it was suspended")
    suspensions -= 1
    if suspensions == 0 { admission.resume() }
    return settle()
  }

  private mutating func settle() -> Effects {
    var effects = Effects()
    while let (job, grant, _) = admission.admit() { effects.starts.append((job, grant)) }
    if admission.inFlight == 0, admission.waiting == 0 {
      swap(&effects.notifications, &notifications)
    }
    return effects
  }
}

extension BoundedDispatchState.Effects: Sendable where Job: Sendable, Notification: Sendable {}
