// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CurlTransport
import Synchronization
import TestSupport
import Testing

@Suite("The inbox", .timeLimit(.minutes(1)))
struct InboxTests {
  /// Counts how often the loop was woken.
  private final class Bell: Sendable {
    private let rings = Atomic(0)
    var count: Int { rings.load(ordering: .relaxed) }
    func ring() { rings.add(1, ordering: .relaxed) }
  }

  private let bell: Bell
  private let inbox: Inbox

  init() {
    let bell = Bell()
    self.bell = bell
    inbox = Inbox(wake: { bell.ring() })
  }

  @Test("wakes nobody who is awake")
  func awake() {
    inbox.post(.start([]))
    inbox.post(.start([]))
    #expect(bell.count == 0)
  }

  @Test("wakes a sleeper once for all that came")
  func once() {
    #expect(inbox.fallAsleep())
    for _ in 0..<5 { inbox.post(.start([])) }
    #expect(bell.count == 1)
    var commands: [Inbox.Command] = []
    #expect(inbox.take(into: &commands))
    #expect(commands.count == 5)
  }

  @Test("lets nobody fall asleep who has not seen everything")
  func lookOnceMore() {
    inbox.post(.cancel(Recorder()))
    #expect(!inbox.fallAsleep())
    var commands: [Inbox.Command] = []
    _ = inbox.take(into: &commands)
    #expect(inbox.fallAsleep())
  }

  @Test("hands over in the order of arrival, after what is there already")
  func order() {
    let handlers = (0..<4).map { _ in Recorder() }
    var commands: [Inbox.Command] = [.cancel(handlers[0])]
    for handler in handlers.dropFirst() { inbox.post(.cancel(handler)) }
    _ = inbox.take(into: &commands)
    let order = commands.map { command -> ObjectIdentifier? in
      if case .cancel(let handler) = command { ObjectIdentifier(handler) } else { nil }
    }
    #expect(order == handlers.map { ObjectIdentifier($0) })
    _ = inbox.take(into: &commands)
    #expect(commands.count == 4, "nothing is handed over twice")
  }

  @Test("wakes a sleeper when it is closed, and nobody sleeps then")
  func closing() {
    #expect(inbox.fallAsleep())
    inbox.close()
    #expect(bell.count == 1)
    #expect(!inbox.fallAsleep())
    var commands: [Inbox.Command] = []
    #expect(!inbox.take(into: &commands))
  }
}
