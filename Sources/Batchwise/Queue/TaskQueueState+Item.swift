// SPDX-License-Identifier: Apache-2.0

extension TaskQueueState {
  /// What the shell does for the state.
  struct Effects {
    typealias Start = (job: Job, id: ItemID)

    /// The first job to be started; mostly it is the only one, and then no list is made.
    var firstStart: Start?
    /// The other jobs to be started.
    var furtherStarts: [Start] = []
    /// Jobs that will never start, and why.
    var refusals: [(job: Job, reason: TaskQueueRefusal)] = []
    /// Jobs in flight to be cancelled.
    var cancellations: [Job] = []
    /// Who is to be woken, and whether what it waited for is there; if not, it was cancelled.
    var woken: [(waiter: Waiter, isReached: Bool)] = []
    /// When the state wants to be asked again, if nothing happens before.
    var wakeUp: Duration?
    /// Whether nothing is left and nothing will come.
    var isOver = false
  }

  /// An item from `add` to its end.
  struct Item {
    enum Phase {
      /// The backlog was full, and who added it waits for room. Exits: waiting, inFlight, over.
      case offered(TicketID)
      /// Accepted. Exits: inFlight, over.
      case waiting(AdmissionState<ItemID>.ID)
      /// Started. Exits: lent, over, when it has ended.
      case inFlight(AdmissionState<ItemID>.Grant, since: Duration)
      /// Started, and without its place while it waits, so many times at once. Exits: inFlight, over.
      case lent(waits: Int, isPause: Bool, since: Duration)
    }

    let job: Job
    var options: TaskQueueItemOptions
    let addedAt: Duration
    var phase: Phase?
    /// When its timeout is over, for waiting or for running.
    var deadline: SlabID?
    /// Whether its timeout for running is over.
    var isOverdue = false

    var isOffered: Bool {
      if case .offered? = phase { true } else { false }
    }

    var isWaiting: Bool {
      if case .waiting? = phase { true } else { false }
    }

    var startedAt: Duration? {
      switch phase {
      case .inFlight(_, let start)?, .lent(_, _, let start)?: start
      case .offered?, .waiting?, nil: nil
      }
    }

    var request: AdmissionRequest {
      AdmissionRequest(
        priority: options.priority, key: options.key, isBarrier: options.isBarrier)
    }
  }
}
